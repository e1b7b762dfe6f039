//! What host builds installed, and whose it is.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use super::claims::Claims;
use super::inputs::StageInputs;
use super::steps::host_steps_of_all;
use crate::arch::CudaVersion;
use crate::bundle::ArtifactKind;
use crate::engine::cache::CacheEntry;
use crate::error::{Error, Result};
use crate::plan::{PlannedBundle, Step};
use crate::recipe::{ComponentKind, HostVariant};

/// A file with code for all targets, each of whose kernel bundles shall hold its own slice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FatFile {
    /// `/`-joined path below the prefix.
    pub path: String,
    /// CUDA release whose targets it has code for.
    pub cuda: CudaVersion,
    /// Where it lies now. Nothing may be written there.
    pub file: PathBuf,
    /// Owner's execute bit.
    pub executable: bool,
}

/// What host builds installed, as it is for one CUDA release.
pub(super) struct Installed<'a> {
    /// Files with the cache entries that hold them.
    pub(super) entries: BTreeMap<String, &'a CacheEntry>,
    /// Whose they are.
    pub(super) owners: BTreeMap<String, ComponentKind>,
    pub(super) unclaimed: Vec<String>,
    pub(super) claimed_twice: Vec<(String, Vec<ComponentKind>)>,
    /// Steps that there is one of for each host variant, by name.
    bound: BTreeSet<&'a str>,
}

impl<'a> Installed<'a> {
    /// What a release builds again goes before what the host part's build left. Without a host variant it is the default
    /// one.
    pub(super) fn of(
        inputs: &'a StageInputs<'_>,
        cuda: CudaVersion,
        host: Option<&HostVariant>,
        claims: &Claims,
    ) -> Result<Self> {
        let recipe = inputs.recipes.own();
        let is_host = |step: &Step| match host {
            Some(host) => step.host.as_ref().is_none_or(|of| of == host),
            None => step.is_default_variant(recipe),
        };
        let is_own = |step: &Step| step.cuda.is_none_or(|of| of == inputs.plan.cuda) && is_host(step);
        let mut entries = installed(inputs, claims, is_own)?;
        if cuda != inputs.plan.cuda {
            entries.extend(installed(inputs, claims, |step| step.cuda == Some(cuda))?);
        }
        let mut tree = Self {
            entries,
            owners: BTreeMap::new(),
            unclaimed: Vec::new(),
            claimed_twice: Vec::new(),
            bound: bound(inputs, host),
        };
        for path in tree.entries.keys() {
            let kind = match claims.of(path).as_slice() {
                [] => {
                    tree.unclaimed.push(path.clone());
                    continue;
                }
                // What is cut is named one by one; core's globs may be those of all libraries.
                kinds if kinds.contains(&ComponentKind::Kernels) => ComponentKind::Kernels,
                [kind] => *kind,
                kinds => {
                    tree.claimed_twice.push((path.clone(), kinds.to_vec()));
                    continue;
                }
            };
            tree.owners.insert(path.clone(), kind);
        }
        Ok(tree)
    }

    /// A file of a bundle that there is once, made by a build of which there is one for each host variant.
    pub(super) fn bound(&self, planned: &PlannedBundle) -> Option<&String> {
        let owned = self.owners.iter().filter(|(_, kind)| planned.host.is_none() && **kind == planned.component);
        owned.map(|(path, _)| path).find(|path| self.bound.contains(self.entries[*path].made.step.as_str()))
    }

    /// The files that are cut for the targets of the release.
    pub(super) fn fat(&self, cuda: CudaVersion) -> impl Iterator<Item = FatFile> {
        let cut = self.owners.iter().filter(|(_, kind)| **kind == ComponentKind::Kernels);
        cut.filter_map(move |(path, _)| {
            let executable = fat_file(self.entries[path], path)?;
            Some(FatFile { path: path.clone(), cuda, file: self.entries[path].root.join(path), executable })
        })
    }
}

/// The steps that there is one of for each host variant.
pub(super) fn bound<'a>(inputs: &'a StageInputs<'_>, host: Option<&HostVariant>) -> BTreeSet<&'a str> {
    let steps = host_steps_of_all(inputs.plan).filter(|step| step.host.is_some() && host.is_none());
    steps.map(|step| step.id.as_str()).collect()
}

/// Every file that host steps of some releases installed with the cache entry that holds it; of other variants than the
/// host part's the libraries that ship cut.
pub(super) fn installed<'a>(
    inputs: &'a StageInputs<'_>,
    claims: &Claims,
    of: impl Fn(&Step) -> bool,
) -> Result<BTreeMap<String, &'a CacheEntry>> {
    let mut installed: BTreeMap<String, &CacheEntry> = BTreeMap::new();
    for step in host_steps_of_all(inputs.plan).filter(|step| of(step)) {
        let Some(entry) = inputs.outcome.entries.get(&step.id) else { continue };
        let is_other = step.is_other_variant(inputs.recipes.own());
        let is_taken = |path: &str| match step.component {
            // It may install all of the simulator once more, beside the module.
            ComponentKind::Python => match claims.of(path).as_slice() {
                [] => !installed.contains_key(path),
                kinds => kinds.contains(&ComponentKind::Python),
            },
            _ => !is_other || claims.of(path).contains(&ComponentKind::Kernels),
        };
        let taken: Vec<_> = entry.artifacts.iter().filter(|artifact| is_taken(&artifact.path)).collect();
        for artifact in taken {
            if installed.insert(artifact.path.clone(), entry).is_some() {
                let error = Error::build(format!("two host builds install {}", artifact.path));
                return Err(match is_other {
                    true => error.hint("let `{variant}` be part of its name, or name it in no kernel group"),
                    false => error.hint("install it by one of them"),
                });
            }
        }
    }
    Ok(installed)
}

/// The execute bit of a claimed artifact that is a file, and no link.
pub(super) fn fat_file(entry: &CacheEntry, path: &str) -> Option<bool> {
    let artifact = entry.artifacts.iter().find(|artifact| artifact.path == path)?;
    match artifact.kind {
        ArtifactKind::File { executable, .. } => Some(executable),
        ArtifactKind::Link { .. } => None,
    }
}
