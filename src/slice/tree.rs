//! Directories: in and out. Files with device code are replaced by their slices, everything else is as it was.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};

use super::{MAGICS, Member};
use crate::error::Result;
use crate::fs::{self, EntryKind};

/// Files below `root` that may hold device code, sorted by name; links lead to files that are there themselves.
///
/// # Errors
/// The directory cannot be read.
pub fn tree_members(root: &Path) -> Result<Vec<Member>> {
    let mut members = Vec::new();
    for entry in fs::walk(root)?.into_iter().filter(|entry| matches!(entry.kind, EntryKind::File { .. })) {
        let file = root.join(&entry.path);
        let mut start = Vec::new();
        fs_err::File::open(&file)?.take(8).read_to_end(&mut start)?;
        if MAGICS.iter().any(|magic| start.starts_with(magic)) {
            members.push(Member { name: entry.path, file });
        }
    }
    Ok(members)
}

/// Lays the tree of `from` out in the new directory `to`, with other content for the files in `sliced`.
///
/// # Errors
/// A file cannot be read or written.
pub fn write_tree(from: &Path, sliced: &BTreeMap<String, PathBuf>, to: &Path) -> Result<()> {
    fs_err::create_dir_all(to)?;
    for entry in fs::walk(from)? {
        let target = to.join(&entry.path);
        match entry.kind {
            EntryKind::Directory => fs_err::create_dir_all(&target)?,
            EntryKind::Link(text) => fs_err::os::unix::fs::symlink(text, &target)?,
            EntryKind::File { .. } => match sliced.get(&entry.path) {
                // The scratch directory lies on the same file system.
                Some(slice) => fs_err::rename(slice, &target)?,
                None => {
                    fs_err::copy(from.join(&entry.path), &target)?;
                }
            },
        }
    }
    Ok(())
}
