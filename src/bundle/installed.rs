//! The manifests that packages leave in a prefix.

use std::path::Path;

use super::manifest::BundleManifest;
use crate::error::{Error, Result};

/// The manifests of a prefix.
///
/// # Errors
/// One cannot be read or understood.
pub fn installed(prefix: &Path) -> Result<Vec<BundleManifest>> {
    let mut found = Vec::new();
    for entry in fs_err::read_dir(prefix.join("share/simpack"))? {
        let path = entry?.path().join("simpack.json");
        if path.is_file() {
            let bytes = fs_err::read(&path)?;
            found.push(serde_json::from_slice(&bytes).map_err(|error| Error::file(&path, error))?);
        }
    }
    Ok(found)
}
