//! The files of a source tree with their digests: what a plan's keys are made of.

use std::collections::BTreeMap;
use std::path::Path;

use crate::error::Result;
use crate::fs::{self, Digest};

/// Every file below `root` but version control and the directories in `outside` (the build's own
/// output may lie in the source tree).
pub(super) fn scan(root: &Path, outside: &[&Path]) -> Result<BTreeMap<String, Digest>> {
    let outside: Vec<_> = outside.iter().filter_map(|dir| fs_err::canonicalize(dir).ok()).collect();
    let root = fs_err::canonicalize(root)?;
    let mut sources = BTreeMap::new();
    let kept =
        |entry: &walkdir::DirEntry| entry.file_name() != ".git" && !outside.iter().any(|dir| entry.path() == dir);
    for entry in walkdir::WalkDir::new(&root).follow_links(true).into_iter().filter_entry(kept) {
        let entry = entry.map_err(|error| crate::error::Error::file(&root, error))?;
        if entry.file_type().is_file() {
            sources.insert(fs::relative(&root, entry.path())?, Digest::of_file(entry.path())?);
        }
    }
    Ok(sources)
}
