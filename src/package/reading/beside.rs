//! What formats put beside the files of a manifest.

use super::kept::sums_path;
use crate::bundle::BundleManifest;
use crate::package::deb::is_text;
use crate::recipe::ComponentKind;

/// Whether a file below the prefix is one that formats put beside those of the manifest: the manifest itself, the bill of
/// materials, digests, licences, a module, what every package of Debian carries, what Python compiled of a wheel's modules.
pub fn is_beside(manifest: &BundleManifest, path: &str) -> bool {
    let BundleManifest { package, simulator, .. } = manifest;
    path == manifest.path()
        || path == manifest.sbom_path()
        || path == sums_path(manifest)
        || path.starts_with(&format!("share/simpack/{package}/licenses/"))
        || (manifest.component == ComponentKind::Core && path.starts_with(&format!("share/modulefiles/{simulator}/")))
        || is_text(manifest, path)
        || manifest.as_wheel && is_compiled(manifest, path)
}

/// Whether a file is what Python, or an installer, has compiled of a module (PEP 3147): `x/__pycache__/y.cpython-312.pyc` of
/// `x/y.py`.
fn is_compiled(manifest: &BundleManifest, path: &str) -> bool {
    let parts = path.strip_suffix(".pyc").and_then(|path| path.rsplit_once("__pycache__/"));
    let Some((directory, name)) = parts.filter(|(_, name)| !name.contains('/')) else { return false };
    let module = format!("{directory}{}.py", name.split('.').next().unwrap_or(name));
    manifest.artifacts.iter().any(|artifact| artifact.path == module)
}
