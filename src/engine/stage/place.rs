//! Files of bundles: copied out of the cache, and listed.

use crate::bundle::{Artifact, ArtifactKind, Bundle};
use crate::engine::cache::{CacheEntry, artifacts_with};
use crate::error::{Error, Result};
use crate::fs::Tree;

/// Copies one artifact out of the cache.
pub(super) fn place(entry: &CacheEntry, path: &str, bundle: &Bundle, to: &str) -> Result<()> {
    // Another step may have installed a link where this file has a directory.
    let tree = Tree::at(&bundle.root)?;
    let artifact = entry.artifacts.iter().find(|artifact| artifact.path == path);
    match artifact.map(|artifact| &artifact.kind) {
        Some(ArtifactKind::Link { to: text }) => tree.symlink(text, to)?,
        Some(ArtifactKind::File { executable, sha256, .. }) => {
            // The build system's umask must not reach a package.
            let mode = if *executable { 0o755 } else { 0o644 };
            tree.copy(&Tree::at(&entry.root)?.open(path)?, to, Some(mode))?;
            bundle.files.file(to).written(*sha256);
        }
        None => return Err(Error::bug(format!("{path} is not in its cache entry"))),
    }
    Ok(())
}

/// Files and links of a bundle below one of its directories, sorted by their paths below it. What came out of the cache
/// and was not changed is not digested again.
pub(super) fn artifacts(bundle: &Bundle, directory: &str) -> Result<Vec<Artifact>> {
    artifacts_with(&bundle.root.join(directory), |path| match directory {
        "" => bundle.digest(path),
        _ => bundle.digest(&format!("{directory}/{path}")),
    })
}
