//! What of a statement can be checked, against the files beside it and what packages say of themselves.

use std::collections::BTreeMap;
use std::path::Path;

use super::statement::{BuiltPart, PROVENANCE, Resource, Statement, subjects};
use crate::bundle::{BundleManifest, ToolVersion};
use crate::error::{Error, Result};
use crate::fs::{self, Digest, DigestBuilder};

/// The largest statement that is read, in bytes.
const LARGEST: usize = 64 << 20;

/// What became of one part of a statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checked {
    /// What is stated.
    pub what: &'static str,
    /// How it compares.
    pub outcome: Outcome,
}

/// How a part of a statement compares with what is here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// It holds; what it was compared with.
    Holds(String),
    /// It does not; line by line.
    Wrong(Vec<String>),
    /// It cannot be checked here, and what could.
    Open(String),
}

/// Compares the statement in `dist` with the files there and with the manifests of its packages. `source` are the
/// digests of the recipe by CUDA release and of its source, where somebody named the recipe.
///
/// # Errors
/// There is no statement, or it is none that simpack reads.
pub fn check(
    dist: &Path,
    manifests: &[BundleManifest],
    isolation: Option<&str>,
    source: Option<&(Vec<Digest>, Digest)>,
) -> Result<Vec<Checked>> {
    let statement = read(dist)?;
    let definition = statement.definition();
    let mut checked = vec![
        part("files", files(&statement, dist)?, format!("{} by their digests", statement.subject.len())),
        part(
            "steps",
            steps(&statement, manifests),
            "each package's plan is the digest over the keys of its steps".to_owned(),
        ),
        part("tools", tools(&statement, manifests), "those that packages name, with their digests".to_owned()),
        part("recipe", recipe(&statement, manifests), "the digest that packages name".to_owned()),
    ];
    let stated = definition.internal_parameters.isolation.to_string();
    let weakest = definition.internal_parameters.steps.iter().map(|step| step.isolation).min().unwrap_or_default();
    let mut wrong = Vec::new();
    if weakest != definition.internal_parameters.isolation {
        wrong.push(format!("{stated} is stated, but a step was isolated by {weakest}"));
    }
    wrong.extend(
        isolation.filter(|other| **other != stated).map(|other| format!("{stated}, but build.json says {other}")),
    );
    checked.push(part(
        "isolation",
        wrong,
        format!("{stated}, as build.json says; how it was done is the builder's word"),
    ));
    checked.push(of_source(&statement, source));
    let dirty = definition.resolved_dependencies.first().and_then(|source| source.annotations.get("dirty"));
    let dirty = match dirty.and_then(serde_json::Value::as_bool) {
        Some(true) => "the source differed from its commit: the commit alone does not give these packages",
        Some(false) => "the source was that of its commit, says the builder; `git diff` there can tell",
        None => "the source was in no version control",
    };
    checked.push(Checked { what: "commit", outcome: Outcome::Open(dirty.to_owned()) });
    let incremental = definition.internal_parameters.steps.iter().filter(|step| step.incremental);
    let incremental: Vec<&str> = incremental.map(|step| step.id.as_str()).collect();
    if !incremental.is_empty() {
        let steps = incremental.join(", ");
        let open =
            format!("{steps}: built incrementally; whether a clean build gives the same, `simpack build --clean` says");
        checked.push(Checked { what: "clean", outcome: Outcome::Open(open) });
    }
    let bytes = "whether the steps give these bytes: `simpack rebuild` makes them again";
    checked.push(Checked { what: "bytes", outcome: Outcome::Open(bytes.to_owned()) });
    let builder = "who built: a signature says so, --signature KEY or --identity WHO";
    checked.push(Checked { what: "builder", outcome: Outcome::Open(builder.to_owned()) });
    Ok(checked)
}

fn part(what: &'static str, wrong: Vec<String>, holds: String) -> Checked {
    let outcome = if wrong.is_empty() { Outcome::Holds(holds) } else { Outcome::Wrong(wrong) };
    Checked { what, outcome }
}

fn read(dist: &Path) -> Result<Statement> {
    let path = dist.join(PROVENANCE);
    if !path.is_file() {
        return Err(Error::usage(format!("there is no {}", path.display()))
            .hint("name the directory that `simpack build` wrote: the statement lies in it"));
    }
    let bytes = fs::read(&path)?;
    let damaged = |why: String| Error::incomplete(path.display().to_string(), why);
    if bytes.len() > LARGEST {
        return Err(damaged(format!("has more than {LARGEST} bytes")));
    }
    let statement: Statement = serde_json::from_slice(&bytes).map_err(|error| damaged(error.to_string()))?;
    match statement.is_known() {
        true => Ok(statement),
        false => Err(damaged("is a statement of another kind than simpack's".to_owned())),
    }
}

/// Files that are not what is stated, are missing, or were added.
fn files(statement: &Statement, dist: &Path) -> Result<Vec<String>> {
    let found = subjects(dist)?;
    let mut stated = BTreeMap::new();
    let mut wrong = Vec::new();
    for Resource { name, digest, .. } in &statement.subject {
        let name = name.clone().unwrap_or_default();
        if stated.insert(name.clone(), digest.get("sha256").cloned()).is_some() {
            wrong.push(format!("{name} is stated twice"));
        }
    }
    for (name, digest) in &stated {
        match found.get(name) {
            None => wrong.push(format!("{name} is not there")),
            Some(other) if Some(other.to_string()) != *digest => wrong.push(format!("{name} has other bytes: {other}")),
            Some(_) => {}
        }
    }
    wrong.extend(found.keys().filter(|name| !stated.contains_key(*name)).map(|name| format!("{name} is not stated")));
    wrong.sort();
    Ok(wrong)
}

/// Packages whose plan is not the digest over the keys that are stated, or that are not stated.
fn steps(statement: &Statement, manifests: &[BundleManifest]) -> Vec<String> {
    let internal = &statement.definition().internal_parameters;
    let plan = |part: &BuiltPart| {
        let keys = part.steps.iter().map(|step| internal.steps.get(*step).map(|step| step.key));
        let keys = keys.collect::<Option<Vec<Digest>>>()?;
        Some(keys.iter().fold(DigestBuilder::default(), |digest, key| digest.field(key.as_bytes())).finish())
    };
    let mut wrong = Vec::new();
    for part in &internal.packages {
        if plan(part) != Some(part.plan) {
            wrong.push(format!("{}: its plan is not the digest over the keys of its steps", part.package));
        }
    }
    for manifest in manifests.iter().filter(|manifest| !manifest.artifacts.is_empty()) {
        // Formats without build strings give packages longer names, and variants share one: the plan tells them.
        let (name, plan) = (&manifest.package, manifest.provenance.plan);
        if !internal.packages.iter().any(|part| (part.plan, part.cuda) == (plan, manifest.cuda)) {
            wrong.push(match internal.packages.iter().any(|part| part.package == *name) {
                true => format!("{name} names another plan, {plan}"),
                false => format!("{name} is not stated"),
            });
        }
    }
    wrong
}

/// Tools that packages name and the statement does not.
fn tools(statement: &Statement, manifests: &[BundleManifest]) -> Vec<String> {
    let stated = &statement.definition().resolved_dependencies;
    let is_stated = |name: &str, tool: &ToolVersion| {
        stated.iter().any(|resource| {
            let version = resource.annotations.get("version").and_then(serde_json::Value::as_str);
            resource.name.as_deref() == Some(name) && version == Some(&tool.version) && resource.sha256() == tool.sha256
        })
    };
    let mut wrong = Vec::new();
    for manifest in manifests {
        for (name, tool) in manifest.provenance.tools.iter().filter(|(name, tool)| !is_stated(name, tool)) {
            wrong.push(format!("{} was made by {name} {}, which is not stated", manifest.package, tool.version));
        }
    }
    wrong.sort();
    wrong.dedup();
    wrong
}

/// Packages with files that name another recipe, or another time.
fn recipe(statement: &Statement, manifests: &[BundleManifest]) -> Vec<String> {
    let stated = &statement.definition().external_parameters;
    let mut wrong = Vec::new();
    for manifest in manifests.iter().filter(|manifest| !manifest.artifacts.is_empty()) {
        if !stated.recipes.values().any(|digest| *digest == manifest.provenance.recipe) {
            wrong.push(format!("{} names another recipe, {}", manifest.package, manifest.provenance.recipe));
        }
        if manifest.provenance.source_date_epoch != stated.source_date_epoch {
            wrong.push(format!("{} has another time than is stated", manifest.package));
        }
        let said = (manifest.simulator.as_str(), manifest.version.to_string());
        if said != (stated.simulator.as_str(), stated.version.clone()) {
            wrong.push(format!("{} is of {} {}", manifest.package, said.0, said.1));
        }
    }
    wrong
}

fn of_source(statement: &Statement, source: Option<&(Vec<Digest>, Digest)>) -> Checked {
    let definition = statement.definition();
    let stated = definition.resolved_dependencies.first().and_then(Resource::sha256);
    let Some((recipes, source)) = source else {
        let open = "recipe and source here: --recipe RECIPE compares them";
        return Checked { what: "source", outcome: Outcome::Open(open.to_owned()) };
    };
    let mut wrong = Vec::new();
    for (cuda, digest) in &definition.external_parameters.recipes {
        if !recipes.contains(digest) {
            wrong.push(format!("the recipe here is another one for CUDA {cuda}"));
        }
    }
    if stated != Some(*source) {
        wrong.push("files of the source here differ from those that were built".to_owned());
    }
    part("source", wrong, "recipe and source here are those that were built".to_owned())
}
