//! Reads `simpack.json`: the one reader for trees, prefixes and containers. What is damaged is said, never passed over.

use std::collections::BTreeSet;
use std::io;
use std::path::Path;

use super::{BundleManifest, MANIFEST_SCHEMA};
use crate::error::{Error, Result};
use crate::fs::Root;

/// Directory of the manifests below a prefix; each package has one of its own in it.
const DIRECTORY: &str = "share/simpack";
const FILE: &str = "simpack.json";
/// A manifest is smaller than this, in bytes.
const LARGEST: usize = 64 << 20;

/// Why a manifest says nothing.
#[derive(Debug, thiserror::Error)]
pub enum ManifestError {
    /// It is there and may not be read.
    #[error("its simpack.json cannot be read: {0}")]
    Unreadable(#[source] io::Error),
    /// It is not what a manifest is.
    #[error("its simpack.json is not valid: {0}")]
    Invalid(#[source] serde_json::Error),
    /// A later simpack wrote it.
    #[error("its simpack.json has schema {0}, this simpack reads 1 to {MANIFEST_SCHEMA}")]
    Schema(u32),
    /// The manifest decides which files belong to the package: its word on its own name must hold.
    #[error("its simpack.json is that of package {0}")]
    OfAnother(String),
}

/// A manifest in a prefix.
#[derive(Debug)]
pub struct FoundManifest {
    /// Its path.
    pub path: String,
    /// What it says.
    pub manifest: Result<BundleManifest, ManifestError>,
}

/// Whether a path below a prefix is that of a manifest.
pub fn is_manifest(path: &str) -> bool {
    let below = path.strip_prefix(DIRECTORY).and_then(|below| below.strip_prefix('/'));
    below.and_then(|below| below.split_once('/')).is_some_and(|(package, file)| !package.is_empty() && file == FILE)
}

/// Reads the manifest at `path` below a prefix.
///
/// # Errors
/// It is damaged, of a schema that this simpack does not know, or another package's.
pub fn read_manifest(path: &str, bytes: &[u8]) -> Result<BundleManifest, ManifestError> {
    #[derive(serde::Deserialize)]
    struct Schema {
        schema: u32,
    }
    if bytes.len() > LARGEST {
        return Err(ManifestError::Unreadable(io::ErrorKind::FileTooLarge.into()));
    }
    // What a later schema holds need not be understood to say which it is.
    let Schema { schema } = serde_json::from_slice(bytes).map_err(ManifestError::Invalid)?;
    if !(1..=MANIFEST_SCHEMA).contains(&schema) {
        return Err(ManifestError::Schema(schema));
    }
    let manifest: BundleManifest = serde_json::from_slice(bytes).map_err(ManifestError::Invalid)?;
    if manifest.path() != path {
        return Err(ManifestError::OfAnother(manifest.package));
    }
    Ok(manifest)
}

/// The manifests of a prefix, sorted by path; directories without one are not a package's.
pub fn manifests(root: &Root, prefix: &str) -> Vec<FoundManifest> {
    let directory = format!("{prefix}/{DIRECTORY}");
    let is_absent = |error: &io::Error| matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory);
    let unreadable = |path: String, error| FoundManifest { path, manifest: Err(ManifestError::Unreadable(error)) };
    let packages = match root.list(&directory) {
        Ok(packages) => packages,
        Err(error) if is_absent(&error) => return Vec::new(),
        Err(error) => return vec![unreadable(directory, error)],
    };
    let read = |package: String| {
        let below = format!("{DIRECTORY}/{package}/{FILE}");
        let path = format!("{prefix}/{below}");
        match root.open(&path) {
            Ok(file) => Some(FoundManifest { path, manifest: read_manifest(&below, file.bytes()) }),
            Err(error) if is_absent(&error) => None,
            Err(error) => Some(unreadable(path, error)),
        }
    };
    packages.into_iter().filter_map(read).collect()
}

/// The directories below a Python environment that are laid out as prefixes: those of simulators whose wheels are
/// installed in it.
pub fn wheel_prefixes(root: &Root, environment: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut seen = BTreeSet::new();
    for lib in ["lib", "lib64"].map(|lib| format!("{environment}/{lib}")) {
        let pythons = root.names(&lib).into_iter().filter(|name| name.starts_with("python3"));
        for packages in pythons.map(|python| format!("{lib}/{python}/site-packages")) {
            let with_manifests = |name: String| {
                let place = format!("{packages}/{name}");
                root.is_directory(&format!("{place}/{DIRECTORY}")).then_some(place)
            };
            let places = root.names(&packages).into_iter().filter_map(with_manifests);
            // One of the two is often a link to the other.
            found.extend(places.filter(|place| seen.insert(root.real(place))));
        }
    }
    found
}

/// The manifests of a prefix on this machine.
///
/// # Errors
/// The path is not UTF-8 or cannot be made absolute.
pub fn manifests_below(prefix: &Path) -> Result<Vec<FoundManifest>> {
    let prefix = std::path::absolute(prefix)?;
    Ok(manifests(&Root::machine(), crate::fs::utf8(&prefix)?.trim_end_matches('/')))
}

/// The same, where nothing can be said without all of them.
///
/// # Errors
/// One of them is damaged.
pub fn installed(prefix: &Path) -> Result<Vec<BundleManifest>> {
    let all = manifests_below(prefix)?.into_iter();
    all.map(|FoundManifest { path, manifest }| manifest.map_err(|error| Error::incomplete(path, error))).collect()
}
