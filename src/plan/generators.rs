//! Steps that write the sources of kernel groups once more, to find those that are stale.

use super::kernels::{data_part, tool_part};
use super::{Action, KeyPart, PlanInputs, Step, key_of};
use crate::error::{Error, Result};
use crate::recipe::{ComponentKind, Generator, KernelGroup, Recipe, program_of_machine};

/// Name among the tools of a program of the machine that a kernel group names.
pub fn program_tool(program: &str) -> String {
    format!("program {program}")
}

/// A step for each group that has a generator. Its key holds what the generator reads and what it is to write: while both
/// are the same, nothing is run.
pub(super) fn steps(recipe: &Recipe, inputs: &PlanInputs) -> Result<Vec<Step>> {
    let groups = recipe.groups.iter().filter_map(|group| Some((group, group.generator.as_ref()?)));
    groups.map(|(group, generator)| step(recipe, inputs, group, generator)).collect()
}

/// A command, and the program of the machine that it calls.
pub(super) fn command_parts(recipe: &Recipe, inputs: &PlanInputs, command: &[String]) -> Result<Vec<KeyPart>> {
    let program = program_of_machine(command).map(|program| tool_part(inputs, recipe.cuda, &program_tool(program)));
    let words = command.iter().enumerate().map(|(at, word)| KeyPart::new(format!("argument {at}"), word));
    Ok(program.transpose()?.into_iter().chain(words).collect())
}

fn step(recipe: &Recipe, inputs: &PlanInputs, group: &KernelGroup, generator: &Generator) -> Result<Step> {
    let mut parts = vec![
        KeyPart::new("simpack", env!("CARGO_PKG_VERSION")),
        KeyPart::new("action", "generate 1"),
        KeyPart::new("source-date-epoch", inputs.source_date_epoch),
    ];
    parts.extend(data_part(inputs, recipe.cuda));
    parts.extend(command_parts(recipe, inputs, &generator.command)?);
    let reads = generator.reads()?;
    let is_read =
        |path: &&String| reads.contain(path, inputs.left_out.contains(*path)) && !group.sources.contains(path);
    let read: Vec<&String> = inputs.sources.keys().filter(is_read).collect();
    if read.is_empty() {
        return Err(Error::recipe(format!(
            "the generator of kernel group `{}` reads no file of the source",
            group.name
        ))
        .hint("`inputs` name its own program, and all that this reads"));
    }
    parts.extend(read.iter().map(|path| KeyPart::new(format!("file {path}"), inputs.sources[*path])));
    for source in &group.sources {
        // A missing source is told by the step that compiles it.
        parts.extend(inputs.sources.get(source).map(|digest| KeyPart::new(format!("generated {source}"), digest)));
    }
    Ok(Step {
        id: format!("generate {}", group.name),
        component: ComponentKind::Kernels,
        cuda: None,
        host: None,
        key: key_of(&parts),
        parts,
        direct: None,
        action: Action::Generate { command: generator.command.clone(), sources: group.sources.clone() },
    })
}
