//! The files of a source tree with their digests: what a plan's keys are made of.

use std::collections::BTreeMap;
use std::path::Path;

use crate::error::Result;
use crate::fs::{self, Digest};

/// Every file below `root` but version control and the files and directories in `outside` (the build's own
/// output may lie in the source tree).
pub(super) fn scan(root: &Path, outside: &[&Path]) -> Result<BTreeMap<String, Digest>> {
    let outside: Vec<_> = outside.iter().filter_map(|dir| fs_err::canonicalize(dir).ok()).collect();
    let root = fs_err::canonicalize(root)?;
    let mut sources = BTreeMap::new();
    let kept =
        |entry: &walkdir::DirEntry| entry.file_name() != ".git" && !outside.iter().any(|dir| entry.path() == dir);
    for entry in walkdir::WalkDir::new(&root).follow_links(true).into_iter().filter_entry(kept) {
        let entry = match entry {
            Ok(entry) => entry,
            // A link to nothing, or to a directory above it, adds no file.
            Err(error) if error.depth() > 0 && leads_nowhere(&error) => continue,
            Err(error) => return Err(crate::error::Error::file(&root, error)),
        };
        if entry.file_type().is_file() {
            sources.insert(fs::relative(&root, entry.path())?, Digest::of_file(entry.path())?);
        }
    }
    Ok(sources)
}

fn leads_nowhere(error: &walkdir::Error) -> bool {
    let is_link = error.path().and_then(|path| path.symlink_metadata().ok()).is_some_and(|data| data.is_symlink());
    let is_missing = error.io_error().is_some_and(|error| error.kind() == std::io::ErrorKind::NotFound);
    is_link && (is_missing || error.loop_ancestor().is_some())
}
