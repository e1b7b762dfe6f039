//! Slices files one after another; every slice is whole or not there.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::package;
use super::report::{FileReport, Outcome, SliceReport};
use crate::arch::Capability;
use crate::data::Data;
use crate::error::{Error, ErrorKind, Result};
use crate::fs::Content;
use crate::gpu::slice::{FreedSpace, PtxRule, SliceError, SliceSpec, plan};
use crate::manifest::Manifests;
use crate::ui::Ui;

/// What is asked of the verb.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SliceRequest {
    /// Files, packages and directories to slice.
    pub files: Vec<PathBuf>,
    /// What stays.
    pub ask: SliceSpec,
    /// One slice for each capability.
    pub per_capability: bool,
    /// Directory of the slices.
    pub output: PathBuf,
    /// What becomes of the room.
    pub room: FreedSpace,
    /// Write slices in which kernels have no code.
    pub allow_missing: bool,
    /// What permits to pass on a slice of a vendor's library.
    pub permission: Option<String>,
    /// Write nothing.
    pub dry_run: bool,
}

/// Says what a slice will hold, lose and weigh, before it is written.
pub(super) type Announce<'a> = dyn Fn(&FileReport) + 'a;

/// Slices; answers the exit code: 1 when a slice was refused because kernels would lose their code, 6
/// when a file failed; the others are done.
///
/// # Errors
/// The request asks for something impossible.
pub fn run(request: &SliceRequest, ui: &Ui) -> Result<u8> {
    let manifests = Manifests::load(&Data::here())?;
    check(request, &manifests)?;
    let mut files = Vec::new();
    let bar = ui.steps("slice", request.files.len() as u64);
    let announce = |report: &FileReport| ui.say(report.plan_text());
    for path in &request.files {
        bar.set_message(path.display().to_string());
        match package::is_package(path) {
            true => files.extend(package::slice(path, request, &manifests, &announce)),
            false => files.extend(one(path, request, &manifests, &announce)),
        }
        bar.inc(1);
    }
    bar.finish_and_clear();
    let report = SliceReport::new(files);
    if !ui.json(&report)? {
        ui.say(report.text());
        report.errors().for_each(|error| ui.error(error));
    }
    Ok(report.exit_code())
}

fn check(request: &SliceRequest, manifests: &Manifests) -> Result<()> {
    for capability in &request.ask.capabilities {
        if manifests.capabilities.get(capability.plain()).is_none() {
            return Err(Error::usage(format!("unknown capability `{capability}`"))
                .hint("`simpack check` lists those of a CUDA release, such as 8.6, 9.0 and 12.0"));
        }
    }
    let mut names = BTreeSet::new();
    for path in &request.files {
        let name = path.file_name().ok_or_else(|| Error::usage(format!("{} is not a file", path.display())))?;
        if !names.insert(name) {
            return Err(Error::usage(format!("two files of the name {}", name.to_string_lossy()))
                .hint("slice them into different directories by `--output`"));
        }
    }
    Ok(())
}

impl SliceRequest {
    /// One ask for each slice.
    pub(super) fn asks(&self) -> Vec<SliceSpec> {
        if !self.per_capability {
            return vec![self.ask.clone()];
        }
        let alone = |capability: &Capability| SliceSpec { capabilities: vec![*capability], ..self.ask.clone() };
        self.ask.capabilities.iter().map(alone).collect()
    }

    /// Where the slices for an ask go.
    pub(super) fn directory(&self, ask: &SliceSpec) -> PathBuf {
        match ask.capabilities.as_slice() {
            [capability] if self.per_capability => {
                let target = if ask.ptx == PtxRule::Only { capability.compute() } else { capability.sm() };
                self.output.join(target)
            }
            _ => self.output.clone(),
        }
    }
}

/// All slices of one file.
fn one(path: &Path, request: &SliceRequest, manifests: &Manifests, announce: &Announce<'_>) -> Vec<FileReport> {
    let slice = |ask: SliceSpec| {
        let output = request.directory(&ask).join(path.file_name().unwrap_or_default());
        let mut report = FileReport::new(path, &output, &ask);
        match (FileJob { path, output: &output, ask: &ask }).run(request, manifests, announce, &mut report) {
            Ok(outcome) => report.outcome = outcome,
            Err(error) => report.fail(error),
        }
        report
    };
    request.asks().into_iter().map(slice).collect()
}

/// One slice of one file.
struct FileJob<'a> {
    path: &'a Path,
    output: &'a Path,
    ask: &'a SliceSpec,
}

impl FileJob<'_> {
    fn run(
        &self,
        request: &SliceRequest,
        manifests: &Manifests,
        announce: &Announce<'_>,
        report: &mut FileReport,
    ) -> Result<Outcome> {
        let Self { path, output, ask, .. } = *self;
        if let (Ok(from), Ok(to)) = (fs_err::canonicalize(path), fs_err::canonicalize(output))
            && from == to
        {
            let message = format!("{}: the slice would replace the original", path.display());
            return Err(Error::new(ErrorKind::Usage, message).hint("name another directory by `--output`"));
        }
        let content = Content::open(path)?;
        let plan = plan(content.bytes(), ask, request.room, manifests).map_err(|error| named(error, path))?;
        report.plan(&plan);
        announce(report);
        if (plan.loses() || plan.leaves_out(&BTreeSet::new())) && !request.allow_missing {
            return Ok(Outcome::Refused);
        }
        if request.dry_run {
            return Ok(Outcome::WouldWrite);
        }
        crate::slice::write_slice(path, output, &plan, request.room, ask, manifests)?;
        Ok(Outcome::Written)
    }
}

/// simpack's error about the file.
pub(super) fn named(error: SliceError, path: &Path) -> Error {
    match error {
        SliceError::Elf(error) => error.at(path),
        SliceError::Code(error) => error.at(path),
        SliceError::Nothing => Error::file(path, SliceError::Nothing)
            .hint("`--deep` also looks into ordinary data, where some vendor libraries keep theirs"),
    }
}
