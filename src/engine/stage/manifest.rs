//! A bundle's manifest, as far as recipe and plan say it.

use std::collections::BTreeMap;

use super::inputs::StageInputs;
use super::steps::steps_of_bundle;
use crate::arch::KernelAbiTag;
use crate::bundle::{BundleManifest, DeviceSources, Provenance};
use crate::fs;
use crate::fs::{Digest, DigestBuilder};
use crate::plan::{PlannedBundle, Step};
use crate::recipe::{ComponentKind, KernelForm, KernelGroup, Recipe};

pub(super) fn manifest(inputs: &StageInputs<'_>, planned: &PlannedBundle) -> BundleManifest {
    let (recipe, plan) = (inputs.recipes.of(planned.cuda), inputs.plan);
    let is_kernels = planned.component == ComponentKind::Kernels;
    let steps = steps_of_bundle(plan, inputs.recipes, planned);
    let keys = steps.iter().fold(DigestBuilder::default(), |digest, step| digest.field(step.key.as_bytes()));
    // A core that holds all its device code meets no packages of it.
    let is_tied = match planned.component {
        ComponentKind::Core | ComponentKind::Rtc => recipe.ships_kernels(),
        component => component == ComponentKind::Kernels,
    };
    BundleManifest {
        kernel_abi: plan.kernel_abi.clone().filter(|_| is_tied),
        kernels: if is_kernels { recipe.kernels() } else { Vec::new() },
        exact: if is_kernels { recipe.exact() } else { BTreeMap::new() },
        smoke: recipe.smoke.clone().filter(|_| planned.component == ComponentKind::Core),
        device_sources: device_sources(recipe, plan.kernel_abi.as_ref())
            .filter(|_| planned.component == ComponentKind::Source),
        provenance: Provenance {
            simpack: env!("CARGO_PKG_VERSION").to_owned(),
            recipe: recipe_digest(recipe),
            plan: keys.finish(),
            tools: inputs.tools_of(planned),
            sources: if is_kernels { sources(&steps) } else { BTreeMap::new() },
            source_date_epoch: inputs.source_date_epoch,
        },
        ..planned.manifest(recipe)
    }
}

/// The kernel groups of a recipe that can be compiled from their sources alone, as a build that copies installs these.
pub(super) fn device_sources(recipe: &Recipe, tag: Option<&KernelAbiTag>) -> Option<DeviceSources> {
    let is_plain = |group: &&KernelGroup| group.form == KernelForm::Cubin && group.generator.is_none();
    let groups: Vec<KernelGroup> = recipe.groups.iter().filter(is_plain).cloned().collect();
    let directory = format!("share/{}", recipe.name);
    let kernel_abi = tag.filter(|_| !groups.is_empty())?.clone();
    Some(DeviceSources { directory, groups, cuda: recipe.cuda, kernel_abi })
}

/// Digest over a resolved recipe, as packages name it. One more capability must change no other package, so
/// the list of targets stays out.
pub fn recipe_digest(recipe: &Recipe) -> fs::Digest {
    let text = serde_json::to_vec(&Recipe { targets: Vec::new(), ..recipe.clone() }).unwrap_or_default();
    fs::Digest::of(&text)
}

/// What device code was compiled from: the files in the keys of its steps.
pub(super) fn sources(steps: &[&Step]) -> BTreeMap<String, Digest> {
    let parts = steps.iter().flat_map(|step| &step.parts);
    parts.filter_map(|part| Some((part.file()?.to_owned(), part.value.parse().ok()?))).collect()
}
