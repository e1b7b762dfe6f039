//! Recipes, manifests and templates: embedded in the binary. Other manifests and templates are read only from a directory
//! that the user names in the settings, never from wherever simpack happens to be started.

use std::path::{Path, PathBuf};

use include_dir::{Dir, include_dir};
use serde::Serialize;

use crate::config;
use crate::error::{Error, Result};
use crate::fs::{self, Digest, DigestBuilder, EntryKind};

static RECIPES: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../../recipes");
static MANIFESTS: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../../manifests");
static TEMPLATES: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../../templates");

/// Where data is looked for: a directory on disk first, then the binary itself.
#[derive(Debug, Clone)]
pub struct Data {
    /// Manifests and templates that go before the embedded ones.
    chosen: Option<PathBuf>,
    /// Where recipes are found by their name.
    recipes: PathBuf,
}

/// Manifests and templates that the user put before the embedded ones.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DataOrigin {
    /// Their directory.
    pub directory: PathBuf,
    /// Digest over all of their files.
    pub sha256: Digest,
}

impl std::fmt::Display for DataOrigin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ({})", self.directory.display(), self.sha256.short(12))
    }
}

/// What may lie in the user's directory.
const CHOSEN: [&str; 2] = ["manifests", "templates"];

impl Data {
    /// Manifests and templates of the setting `data-dir`, recipes below the current directory, then the embedded.
    pub fn here() -> Self {
        Self { chosen: config::current().path("data-dir").map(Path::to_owned), recipes: PathBuf::from(".") }
    }

    /// Data below `root`, then the embedded.
    pub fn at(root: impl Into<PathBuf>) -> Self {
        let root = root.into();
        Self { chosen: Some(root.clone()), recipes: root }
    }

    /// Directories of the user's manifests and templates, where there are any.
    pub fn chosen_dirs(&self) -> Vec<PathBuf> {
        let dirs = self.chosen.iter().flat_map(|root| CHOSEN.map(|name| root.join(name)));
        dirs.filter(|dir| dir.is_dir()).collect()
    }

    /// What the user put before the embedded manifests and templates; none without the setting.
    ///
    /// # Errors
    /// The directory that the setting names holds neither, or cannot be read.
    pub fn origin(&self) -> Result<Option<DataOrigin>> {
        let Some(root) = &self.chosen else { return Ok(None) };
        let dirs = self.chosen_dirs();
        if dirs.is_empty() {
            return Err(Error::usage(format!("{} holds neither manifests/ nor templates/", root.display()))
                .hint("--data or the setting `data-dir` (SIMPACK_DATA_DIR) names it"));
        }
        let mut digest = DigestBuilder::default().field("simpack-data 1");
        for dir in dirs {
            let name = dir.file_name().unwrap_or_default().as_encoded_bytes().to_vec();
            for entry in fs::walk(&dir)?.into_iter().filter(|entry| matches!(entry.kind, EntryKind::File { .. })) {
                let content = Digest::of_file(&dir.join(&entry.path))?;
                digest = digest.field(&name).field(&entry.path).field(content.as_bytes());
            }
        }
        Ok(Some(DataOrigin { directory: root.clone(), sha256: digest.finish() }))
    }

    fn on_disk(&self, path: &str) -> Option<PathBuf> {
        match path.starts_with("recipes") {
            true => Some(self.recipes.join(path)),
            false => self.chosen.as_ref().map(|root| root.join(path)),
        }
    }

    /// Text of one file such as `manifests/capabilities.toml`.
    ///
    /// # Errors
    /// There is no such file, or it cannot be read as text.
    pub fn text(&self, path: &str) -> Result<String> {
        if let Some(on_disk) = self.on_disk(path).filter(|path| path.is_file()) {
            return Ok(fs::read_to_string(&on_disk)?);
        }
        let file = embedded(path).and_then(|(dir, rest)| dir.get_file(rest));
        let file = file.ok_or_else(|| Error::bug(format!("no data file {path}")))?;
        file.contents_utf8().map(str::to_owned).ok_or_else(|| Error::bug(format!("{path} is not UTF-8")))
    }

    /// The directory `path` (such as `recipes/volley`) on disk, if it is there.
    pub fn dir_on_disk(&self, path: &str) -> Option<PathBuf> {
        self.on_disk(path).filter(|path| path.is_dir())
    }

    /// Names of the directories embedded directly below `path`, sorted.
    pub fn embedded_names(&self, path: &str) -> Vec<String> {
        let dir = match embedded(path) {
            Some((dir, "")) => Some(dir),
            Some((dir, rest)) => dir.get_dir(rest),
            None => None,
        };
        let names = dir.into_iter().flat_map(|dir| dir.dirs());
        let mut names: Vec<String> =
            names.filter_map(|dir| Some(dir.path().file_name()?.to_str()?.to_owned())).collect();
        names.sort();
        names
    }

    /// All embedded files below the directory `path`, as (path relative to it, bytes), sorted;
    /// empty when nothing is embedded there.
    pub fn embedded_files(&self, path: &str) -> Vec<(String, &'static [u8])> {
        let mut found = Vec::new();
        let dir = embedded(path).and_then(|(dir, rest)| if rest.is_empty() { Some(dir) } else { dir.get_dir(rest) });
        if let Some(dir) = dir {
            collect(dir, dir.path(), &mut found);
        }
        found.sort();
        found
    }
}

/// The embedded tree that holds `path`, and the rest of the path.
fn embedded(path: &str) -> Option<(&'static Dir<'static>, &str)> {
    let (top, rest) = path.split_once('/').unwrap_or((path, ""));
    match top {
        "recipes" => Some((&RECIPES, rest)),
        "manifests" => Some((&MANIFESTS, rest)),
        "templates" => Some((&TEMPLATES, rest)),
        _ => None,
    }
}

fn collect(dir: &'static Dir<'static>, root: &Path, found: &mut Vec<(String, &'static [u8])>) {
    for file in dir.files() {
        let path = file.path().strip_prefix(root).unwrap_or(file.path());
        found.push((path.to_string_lossy().into_owned(), file.contents()));
    }
    for below in dir.dirs() {
        collect(below, root, found);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_users_directory_is_known_by_its_content() {
        let dir = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = dir.path().join(path);
            fs_err::create_dir_all(path.parent().unwrap()).unwrap();
            fs_err::write(path, text).unwrap();
        };
        let data = Data::at(dir.path());
        assert!(data.origin().is_err(), "it is empty");
        write("manifests/lints/a.toml", "one");
        let one = data.origin().unwrap().unwrap();
        write("elsewhere/a.toml", "not looked at");
        assert_eq!(data.origin().unwrap().unwrap(), one);
        write("manifests/lints/a.toml", "two");
        let two = data.origin().unwrap().unwrap();
        write("templates/lints/a.toml", "two");
        assert!(one.sha256 != two.sha256 && data.origin().unwrap().unwrap().sha256 != two.sha256);
        assert_eq!(data.text("manifests/lints/a.toml").unwrap(), "two");
        assert!(data.text("manifests/memory.toml").is_ok(), "what is not there is the embedded one");
    }
}
