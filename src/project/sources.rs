//! The files of a source tree with their digests: what a plan's keys are made of.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::config;
use crate::error::{Error, Result};
use crate::fs::{self, Digest};
use crate::recipe::{Recipe, Source};

/// A source tree as it was found.
pub(crate) struct Scanned {
    /// Every file by its path below the root.
    pub files: BTreeMap<String, Digest>,
    /// All places that a change of the tree would show at: files, directories, and links that lead nowhere.
    pub looked_at: Vec<PathBuf>,
}

/// Every file below `root` but version control and the files and directories in `outside` (the build's own
/// output may lie in the source tree).
///
/// # Errors
/// A file cannot be read, is none, or a link leads out of the tree to a place that the user's setting does not allow: a
/// source of others must not bring the user's own files into a package.
pub(crate) fn scan(root: &Path, outside: &[&Path]) -> Result<Scanned> {
    let outside: Vec<_> = outside.iter().filter_map(|dir| fs_err::canonicalize(dir).ok()).collect();
    let root = fs_err::canonicalize(root)?;
    let mut allowed = vec![root.clone()];
    let places = config::current().text(ALLOWED).unwrap_or_default();
    allowed
        .extend(places.split(':').filter(|place| !place.is_empty()).filter_map(|dir| fs_err::canonicalize(dir).ok()));
    let mut found = Scanned { files: BTreeMap::new(), looked_at: Vec::new() };
    let kept =
        |entry: &walkdir::DirEntry| entry.file_name() != ".git" && !outside.iter().any(|dir| entry.path() == dir);
    for entry in walkdir::WalkDir::new(&root).follow_links(true).into_iter().filter_entry(kept) {
        let entry = match entry {
            Ok(entry) => entry,
            // A link to nothing, or to a directory above it, adds no file.
            Err(error) if error.depth() > 0 && leads_nowhere(&error) => {
                found.looked_at.extend(error.path().map(Path::to_owned));
                continue;
            }
            Err(error) => return Err(Error::file(&root, error)),
        };
        if entry.path_is_symlink() {
            let target = fs_err::canonicalize(entry.path())?;
            if !allowed.iter().any(|place| target.starts_with(place)) {
                return Err(leads_out(&root, entry.path(), &target));
            }
        }
        if !entry.file_type().is_file() && !entry.file_type().is_dir() {
            return Err(Error::file(entry.path(), fs::NO_FILE));
        }
        if entry.file_type().is_file() {
            found.files.insert(fs::relative(&root, entry.path())?, Digest::of_file(entry.path())?);
        }
        found.looked_at.push(entry.into_path());
    }
    Ok(found)
}

/// The setting with places that links of a source may lead to.
const ALLOWED: &str = "source-links";

fn leads_out(root: &Path, link: &Path, target: &Path) -> Error {
    let link = fs::relative(root, link).unwrap_or_else(|_| link.display().to_string());
    Error::file(root, format!("the link {link} of the source leads out of it"))
        .detail(format!("to: {}", target.display()))
        .hint("put a copy there; or, if you trust the source with that place, name it in the setting `source-links`")
}

fn leads_nowhere(error: &walkdir::Error) -> bool {
    let is_link = error.path().and_then(|path| path.symlink_metadata().ok()).is_some_and(|data| data.is_symlink());
    let is_missing = error.io_error().is_some_and(|error| error.kind() == std::io::ErrorKind::NotFound);
    is_link && (is_missing || error.loop_ancestor().is_some())
}

/// The source tree on disk.
pub(crate) fn source_root(recipe: &Recipe, fetched: Option<PathBuf>) -> Result<PathBuf> {
    match (&recipe.source, fetched) {
        (Source::Path(path), _) => {
            let root = recipe.dir.join(path);
            match root.is_dir() {
                true => Ok(root),
                false => Err(Error::recipe(format!("the source {} is not a directory", root.display()))),
            }
        }
        (_, Some(root)) => Ok(root),
        (_, None) => Err(Error::bug("a source was resolved before it was fetched")),
    }
}
