//! `simpack inspect`: one page about what is inside files, trees and packages.
//!
//! [`collect`] finds files on disk, [`archive`] those inside packages; [`examine`] turns the bytes of one into
//! [`facts`]; [`coverage`] makes the matrix of them, [`page`] the words.

mod archive;
mod collect;
mod coverage;
mod examine;
mod facts;
mod package;
mod page;

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Serialize;

use crate::error::Result;
use crate::gpu::Look;
use crate::ui::Ui;
use coverage::Coverage;
pub use facts::Inspected;

/// Exit code of an inspection that could not see everything.
pub const INCOMPLETE: u8 = 7;

/// What to look into, and how closely.
#[derive(Debug, Clone, Default)]
pub struct InspectRequest {
    /// Files, directories, packages.
    pub paths: Vec<PathBuf>,
    /// Search all bytes for hidden containers.
    pub deep: bool,
    /// Read kernels.
    pub kernels: bool,
}

/// What `--json` prints.
#[derive(Serialize, JsonSchema)]
pub(super) struct Inspection<'a> {
    /// Always 1.
    schema: u32,
    /// What was looked at, in the order of the call.
    subjects: Vec<Subject<'a>>,
}

#[derive(Serialize, JsonSchema)]
struct Subject<'a> {
    #[serde(flatten)]
    inspected: &'a Inspected,
    coverage: Coverage,
}

/// What a path holds, without printing it.
///
/// # Errors
/// The path does not exist or cannot be opened.
pub fn look(path: &Path, look: Look, ui: &Ui) -> Result<Inspected> {
    collect::inspect(path, look, ui)
}

/// What the package or archive called `name` holds, by its bytes; `None` for a file that is none.
pub fn package(name: &str, bytes: &[u8], look: Look) -> Option<Inspected> {
    archive::form(name).map(|form| archive::archive(name, "", form, bytes, look))
}

/// Inspects; answers the exit code: 0 or [`INCOMPLETE`].
///
/// # Errors
/// A path does not exist or cannot be opened.
pub fn run(request: &InspectRequest, ui: &Ui) -> Result<u8> {
    let look = Look { kernels: request.kernels, deep: request.deep };
    let mut subjects = Vec::new();
    for path in &request.paths {
        subjects.push(collect::inspect(path, look, ui)?);
    }
    let complete = subjects.iter().all(|subject| subject.unexamined.is_empty());
    let with_coverage = |inspected| Subject { inspected, coverage: Coverage::of(&inspected.files, look) };
    let inspection = Inspection { schema: 1, subjects: subjects.iter().map(with_coverage).collect() };
    if !ui.json(&inspection)? {
        let pages: Vec<String> =
            inspection.subjects.iter().map(|subject| page::page(subject.inspected, &subject.coverage, look)).collect();
        ui.say(pages.join("\n"));
    }
    Ok(if complete { 0 } else { INCOMPLETE })
}
