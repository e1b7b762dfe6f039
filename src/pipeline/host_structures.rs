//! Asks the host of a recipe how the structures of its kernel tables lie, without a build of anything else.

use super::inputs::BuildInputs;
use super::job::Job;
use super::request::BuildRequest;
use super::run::{compile, in_work, open_cache, options, say_what};
use crate::engine::{self, STRUCTURES_FILE};
use crate::error::{Error, Result};
use crate::fs;
use crate::layout::{Structure, StructuresDump};
use crate::plan;
use crate::recipe::{HostStructures, KernelGroup};
use crate::ui::Ui;

/// What the host says for a kernel table.
pub(crate) struct HostTable {
    /// The table, relative to the recipe.
    pub path: String,
    /// The structures, each behind those that it holds.
    pub structures: Vec<Structure>,
}

/// The structures of all groups that name where they come from; what was asked before comes from the cache.
///
/// # Errors
/// The recipe is wrong, the host's headers cannot be compiled or its command fails, or a structure is none that a shader can
/// have.
pub(crate) fn host_tables(request: &BuildRequest, ui: &Ui) -> Result<(BuildInputs, Vec<HostTable>)> {
    in_work(request, || {
        let mut inputs = BuildInputs::find(request, ui)?;
        inputs.tools = inputs.tools.of_host();
        let plan = plan::structures_plan(&inputs.recipes, &inputs.plan_inputs)?;
        let mut job = Job { inputs, plan, whole: None };
        say_what(&job, ui)?;
        let mut toolset = job.inputs.fetch_tools(request.offline, ui)?;
        let options = options(&job, request, &mut toolset, ui)?;
        let cache = open_cache(request, &options, ui)?;
        let outcome = compile(&mut job, &toolset, &cache, &options, ui);
        let tables = outcome.and_then(|outcome| {
            let groups = job.inputs.recipes.own().host_structures();
            let table = |(group, from): (&KernelGroup, &HostStructures)| {
                let entry = outcome.entries.get(&plan::structures_step(&group.name));
                let entry =
                    entry.ok_or_else(|| Error::bug(format!("nothing says the structures of {}", group.name)))?;
                let text = fs::read(&entry.root.join(STRUCTURES_FILE))?;
                let structures = StructuresDump::read(&text).map_err(|error| Error::bug(error.to_string()))?;
                Ok(HostTable { path: from.table.clone(), structures })
            };
            groups.map(table).collect::<Result<Vec<_>>>()
        });
        engine::finish_cache(cache, ui);
        Ok((job.inputs, tables?))
    })
}
