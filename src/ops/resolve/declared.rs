//! What packages declare that their code opens: `opens` of the manifests in the prefix of a file.

use std::collections::{BTreeMap, HashMap};

use crate::bundle::{BundleManifest, manifests};
use crate::elf::resolve::normal;
use crate::fs::Root;
use crate::report::Incomplete;

/// Manifests by prefix, read once.
pub(super) struct Declared<'a> {
    root: &'a Root,
    prefixes: HashMap<String, Vec<BundleManifest>>,
    /// Why manifests say nothing, by their path.
    damaged: BTreeMap<String, String>,
}

impl<'a> Declared<'a> {
    pub(super) fn new(root: &'a Root) -> Self {
        Self { root, prefixes: HashMap::new(), damaged: BTreeMap::new() }
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

    /// The manifests that could not be read: what their packages open is not known.
    pub(super) fn incomplete(self) -> Vec<Incomplete> {
        let gap = |(subject, reason): (String, String)| Incomplete {
            subject: subject.into(),
            topic: "manifest".to_owned(),
            reason,
        };
        self.damaged.into_iter().map(gap).collect()
    }

    fn manifests(&mut self, prefix: &str) -> &[BundleManifest] {
        let (root, damaged) = (self.root, &mut self.damaged);
        self.prefixes.entry(prefix.to_owned()).or_insert_with(|| {
            let mut read = Vec::new();
            for found in manifests(root, prefix) {
                match found.manifest {
                    Ok(manifest) => read.push(manifest),
                    Err(error) => drop(damaged.insert(found.path, error.to_string())),
                }
            }
            read
        })
    }
}
