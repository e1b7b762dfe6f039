//! The whole job as a value, before anything is touched. Pure: sources come in as digests.

mod graph;
mod headers;
mod host;
mod kernels;
mod key;
mod model;

pub use headers::{HeaderList, RecordedHeaders, SoughtNames};
pub use host::{architectures, fill};
pub use key::{KeyPart, key_of};
pub use model::{Action, BuildPlan, PLAN_SCHEMA, PlanInputs, PlannedBundle, Step, kernel_dir};

use std::collections::BTreeMap;

use crate::arch::KernelTarget;
use crate::error::Result;
use crate::fs::Digest;
use crate::recipe::{ComponentKind, Recipe};

/// The plan of a recipe: host steps first, then one step per (translation unit x target x variant).
///
/// # Errors
/// A declared source is missing, or two steps make one file.
pub fn plan(recipe: &Recipe, inputs: &PlanInputs) -> Result<BuildPlan> {
    // A digest over all declared kernels: made once, not for every step.
    let tag = recipe.kernel_abi_tag();
    let mut steps = host::steps(recipe, inputs, tag.as_ref())?;
    steps.extend(kernels::steps(recipe, inputs, tag.as_ref())?);
    graph::check(&steps)?;
    Ok(BuildPlan {
        schema: PLAN_SCHEMA,
        simulator: recipe.name.clone(),
        version: recipe.version,
        platform: recipe.platform,
        cuda: recipe.cuda,
        kernel_abi: tag,
        tools: inputs.tools.clone(),
        bundles: bundles(recipe),
        steps,
    })
}

/// Completes the keys of those steps whose headers are known by now, with the `sources` that the plan was
/// made of.
pub fn settle(plan: &mut BuildPlan, sources: &BTreeMap<String, Digest>, recorded: &RecordedHeaders) {
    let holding = headers::Holding::new(recorded, sources);
    for step in &mut plan.steps {
        if !step.is_settled()
            && let Some(list) = step.direct.and_then(|direct| holding.list(direct))
        {
            step.settle(list);
        }
    }
}

/// The bundles that the steps' outputs are staged into.
pub fn bundles(recipe: &Recipe) -> Vec<PlannedBundle> {
    let mut bundles = Vec::new();
    for component in &recipe.components {
        match component.kind {
            ComponentKind::Meta => {}
            ComponentKind::Kernels => {
                // Where there is no GPU, core still needs the library: without any device code.
                let without = recipe.is_sliced().then_some(KernelTarget::Cpu);
                bundles.extend(recipe.targets.iter().copied().chain(without).map(|target| PlannedBundle {
                    package: format!("{}-kernels-{target}", recipe.name),
                    component: ComponentKind::Kernels,
                    target: Some(target),
                }));
            }
            kind => bundles.push(PlannedBundle {
                package: format!("{}-{kind}", recipe.name),
                component: kind,
                target: None,
            }),
        }
    }
    bundles
}
