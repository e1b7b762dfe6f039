//! Steps that ask the host how the structures of kernel tables lie, and compare.

use super::generators::command_parts;
use super::kernels::{data_part, tool_part};
use super::{Action, BuildPlan, KeyPart, PLAN_SCHEMA, PlanInputs, Step, key_of};
use crate::error::{Error, Result};
use crate::layout::Structure;
use crate::recipe::{ComponentKind, HostStructures, KernelGroup, LayoutSource, Recipe, RecipeMatrix};

/// A step for each group whose structures the host says. Its key holds what is read and what the table declares: while both
/// are the same, nothing is compiled.
pub(super) fn steps(recipe: &Recipe, inputs: &PlanInputs) -> Result<Vec<Step>> {
    let step = |(group, structures): (&KernelGroup, &HostStructures)| {
        step(recipe, inputs, (&group.name, structures), structures.of_table(&group.structures))
    };
    recipe.host_structures().map(step).collect()
}

/// The plan that asks the host for all structures and compares them with nothing.
///
/// # Errors
/// What says them reads no file of the source.
pub fn structures_plan(recipes: &RecipeMatrix, inputs: &PlanInputs) -> Result<BuildPlan> {
    let recipe = recipes.own();
    let step = |(group, structures): (&KernelGroup, &HostStructures)| {
        step(recipe, inputs, (&group.name, structures), Vec::new())
    };
    let steps = recipe.host_structures().map(step).collect::<Result<_>>()?;
    Ok(BuildPlan {
        schema: PLAN_SCHEMA,
        simulator: recipe.name.clone(),
        version: recipe.version,
        platform: recipe.platform,
        cuda: recipe.cuda,
        kernel_abi: None,
        tools: inputs.tools.get(&recipe.cuda).cloned().unwrap_or_default(),
        others: Vec::new(),
        bundles: Vec::new(),
        steps,
    })
}

/// The id of the step that asks for the structures of a kernel group.
pub fn structures_step(group: &str) -> String {
    format!("structures {group}")
}

fn step(
    recipe: &Recipe,
    inputs: &PlanInputs,
    (group, structures): (&str, &HostStructures),
    declared: Vec<Structure>,
) -> Result<Step> {
    let mut parts = vec![
        KeyPart::new("simpack", env!("CARGO_PKG_VERSION")),
        KeyPart::new("action", "structures 1"),
        KeyPart::new("platform", recipe.platform),
        KeyPart::new("source-date-epoch", inputs.source_date_epoch),
    ];
    parts.extend(data_part(inputs, recipe.cuda));
    match &structures.source {
        LayoutSource::Headers { headers, language, flags } => {
            parts.push(tool_part(inputs, recipe.cuda, "c++")?);
            parts.push(KeyPart::new("language", language.name()));
            parts.extend(headers.iter().map(|header| KeyPart::new("header", header)));
            parts.extend(flags.iter().enumerate().map(|(at, flag)| KeyPart::new(format!("argument {at}"), flag)));
        }
        LayoutSource::Command { command } => parts.extend(command_parts(recipe, inputs, command)?),
    }
    parts.extend(structures.types.iter().map(|one| KeyPart::new(format!("type {}", one.name), &one.host)));
    let reads = structures.reads()?;
    let read = inputs.sources.iter().filter(|(path, _)| reads.contain(path, inputs.left_out.contains(*path)));
    let read: Vec<KeyPart> = read.map(|(path, digest)| KeyPart::new(format!("file {path}"), digest)).collect();
    if read.is_empty() {
        let message = format!("what says the structures of kernel group `{group}` reads no file of the source");
        return Err(Error::recipe(message).hint("`inputs` name all that is read"));
    }
    parts.extend(read);
    parts.extend(declared.iter().map(|one| {
        let text = serde_json::to_string(one).unwrap_or_default();
        KeyPart::new(format!("struct {}", one.name), text)
    }));
    Ok(Step {
        id: structures_step(group),
        component: ComponentKind::Kernels,
        cuda: None,
        host: None,
        key: key_of(&parts),
        parts,
        direct: None,
        action: Action::Structures {
            group: group.to_owned(),
            source: structures.source.clone(),
            types: structures.types.clone(),
            declared,
        },
    })
}
