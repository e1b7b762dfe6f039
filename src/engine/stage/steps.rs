//! The steps that make the files of a bundle.

use crate::arch::{CudaVersion, KernelTarget};
use crate::build_system::BuildDriver;
use crate::plan::{Action, BuildPlan, PlannedBundle, Step};
use crate::recipe::{ComponentKind, Recipe, RecipeMatrix};

pub(super) fn steps_of(
    plan: &BuildPlan,
    cuda: Option<CudaVersion>,
    target: KernelTarget,
) -> impl Iterator<Item = &Step> {
    plan.steps.iter().filter(move |step| step.cuda == cuda && step.target() == Some(target))
}

/// Host steps that may have made files of a bundle: those of a release where it builds again, else those of the host
/// part. What is copied out of the source needs no other, nor does a module for Python with a build of its own; and nobody
/// needs that. Of several host variants it is the bundle's own, or the default: one more changes no other package.
pub(super) fn host_steps<'a>(plan: &'a BuildPlan, recipe: &Recipe, planned: &PlannedBundle) -> Vec<&'a Step> {
    let PlannedBundle { component, cuda, .. } = *planned;
    let is_copy = |step: &&Step| matches!(step.action, Action::Host { driver: BuildDriver::Copy, .. });
    let of_python = |step: &&Step| step.component == ComponentKind::Python;
    let is_python = component == ComponentKind::Python && host_steps_of_all(plan).any(|step| of_python(&step));
    let is_host = |step: &&Step| match &planned.host {
        Some(host) => step.host.as_ref().is_none_or(|of| of == host),
        None => step.is_default_variant(recipe),
    };
    let is_taken = |step: &&Step| {
        (component == ComponentKind::Kernels || !step.is_other_variant(recipe))
            && of_python(step) == is_python
            && is_host(step)
    };
    let all = || host_steps_of_all(plan).filter(is_taken);
    let of = |cuda: CudaVersion| all().filter(move |step| step.cuda == Some(cuda));
    let again: Vec<&Step> = cuda.filter(|cuda| *cuda != plan.cuda).into_iter().flat_map(of).collect();
    if !again.is_empty() {
        return again;
    }
    let host = || all().filter(|step| step.cuda.is_none_or(|cuda| cuda == plan.cuda));
    match host().find(|step| step.component == component && is_copy(step)) {
        Some(copied) => vec![copied],
        None => host().filter(|step| !is_copy(step)).collect(),
    }
}

/// The steps that make the files of a bundle, in the plan's order: its plan is the digest over their keys.
pub fn steps_of_bundle<'a>(plan: &'a BuildPlan, recipes: &RecipeMatrix, planned: &PlannedBundle) -> Vec<&'a Step> {
    let recipe = recipes.of(planned.cuda);
    let is_slice = planned.component == ComponentKind::Kernels && recipe.is_sliced();
    match planned.target {
        Some(target) if !is_slice => steps_of(plan, planned.cuda, target).collect(),
        _ => host_steps(plan, recipe, planned),
    }
}

/// Host steps whose files are claimed by globs: those of a plug-in library have their place.
pub(super) fn host_steps_of_all(plan: &BuildPlan) -> impl Iterator<Item = &Step> {
    plan.steps.iter().filter(|step| matches!(step.action, Action::Host { target: None, .. }))
}
