//! Stages artifacts into bundles: components by glob, device code by target, then the manifest.

mod claims;
mod device_code;
mod inputs;
mod installed;
mod manifest;
mod place;
mod seal;
mod steps;

pub use claims::Claims;
pub use device_code::PendingList;
pub use inputs::StageInputs;
pub use installed::FatFile;
pub use manifest::recipe_digest;
pub use seal::seal;
pub use steps::steps_of_bundle;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use self::device_code::{embedded, kernels_of, stage_kernels};
use self::installed::{Installed, fat_file};
use self::manifest::{manifest, sources};
use self::place::place;
use self::steps::host_steps_of_all;
use crate::arch::KernelTarget;
use crate::bundle::Bundle;
use crate::engine::cache::CacheEntry;
use crate::error::{Error, Result};
use crate::plan::{Action, BuildPlan, Step};
use crate::process::check_interrupted;
use crate::recipe::{ComponentKind, HostVariant};

/// Bundles before they are sealed, and what the globs left over.
#[derive(Debug)]
pub struct Staged {
    /// Bundles in the plan's order. Their manifests hold no artifacts yet.
    pub bundles: Vec<Bundle>,
    /// Installed files that no component claims.
    pub unclaimed: Vec<String>,
    /// Installed files that several components claim, with the claimants.
    pub claimed_twice: Vec<(String, Vec<ComponentKind>)>,
    /// Globs that match nothing, with their component.
    pub empty_globs: Vec<(ComponentKind, String)>,
    /// Installed files that ship cut to one capability, and are in no bundle yet.
    pub fat: Vec<FatFile>,
    /// Lists of device code that are still to be written, by the root of the bundle.
    pub lists: BTreeMap<PathBuf, Vec<PendingList>>,
}

/// Lays every bundle of the plan out below the empty directory `root`.
///
/// # Errors
/// An artifact is missing, two lie at one path, or a file cannot be written.
pub fn stage(inputs: &StageInputs<'_>, root: &Path) -> Result<Staged> {
    let recipe = inputs.recipes.own();
    let claims = Claims::new(&recipe.components)?;
    let mut trees = BTreeMap::new();
    for recipe in inputs.recipes.iter() {
        trees.insert(recipe.cuda, Installed::of(inputs, recipe.cuda, None, &claims)?);
    }
    let own = &trees[&recipe.cuda];
    one_maker(inputs.plan, &own.entries)?;
    let installs =
        || host_steps_of_all(inputs.plan).any(|step| own.entries.values().any(|entry| entry.made.step == step.id));
    for soname in recipe.components.iter().flat_map(|component| &component.sonames).filter(|_| installs()) {
        if !own.entries.contains_key(&format!("lib/{soname}")) {
            return Err(Error::build(format!(
                "no build installs lib/{}, which the recipe gives a SONAME",
                soname.library
            ))
            .hint("correct `soname`, or let a build install the library"));
        }
    }
    let hosts: BTreeSet<&HostVariant> =
        inputs.plan.bundles.iter().filter_map(|planned| planned.host.as_ref()).collect();
    let mut variants = BTreeMap::new();
    for host in hosts {
        variants.insert(host, Installed::of(inputs, recipe.cuda, Some(host), &claims)?);
    }
    let all = || std::iter::once(own).chain(variants.values());
    let is_planned = |kind| inputs.plan.bundles.iter().any(|planned| planned.component == kind);
    let mut staged = Staged {
        bundles: Vec::new(),
        unclaimed: sorted(all().flat_map(|tree| tree.unclaimed.clone())),
        claimed_twice: sorted(all().flat_map(|tree| tree.claimed_twice.clone())),
        // A build of kernels alone installs nothing, which says nothing about the globs.
        empty_globs: match host_steps_of_all(inputs.plan).next() {
            Some(_) => claims.empty(all().flat_map(|tree| tree.entries.keys())),
            None => Vec::new(),
        }
        .into_iter()
        // Where nobody asked for it, a module with a build of its own was not built.
        .filter(|(kind, _)| *kind != ComponentKind::Python || is_planned(ComponentKind::Python))
        .collect(),
        fat: trees.iter().flat_map(|(cuda, tree)| tree.fat(*cuda)).collect(),
        lists: BTreeMap::new(),
    };
    for planned in &inputs.plan.bundles {
        check_interrupted()?;
        let bundle = Bundle::new(root.join(inputs.plan.directory(planned)), manifest(inputs, planned));
        let list = bundle.manifest.path();
        if let Some(entry) = trees.values().find_map(|tree| tree.entries.get(&list)) {
            return Err(Error::build(format!("{} installs {list}, which simpack writes", entry.made.step)));
        }
        fs_err::create_dir_all(&bundle.root)?;
        match planned.target {
            Some(target) if !recipe.is_sliced() => {
                let (lists, others) = stage_kernels(inputs, planned.cuda, target, &bundle)?;
                staged.lists.insert(bundle.root.clone(), lists);
                staged.unclaimed.extend(others);
            }
            _ => {
                let of_release = || planned.cuda.and_then(|cuda| trees.get(&cuda));
                let tree = planned.host.as_ref().map_or_else(of_release, |host| variants.get(host)).unwrap_or(own);
                if let Some(bound) = tree.bound(planned) {
                    return Err(Error::build(format!(
                        "{} holds {bound}, which {} makes",
                        planned.package, tree.entries[bound].made.step
                    ))
                    .detail("there is one such package, and there are several variants of that build")
                    .hint(format!(
                        "let another component claim it, or leave out the build of component `{}`",
                        planned.component
                    )));
                }
                for (path, kind) in &tree.owners {
                    let is_fat = *kind == ComponentKind::Kernels && fat_file(tree.entries[path], path).is_some();
                    if *kind == planned.component && !is_fat {
                        place(tree.entries[path], path, &bundle, path)?;
                    }
                }
            }
        }
        staged.bundles.push(bundle);
    }
    let embedded = embedded(inputs, &staged.bundles, &staged.lists)?;
    let is_shader = |step: &&Step| step.target().is_some_and(KernelTarget::is_shader);
    let compiling: Vec<&Step> = inputs.plan.steps.iter().filter(is_shader).collect();
    let has_it = |bundle: &&mut Bundle| bundle.manifest.component == ComponentKind::Core;
    for core in staged.bundles.iter_mut().filter(has_it).filter(|_| !embedded.is_empty()) {
        core.manifest.embedded.clone_from(&embedded);
        core.manifest.kernels = kernels_of(recipe, true);
        core.manifest.exact = recipe.exact();
        core.manifest.provenance.sources = sources(&compiling);
    }
    Ok(staged)
}

/// Each once, sorted.
fn sorted<T: Ord>(items: impl Iterator<Item = T>) -> Vec<T> {
    items.collect::<BTreeSet<T>>().into_iter().collect()
}

/// Refuses a file that a host build installs at the place of a kernel.
fn one_maker(plan: &BuildPlan, installed: &BTreeMap<String, &CacheEntry>) -> Result<()> {
    for step in &plan.steps {
        if let Action::Kernel { output, .. } = &step.action
            && let Some(entry) = installed.get(output)
        {
            return Err(Error::build(format!("two steps make {output}"))
                .detail(format!("{} and {}", entry.made.step, step.id))
                .hint("install it elsewhere: device code has its place from the kernel group"));
        }
    }
    Ok(())
}
