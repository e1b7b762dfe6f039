//! What formats put beside the files of a manifest.

use super::deb::is_text;
use super::kept::sums_path;
use crate::bundle::BundleManifest;
use crate::recipe::ComponentKind;

/// Whether a file below the prefix is one that formats put beside those of the manifest: the manifest itself, the bill of
/// materials, digests, licences, a module, what every package of Debian carries.
pub fn is_beside(manifest: &BundleManifest, path: &str) -> bool {
    let BundleManifest { package, simulator, .. } = manifest;
    path == manifest.path()
        || path == manifest.sbom_path()
        || path == sums_path(manifest)
        || path.starts_with(&format!("share/simpack/{package}/licenses/"))
        || (manifest.component == ComponentKind::Core && path.starts_with(&format!("share/modulefiles/{simulator}/")))
        || is_text(manifest, path)
}
