//! Trees of files, as lists of digests.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use simpack::fs::{Digest, EntryKind, walk};

/// Every file below `root`: path and digest. Not the statement of where a distribution comes from, which tells two builds
/// apart that made the same.
pub fn digests(root: &Path) -> BTreeMap<String, Digest> {
    let files = files(root).into_iter().filter(|path| path != "provenance.json");
    files.map(|path| (path.clone(), Digest::of_file(&root.join(path)).unwrap())).collect()
}

/// Paths of all files below `root`, sorted.
pub fn files(root: &Path) -> Vec<String> {
    let entries = walk(root).unwrap().into_iter();
    entries.filter(|entry| matches!(entry.kind, EntryKind::File { .. })).map(|entry| entry.path).collect()
}

/// Paths that are in one tree only, or differ.
pub fn changed(one: &BTreeMap<String, Digest>, other: &BTreeMap<String, Digest>) -> Vec<String> {
    let mut paths: Vec<_> = one.keys().chain(other.keys()).filter(|path| one.get(*path) != other.get(*path)).collect();
    paths.sort();
    paths.dedup();
    paths.into_iter().cloned().collect()
}

/// Copies a tree, links as links, modes kept.
pub fn copy_tree(from: &Path, to: &Path) {
    fs_err::create_dir_all(to).unwrap();
    for entry in walk(from).unwrap() {
        let target: PathBuf = to.join(&entry.path);
        match entry.kind {
            EntryKind::Directory => fs_err::create_dir_all(&target).unwrap(),
            EntryKind::Link(text) => {
                fs_err::os::unix::fs::symlink(text, &target).unwrap();
            }
            EntryKind::File { .. } => {
                fs_err::copy(from.join(&entry.path), &target).unwrap();
            }
        }
    }
}
