//! Directories: in and out. Files with device code are replaced by their slices, everything else is as it was.

use std::io::Read;
use std::path::Path;

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
        fs::open(&file)?.take(8).read_to_end(&mut start)?;
        if MAGICS.iter().any(|magic| start.starts_with(magic)) {
            members.push(Member { name: entry.path, file });
        }
    }
    Ok(members)
}
