//! One plan in parts: which steps each machine makes, and by what they know that they have the same plan.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::amount::count;
use crate::arch::{Capability, CudaVersion};
use crate::engine::{self, Cache};
use crate::error::{Error, Result};
use crate::fs;
use crate::pipeline::inputs::BuildInputs;
use crate::pipeline::request::{BuildRequest, CudaSource, ShardRequest};
use crate::plan::{BuildPlan, DIVISION_SCHEMA, Division, PlanIdentity, Shard};
use crate::project::source_digest;
use crate::recipe::HostKind;

/// What the machines of a plan were asked for. What packages are called and hold follows from it, so that whoever merges
/// need not say it once more.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct Asked {
    recipe: Option<String>,
    capabilities: Option<Vec<Capability>>,
    ptx: Option<Vec<Capability>>,
    #[serde(default)]
    environments: Option<Vec<String>>,
    cuda: Option<CudaVersion>,
    cuda_source: CudaSource,
    host: Option<HostKind>,
    components: Vec<String>,
    source_date_epoch: u64,
}

impl Asked {
    pub(in crate::pipeline) fn of(request: &BuildRequest, epoch: u64) -> Self {
        let BuildRequest { recipe, capabilities, ptx, environments, cuda, cuda_source, host, components, .. } =
            request.clone();
        Self { recipe, capabilities, ptx, environments, cuda, cuda_source, host, components, source_date_epoch: epoch }
    }

    /// The request of somebody who merges: the recipe is that of the shards, unless another place is named.
    pub(in crate::pipeline) fn request(&self, merge: &BuildRequest) -> BuildRequest {
        BuildRequest {
            recipe: merge.recipe.clone().or_else(|| self.recipe.clone()),
            capabilities: self.capabilities.clone(),
            ptx: self.ptx.clone(),
            environments: self.environments.clone(),
            cuda: self.cuda,
            cuda_source: self.cuda_source,
            host: self.host,
            components: self.components.clone(),
            source_date_epoch: Some(self.source_date_epoch),
            ..merge.clone()
        }
    }
}

/// By what machines know that they have the same plan.
pub(super) fn identity(inputs: &BuildInputs, plan: &BuildPlan) -> PlanIdentity {
    PlanIdentity::new(plan, source_digest(&inputs.plan_inputs.sources, &inputs.plan_inputs.left_out))
}

/// The whole plan of a job in so many parts. With a cache, what steps took there decides how; without one only what every
/// machine knows.
pub(crate) fn divided(inputs: &BuildInputs, plan: &BuildPlan, known: Option<&Cache>, shards: u32) -> Division {
    let identity = identity(inputs, plan);
    let (weights, measured) = engine::weights(plan, known, &inputs.source, &inputs.manifests.time);
    Division::new(plan, identity, (&weights, measured), shards)
}

/// Keeps the steps of one part; answers which plan it is a part of.
pub(in crate::pipeline) fn keep(
    inputs: &BuildInputs,
    plan: &mut BuildPlan,
    asked: &ShardRequest,
) -> Result<PlanIdentity> {
    let identity = identity(inputs, plan);
    let division = match &asked.division {
        Some(path) => read_division(path, plan, &identity)?,
        None => divided(inputs, plan, None, asked.shard.of()),
    };
    let steps = division.steps_of(asked.shard).ok_or_else(|| {
        let of = count(division.shards.len(), "part");
        Error::usage(format!("--shard {} asks for a part of another number than the division has: {of}", asked.shard))
    })?;
    let steps: BTreeSet<&str> = steps.iter().map(String::as_str).collect();
    plan.keep(&steps);
    Ok(identity)
}

/// Reads a division that `simpack plan` wrote; it must be one of this very plan, with each step once.
fn read_division(path: &Path, plan: &BuildPlan, own: &PlanIdentity) -> Result<Division> {
    const MAKE: &str = "`simpack plan --shards N --format json` prints one";
    let text = fs::read(path).map_err(|error| Error::file(path, "cannot be read").because(error).hint(MAKE))?;
    let wrong = |why: &str| Error::file(path, format!("is no division of a plan{why}")).hint(MAKE);
    let division: Division = serde_json::from_slice(&text).map_err(|error| wrong("").because(error))?;
    if division.schema != DIVISION_SCHEMA {
        return Err(wrong(&format!(" that this simpack reads: its version is {}", division.schema)));
    }
    let differences = own.differences(&division.plan);
    if !differences.is_empty() {
        let error = Error::stale(format!("{} divides another plan", path.display()));
        return Err(differences.into_iter().fold(error, Error::detail).hint(MAKE));
    }
    let given = division.shards.iter().flat_map(|part| part.steps.iter().map(|step| (part.shard, step.as_str())));
    each_once(plan, given).map_err(|why| wrong(&format!(": {why}")))?;
    Ok(division)
}

/// Whether each step of a plan is in one part and nothing else is in any; the answer says what is wrong.
pub(super) fn each_once<'a>(plan: &BuildPlan, given: impl Iterator<Item = (Shard, &'a str)>) -> Result<(), String> {
    let mut parts: BTreeMap<&str, Option<Shard>> = plan.steps.iter().map(|step| (step.id.as_str(), None)).collect();
    for (shard, id) in given {
        match parts.get_mut(id) {
            None => return Err(format!("shard {shard} has {id}, which the plan has not")),
            Some(Some(other)) => return Err(format!("{id} is in shard {other} and in shard {shard}")),
            Some(of) => *of = Some(shard),
        }
    }
    match parts.iter().find(|(_, of)| of.is_none()) {
        Some((id, _)) => Err(format!("{id} is in no shard")),
        None => Ok(()),
    }
}
