//! The whole job as a value, before anything is touched. Pure: sources come in as digests.

mod generators;
mod graph;
mod headers;
mod host;
mod kernels;
mod key;
mod model;
mod shard;
#[cfg(test)]
mod simulated_tests;
mod structures;
mod taken;
mod tasks;
mod wgsl;

pub use generators::program_tool;
pub use headers::{HeaderList, RecordedHeaders, SoughtNames};
pub use host::{architectures, fill, fill_but_targets};
pub use kernels::{ShaderCall, glslc_calls, nvcc_arguments, wgsl_calls};
pub use key::{KeyPart, key_of};
pub use model::{Action, BuildPlan, DATA, PLAN_SCHEMA, PlanInputs, PlannedBundle, PlannedRelease, Step, kernel_dir};
pub use shard::{DIVISION_SCHEMA, DividedShard, Division, MOST_SHARDS, PlanIdentity, Shard, Weight};
pub use structures::{structures_plan, structures_step};
pub use tasks::tasks;
pub use wgsl::wgsl_module;

use std::collections::{BTreeMap, BTreeSet};

use crate::arch::KernelTarget;
use crate::error::Result;
use crate::fs::Digest;
use crate::recipe::{ComponentKind, HostVariant, RecipeMatrix};

/// The plan of a recipe: host steps first, then one step per (CUDA release x translation unit x target x variant), then
/// what takes of what some of these make. What does not follow from the release is built once, for the recipe's own.
///
/// # Errors
/// A declared source is missing, or two steps make one file.
pub fn plan(recipes: &RecipeMatrix, inputs: &PlanInputs) -> Result<BuildPlan> {
    let recipe = recipes.own();
    // A digest over all declared kernels: made once, not for every step.
    let tag = recipe.kernel_abi_tag();
    let mut steps = host::steps(recipes, inputs, tag.as_ref())?;
    steps.extend(generators::steps(recipe, inputs)?);
    steps.extend(structures::steps(recipe, inputs)?);
    for recipe in recipes.compiling() {
        steps.extend(kernels::steps(recipe, inputs, tag.as_ref())?);
    }
    if recipes.is_several() {
        // The names of a plan for one release stay as they are, and those of the shared steps.
        for step in &mut steps {
            let named = step.cuda.filter(|cuda| *cuda != recipe.cuda || step.component == ComponentKind::Kernels);
            step.id.extend(named.map(|cuda| format!(" CUDA {cuda}")));
        }
    }
    taken::join(&mut steps, recipe)?;
    graph::check(&steps)?;
    let tools = |cuda| inputs.tools.get(&cuda).cloned().unwrap_or_default();
    let others = recipes.iter().skip(1).map(|recipe| PlannedRelease { cuda: recipe.cuda, tools: tools(recipe.cuda) });
    Ok(BuildPlan {
        schema: PLAN_SCHEMA,
        simulator: recipe.name.clone(),
        version: recipe.version,
        platform: recipe.platform,
        cuda: recipe.cuda,
        kernel_abi: tag,
        tools: tools(recipe.cuda),
        others: others.collect(),
        bundles: bundles(recipes, &inputs.cuda_builds),
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
    taken::settle(&mut plan.steps);
}

/// What of `recorded` holds for the steps of a plan that was made of `sources`: for each the list that gives it its key,
/// and the names that were sought.
pub fn holding(plan: &BuildPlan, sources: &BTreeMap<String, Digest>, recorded: &RecordedHeaders) -> RecordedHeaders {
    let holding = headers::Holding::new(recorded, sources);
    let mut found = RecordedHeaders::default();
    for direct in plan.steps.iter().filter_map(|step| step.direct) {
        if let Some(list) = holding.list(direct)
            && let Some(sought) = recorded.sought.get(&list.sought)
        {
            found.add(direct, list.clone(), sought.clone());
        }
    }
    found
}

/// The bundles that the steps' outputs are staged into: of what follows from the CUDA release one for each, where releases
/// differ in it.
pub fn bundles(recipes: &RecipeMatrix, cuda_builds: &BTreeSet<ComponentKind>) -> Vec<PlannedBundle> {
    let mut bundles = Vec::new();
    let own = recipes.own();
    for component in &own.components {
        let one = |cuda, target: Option<KernelTarget>| {
            let kind = || component.kind.to_string();
            let package = target.map_or_else(|| format!("{}-{}", own.name, kind()), |it| it.package(&own.name));
            PlannedBundle { package, component: component.kind, cuda, host: None, target }
        };
        let hosts = own.variants_of(component.kind);
        let of_hosts = |bundle: PlannedBundle| -> Vec<PlannedBundle> {
            let of = |host: &HostVariant| PlannedBundle { host: Some(host.clone()), ..bundle.clone() };
            if hosts.is_empty() { vec![bundle] } else { hosts.iter().map(of).collect() }
        };
        match component.kind {
            ComponentKind::Meta => {}
            ComponentKind::Kernels => {
                for recipe in recipes.compiling() {
                    let cuda = |target: KernelTarget| (!target.is_shader()).then_some(recipe.cuda);
                    bundles.extend(recipe.targets.iter().map(|&target| one(cuda(target), Some(target))));
                    // Where there is no GPU, core still needs the library: without any device code.
                    if own.is_sliced() && !own.needs_gpu() && recipe.cuda == own.cuda {
                        bundles.push(one(None, Some(KernelTarget::Cpu)));
                    }
                }
            }
            ComponentKind::Rtc => {
                let releases = host::releases_of_rtc(recipes, cuda_builds);
                bundles.extend(releases.iter().flat_map(|recipe| of_hosts(one(Some(recipe.cuda), None))));
            }
            _ => bundles.extend(of_hosts(one(None, None))),
        }
    }
    bundles
}
