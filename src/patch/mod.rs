//! Search paths of shipped binaries: which directories may stand there, and writing them safely.
//!
//! Policy over [`crate::elf::edit`]: what the loader searches anyway never enters a file, because it
//! would come before the prefix's own libraries; what was written is read back by another reader and
//! compared before it counts.

mod copy;
mod driver;
mod leftover;
mod lost;
mod policy;
mod readback;
mod replace;
mod subject;

use std::os::unix::fs::MetadataExt;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::elf::edit::{Change, Edits, PatchPlan, PathTag, SearchPathEdit, State};
use crate::elf::is_elf;
use crate::error::Result;
use crate::manifest::Drivers;

pub use driver::{DriverUse, driver_use};
pub use leftover::{TEMPORARY, sweep, sweep_dir};
pub use lost::{Lost, Machine};
pub use policy::{objection, origin_to, search_path};
pub use readback::read_back;
pub use replace::{Committed, Replacement, commit, prepare};
pub use subject::Subject;

/// The search path that a binary must have.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct PatchSpec {
    /// Directories in order: `$ORIGIN`-relative ones, then those of driver profiles. Directories
    /// that the loader searches by default and repeated ones are left out; none removes the entry.
    pub runpath: Vec<String>,
    /// Tag that holds them.
    pub tag: PathTag,
}

/// What happened to one file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PatchOutcome {
    /// What changed; nothing if the file was right already and was not touched.
    pub changes: Vec<Change>,
    /// Bytes of the file before.
    pub size_before: u64,
    /// Bytes of the file after.
    pub size_after: u64,
}

impl PatchOutcome {
    /// Whether the file was written.
    pub fn changed(&self) -> bool {
        !self.changes.is_empty()
    }
}

/// Gives the file at `path` the search path that `spec` says for its texts, where it is: nobody else knows it yet, as in a tree that is being
/// staged. A file with other names, which is somebody's, is replaced by a copy. Nothing for a file that no loader sees, which
/// stays as it is.
///
/// # Errors
/// The file cannot be read, written or safely changed, or does not read back as intended.
pub fn apply_if_loaded(
    path: &Path,
    spec: &dyn Fn(&State) -> PatchSpec,
    drivers: &Drivers,
) -> Result<Option<PatchOutcome>> {
    let subject = Subject::open_own(path)?;
    if !is_elf(subject.bytes()) {
        return Ok(None);
    }
    let source = subject.source()?;
    let edits = source.dynamic.is_some().then(|| edits(&spec(&source.state), drivers));
    drop(source);
    edits.map(|edits| own(&subject, &edits)).transpose()
}

/// Applies any edits in one pass to a file that simpack itself just wrote, where it is.
///
/// # Errors
/// As [`apply_if_loaded`].
pub fn apply_own(path: &Path, edits: &Edits) -> Result<PatchOutcome> {
    own(&Subject::open_own(path)?, edits)
}

fn own(subject: &Subject, edits: &Edits) -> Result<PatchOutcome> {
    match subject.data.nlink() > 1 {
        true => replaced(subject, edits),
        false => outcome(subject, edits, replace::in_place),
    }
}

fn edits(spec: &PatchSpec, drivers: &Drivers) -> Edits {
    let directories = search_path(&spec.runpath, drivers);
    Edits { search_path: Some(SearchPathEdit::Set { directories, tag: spec.tag }), ..Edits::default() }
}

/// Applies any edits to the file at `path`, all in one pass, by a copy that takes its place.
///
/// # Errors
/// As [`apply_if_loaded`]; then the file still has its old content.
pub fn apply_edits(path: &Path, edits: &Edits) -> Result<PatchOutcome> {
    replaced(&Subject::open(path)?, edits)
}

fn replaced(subject: &Subject, edits: &Edits) -> Result<PatchOutcome> {
    outcome(subject, edits, |subject, plan| {
        commit(vec![prepare(subject, subject.path(), plan)?]).results.into_iter().collect()
    })
}

fn outcome(
    subject: &Subject,
    edits: &Edits,
    write: impl Fn(&Subject, &PatchPlan) -> Result<()>,
) -> Result<PatchOutcome> {
    let plan = subject.plan(&subject.source()?, edits)?;
    let size_before = plan.length;
    if plan.is_empty() {
        return Ok(PatchOutcome { changes: Vec::new(), size_before, size_after: size_before });
    }
    write(subject, &plan)?;
    Ok(PatchOutcome { size_before, size_after: plan.new_length(), changes: plan.changes })
}

#[cfg(test)]
mod tests;
