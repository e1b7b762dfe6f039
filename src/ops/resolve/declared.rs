//! What packages declare that their code opens: `opens` of the manifests in the prefix of a file.

use std::collections::HashMap;

use crate::bundle::BundleManifest;
use crate::elf::resolve::normal;
use crate::fs::Root;

/// Where manifests lie below a prefix.
const MANIFESTS: &str = "share/simpack";

/// Manifests by prefix, read once.
pub(super) struct Declared<'a> {
    root: &'a Root,
    prefixes: HashMap<String, Vec<BundleManifest>>,
}

impl<'a> Declared<'a> {
    pub(super) fn new(root: &'a Root) -> Self {
        Self { root, prefixes: HashMap::new() }
    }

    /// Names that the package of a file declares; none for a file of no package.
    pub(super) fn names(&mut self, file: &str) -> Vec<String> {
        let real = self.root.real(file).unwrap_or_else(|| normal(file));
        let mut names = Vec::new();
        for (at, _) in real.match_indices('/').filter(|(at, _)| *at > 0) {
            let (prefix, path) = (&real[..at], &real[at + 1..]);
            for manifest in self.manifests(prefix) {
                if !manifest.opens.is_empty() && manifest.artifacts.iter().any(|artifact| artifact.path == path) {
                    names.extend(manifest.opens.iter().cloned());
                }
            }
        }
        names
    }

    fn manifests(&mut self, prefix: &str) -> &[BundleManifest] {
        let root = self.root;
        self.prefixes.entry(prefix.to_owned()).or_insert_with(|| {
            let directory = format!("{prefix}/{MANIFESTS}");
            let packages = root.names(&directory);
            let read = |package: String| {
                let file = root.open(&format!("{directory}/{package}/simpack.json")).ok()?;
                // Of another version of simpack, perhaps: then nothing is known.
                serde_json::from_slice(file.bytes()).ok()
            };
            packages.into_iter().filter_map(read).collect()
        })
    }
}
