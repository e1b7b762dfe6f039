//! Trees of files, as lists of digests.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use simpack::fs::{Digest, EntryKind, walk};

/// Every file below `root`: path and digest. Not what tells two builds apart that made the same: the statement of where a
/// distribution comes from, and when a channel's index had a package first. Shards and their list are named and made by
/// what holds that time.
pub fn digests(root: &Path) -> BTreeMap<String, Digest> {
    let is_of_time = |path: &String| path == "provenance.json" || path.ends_with(".msgpack.zst");
    let files = files(root).into_iter().filter(|path| !is_of_time(path));
    files.map(|path| (path.clone(), digest(&root.join(path)))).collect()
}

fn digest(path: &Path) -> Digest {
    let name = path.file_name().unwrap().to_string_lossy();
    if !name.starts_with("repodata.json") {
        return Digest::of_file(path).unwrap();
    }
    let bytes = fs_err::read(path).unwrap();
    let text = if name.ends_with(".zst") { zstd::decode_all(bytes.as_slice()).unwrap() } else { bytes };
    let Ok(mut index) = serde_json::from_slice::<serde_json::Value>(&text) else { return Digest::of(&text) };
    for (_, record) in index["packages.conda"].as_object_mut().into_iter().flatten() {
        record.as_object_mut().unwrap().remove("indexed_timestamp");
    }
    Digest::of(index.to_string().as_bytes())
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
