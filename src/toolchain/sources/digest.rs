//! Digests of whole trees.

use std::path::Path;

use crate::error::Result;
use crate::fs::{self, Digest, DigestBuilder, EntryKind};

/// Digest over every file and link of a tree, with execute bits.
///
/// # Errors
/// Something in it cannot be read.
pub fn tree_digest(root: &Path) -> Result<Digest> {
    let mut digest = DigestBuilder::default().field("simpack-tree 1");
    for entry in fs::walk(root)? {
        digest = match entry.kind {
            EntryKind::Directory => continue,
            EntryKind::Link(to) => digest.field("link").field(&entry.path).field(to),
            EntryKind::File { executable, .. } => {
                let bytes = Digest::of_file(&root.join(&entry.path))?;
                let kind = if executable { "program" } else { "file" };
                digest.field(kind).field(&entry.path).field(bytes.as_bytes())
            }
        };
    }
    Ok(digest.finish())
}
