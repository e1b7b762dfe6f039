//! What is stated beside the packages of a build: where they come from, and by whose key.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::attest::{BuiltPart, Origin, PROVENANCE, SigningKey, StepRecord, statement, subjects};
use crate::bundle::Bundle;
use crate::engine::{self, BuildOutcome};
use crate::error::Result;
use crate::fs;
use crate::pipeline::job::Job;
use crate::pipeline::request::BuildRequest;
use crate::plan::Step;
use crate::process::check_interrupted;
use crate::project::source_digest;
use crate::recipe::Source;
use crate::toolchain::{Commit, commit_of, without_login};
use crate::verify::is_package;

/// The key that packages are signed with, if one was asked for: it is read before anything is built.
pub(in crate::pipeline) fn signing_key(request: &BuildRequest) -> Result<Option<SigningKey>> {
    let read = |key: &PathBuf| SigningKey::read(key, request.sign_password.as_deref());
    request.sign.as_ref().map(read).transpose()
}

/// Writes the statement into `dist`, then signatures of every package file and of the statement.
pub(in crate::pipeline) fn attest(origin: &Origin, key: Option<&SigningKey>, dist: &Path) -> Result<()> {
    let stated = statement(origin, dist)?;
    fs::write_atomic(&dist.join(PROVENANCE), &stated.bytes()?)?;
    let Some(key) = key else { return Ok(()) };
    let packages = subjects(dist)?.into_keys().filter(|name| is_package(Path::new(name)));
    for name in packages.chain([PROVENANCE.to_owned()]) {
        check_interrupted()?;
        key.sign(&dist.join(&name), &name)?;
    }
    Ok(())
}

/// What is known of where the packages of a build come from.
pub(in crate::pipeline) fn origin_of(job: &Job, bundles: &[Bundle], outcome: &BuildOutcome) -> Origin {
    let (inputs, plan) = (&job.inputs, &job.plan);
    let recipe = inputs.recipes.own();
    let step = |step: &Step| StepRecord {
        id: step.id.clone(),
        key: step.key,
        isolation: outcome.entries.get(&step.id).map(|entry| entry.made.isolation).unwrap_or_default(),
        incremental: outcome.entries.get(&step.id).is_some_and(|entry| entry.made.incremental),
    };
    let places: BTreeMap<&str, usize> =
        plan.steps.iter().enumerate().map(|(at, step)| (step.id.as_str(), at)).collect();
    let part = |bundle: &Bundle| {
        let manifest = &bundle.manifest;
        let planned = plan.bundles.iter().find(|planned| {
            (&planned.package, planned.cuda, &planned.host, planned.target)
                == (&manifest.package, manifest.cuda, &manifest.host, manifest.target)
        })?;
        let steps = engine::steps_of_bundle(plan, &inputs.recipes, planned);
        Some(BuiltPart {
            package: manifest.package.clone(),
            cuda: manifest.cuda,
            plan: manifest.provenance.plan,
            steps: steps.iter().filter_map(|step| places.get(step.id.as_str()).copied()).collect(),
        })
    };
    let (sources, left_out) = (&inputs.plan_inputs.sources, &inputs.plan_inputs.left_out);
    let counts = |path: &str| sources.contains_key(path) && !left_out.contains(path);
    let (source, state) = match without_login(&recipe.source) {
        Source::Path(_) => ("urn:simpack:source:beside-the-recipe".to_owned(), commit_of(&inputs.source, &counts)),
        Source::Git { url, rev } => (format!("git+{url}@{rev}"), Some(Commit::clean(&rev))),
        Source::Url { url, .. } => (url, None),
        Source::Pypi { name, version, .. } => (format!("pkg:pypi/{name}@{version}"), None),
        Source::Composed(_) => ("urn:simpack:source:composed".to_owned(), None),
    };
    Origin {
        simulator: recipe.name.clone(),
        version: recipe.version.to_string(),
        recipes: inputs.recipes.iter().map(|recipe| (recipe.cuda, engine::recipe_digest(recipe))).collect(),
        source_date_epoch: inputs.epoch,
        source,
        source_digest: source_digest(sources, left_out),
        state,
        tools: inputs.plan_inputs.tools.clone(),
        steps: plan.steps.iter().map(step).collect(),
        parts: bundles.iter().filter_map(part).collect(),
    }
}
