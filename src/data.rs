//! Recipes, manifests and templates: embedded in the binary, overridden by files on disk.

use std::path::{Path, PathBuf};

use include_dir::{Dir, include_dir};

use crate::error::{Error, Result};

static RECIPES: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/recipes");
static MANIFESTS: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/manifests");
static TEMPLATES: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/templates");

/// Where data is looked for: a directory on disk first, then the binary itself.
#[derive(Debug, Clone)]
pub struct Data {
    root: PathBuf,
}

impl Data {
    /// Data below the current directory, then the embedded.
    pub fn here() -> Self {
        Self::at(".")
    }

    /// Data below `root`, then the embedded.
    pub fn at(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// Text of one file such as `manifests/capabilities.toml`.
    pub fn text(&self, path: &str) -> Result<String> {
        let on_disk = self.root.join(path);
        if on_disk.is_file() {
            return Ok(fs_err::read_to_string(on_disk)?);
        }
        let file = embedded(path).and_then(|(dir, rest)| dir.get_file(rest));
        let file = file.ok_or_else(|| Error::bug(format!("no data file {path}")))?;
        file.contents_utf8().map(str::to_owned).ok_or_else(|| Error::bug(format!("{path} is not UTF-8")))
    }

    /// The directory `path` (such as `recipes/volley`) on disk, if it is there.
    pub fn dir_on_disk(&self, path: &str) -> Option<PathBuf> {
        let on_disk = self.root.join(path);
        on_disk.is_dir().then_some(on_disk)
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
