//! Search paths of shipped binaries: which directories may stand there, and writing them safely.
//!
//! Policy over [`crate::elf::edit`]: what the loader searches anyway never enters a file, because it
//! would come before the prefix's own libraries; what was written is read back by another reader and
//! compared before it counts.

mod driver;
mod file;
mod policy;
mod readback;
mod subject;

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::elf::edit::{Change, Edits, PathTag, SearchPathEdit};
use crate::error::Result;

pub use driver::{DriverUse, driver_use};
pub use file::{write_patched, write_patched_to};
pub use policy::{DEFAULT_DIRECTORIES, objection, origin_to, search_path};
pub use readback::read_back;
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

/// Gives the file at `path` the search path of `spec`.
///
/// # Errors
/// The file cannot be read, written or safely changed, or does not read back as intended; then it
/// still has its old content.
pub fn apply(path: &Path, spec: &PatchSpec) -> Result<PatchOutcome> {
    let directories = search_path(&spec.runpath);
    let edit = SearchPathEdit::Set { directories, tag: spec.tag };
    apply_edits(path, &Edits { search_path: Some(edit), ..Edits::default() })
}

/// Applies any edits to the file at `path`, all in one pass.
///
/// # Errors
/// As [`apply`].
pub fn apply_edits(path: &Path, edits: &Edits) -> Result<PatchOutcome> {
    let plan = Subject::open(path)?.plan(edits)?;
    let size_before = plan.length;
    if plan.is_empty() {
        return Ok(PatchOutcome { changes: Vec::new(), size_before, size_after: size_before });
    }
    write_patched(path, &plan)?;
    Ok(PatchOutcome { size_before, size_after: plan.new_length(), changes: plan.changes })
}

#[cfg(test)]
mod tests;
