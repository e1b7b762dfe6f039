//! A workflow of GitHub: one job a CUDA release builds the plan's matrix and looks into every package again.

use serde::Serialize;

use super::{FileSet, Model, Release, Templates};
use crate::arch::KernelTarget;
use crate::error::Result;

/// One job.
#[derive(Serialize)]
struct Entry {
    cuda: String,
    /// Capabilities, with commas.
    capabilities: String,
    /// The same of PTX; `none` without any.
    ptx: String,
}

#[derive(Serialize)]
struct Values<'a> {
    model: &'a Model,
    entries: Vec<Entry>,
    title: String,
}

/// The workflow.
pub(super) fn files(model: &Model, templates: &Templates) -> Result<FileSet> {
    let entries: Vec<Entry> = model.releases.iter().map(entry).collect();
    let values = Values { model, entries, title: format!("{} packages", model.name) };
    let mut files = FileSet::default();
    files.add(format!("{}.yml", model.name), templates.fill("github/workflow.yml", &values)?);
    Ok(files)
}

fn entry(release: &Release) -> Entry {
    let join = |ptx: bool| {
        let wanted = release.targets.iter().filter(|target| matches!(target, KernelTarget::Ptx(_)) == ptx);
        wanted.filter_map(|target| Some(target.capability()?.to_string())).collect::<Vec<_>>().join(",")
    };
    let ptx = join(true);
    Entry {
        cuda: release.cuda.to_string(),
        capabilities: join(false),
        ptx: if ptx.is_empty() { "none".to_owned() } else { ptx },
    }
}
