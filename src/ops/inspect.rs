//! `simpack inspect`: one page about what is inside files, trees and packages.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Serialize;

use crate::error::{Error, INCOMPLETE, Result};
use crate::gpu::Look;
use crate::inspect::{Coverage, Inspected, look, page};
use crate::ui::Ui;

/// What to look into, and how closely.
#[derive(Debug, Clone, Default)]
pub struct InspectRequest {
    /// Files, directories, packages.
    pub paths: Vec<PathBuf>,
    /// Search all bytes for hidden containers.
    pub deep: bool,
    /// Read kernels, and keep those that match.
    pub kernels: Option<String>,
}

/// What `--json` prints.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Inspection<'a> {
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

/// Whether a name matches a pattern: as a glob, and without its signs as a part of the name.
fn wanted(pattern: &str) -> Result<impl Fn(&str) -> bool + use<>> {
    let has_signs = pattern.contains(['*', '?', '[', '{']);
    let text = if has_signs { pattern.to_owned() } else { format!("*{pattern}*") };
    let glob = globset::GlobBuilder::new(&text).literal_separator(false).build().map_err(|error| {
        Error::usage(format!("--kernels={pattern}: {}", error.kind()))
            .hint("write a part of the name, or a glob as '*gemm*'")
    })?;
    let matcher = glob.compile_matcher();
    Ok(move |name: &str| matcher.is_match(name))
}

/// Inspects; answers the exit code: 0 or [`INCOMPLETE`].
///
/// # Errors
/// A path does not exist or cannot be opened.
pub fn run(request: &InspectRequest, ui: &Ui) -> Result<u8> {
    let closely = Look { kernels: request.kernels.is_some(), deep: request.deep };
    let wanted = request.kernels.as_deref().filter(|pattern| *pattern != "*").map(wanted).transpose()?;
    let mut subjects = Vec::new();
    for path in &request.paths {
        let mut found = look(path, closely, ui).map_err(|error| match request.kernels.as_deref() {
            Some("*") if !path.exists() => error.hint("kernels are named behind `=`: --kernels=PATTERN"),
            _ => error,
        })?;
        if let Some(wanted) = &wanted {
            found.keep_kernels(wanted);
        }
        subjects.push(found);
    }
    let complete = subjects.iter().all(|subject| subject.unexamined.is_empty());
    let with_coverage = |inspected| Subject { inspected, coverage: Coverage::of(&inspected.files, closely) };
    let inspection = Inspection { schema: 1, subjects: subjects.iter().map(with_coverage).collect() };
    if !ui.json(&inspection)? {
        let pages: Vec<String> =
            inspection.subjects.iter().map(|subject| page(subject.inspected, &subject.coverage, closely)).collect();
        ui.say(pages.join("\n"));
    }
    Ok(if complete { 0 } else { INCOMPLETE })
}
