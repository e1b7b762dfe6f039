//! A workflow of GitHub: the plan of the recipe for all CUDA releases of its matrix is divided among machines, whose parts
//! one job merges and looks into again. A job for each release would build the host part once more, and packages of two
//! builds do not make one channel.

use serde::Serialize;

use crate::error::{Error, Result};
use crate::generate::{FileSet, Model, Revision, Templates};
use crate::plan::{DividedShard, Division};

/// The matrix of a job with an entry for each part of a plan: one line, as a job's output takes it.
///
/// # Errors
/// It does not print as JSON: a bug.
pub fn matrix(division: &Division) -> Result<String> {
    #[derive(Serialize)]
    struct Entry {
        shard: String,
        name: String,
        steps: usize,
        seconds: f64,
    }
    #[derive(Serialize)]
    struct Matrix {
        include: Vec<Entry>,
    }
    let entry = |part: &DividedShard| Entry {
        shard: part.shard.to_string(),
        name: part.shard.word(),
        steps: part.steps.len(),
        seconds: part.seconds,
    };
    let matrix = Matrix { include: division.shards.iter().map(entry).collect() };
    serde_json::to_string(&matrix).map_err(|error| Error::bug("a matrix does not print as JSON").because(error))
}

#[derive(Serialize)]
struct Values<'a> {
    model: &'a Model,
    simpack: &'a Revision,
    title: String,
}

/// The workflow.
pub(in crate::generate) fn files(model: &Model, templates: &Templates) -> Result<FileSet> {
    let simpack = model.simpack.as_ref().ok_or_else(|| {
        Error::usage("a workflow installs simpack, and no commit of its repository is set")
            .hint("name one by the setting `install-from` (SIMPACK_INSTALL_FROM): https://HOST/PATH#COMMIT")
    })?;
    let values = Values { model, simpack, title: format!("{} packages", model.name) };
    let mut files = FileSet::default();
    files.add(format!("{}.yml", model.name), templates.fill("github/workflow.yml", &values)?);
    Ok(files)
}
