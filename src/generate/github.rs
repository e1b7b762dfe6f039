//! A workflow of GitHub: one job builds the recipe for all CUDA releases of its matrix and looks into every package again.
//! A job for each release would build the host part once more, and packages of two builds do not make one channel.

use serde::Serialize;

use super::{FileSet, Model, Revision, Templates};
use crate::error::{Error, Result};

#[derive(Serialize)]
struct Values<'a> {
    model: &'a Model,
    simpack: &'a Revision,
    title: String,
}

/// The workflow.
pub(super) fn files(model: &Model, templates: &Templates) -> Result<FileSet> {
    let simpack = model.simpack.as_ref().ok_or_else(|| {
        Error::usage("a workflow installs simpack, and no commit of its repository is set")
            .hint("name one by the setting `install-from` (SIMPACK_INSTALL_FROM): https://HOST/PATH#COMMIT")
    })?;
    let values = Values { model, simpack, title: format!("{} packages", model.name) };
    let mut files = FileSet::default();
    files.add(format!("{}.yml", model.name), templates.fill("github/workflow.yml", &values)?);
    Ok(files)
}
