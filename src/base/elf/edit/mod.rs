//! The ELF editor: changes of RUNPATH, SONAME, NEEDED and the interpreter, planned over bytes.
//!
//! [`plan`] computes what has to be written and writes nothing; [`PatchPlan::apply`] gives the new
//! bytes. All edits of one call are planned together. What fits in place is changed in place; only
//! when a string does not fit, or the dynamic section is full, the file grows by exactly one loaded
//! segment at its end, which later edits rewrite, and give back when everything fits in place again.
//! The result depends on the wanted state and on what no edit changes, not on the steps that led there:
//! texts are laid out by one rule (`strings.rs`), and the segment keeps where its pieces came from
//! (`tail.rs`). Versions of a removed library are not part of a state: adding it again brings none back.

mod cut;
mod draft;
mod growth;
mod intent;
mod layout;
mod moves;
mod needs;
mod overlay;
mod patch_plan;
mod pieces;
mod plan;
mod references;
mod source;
mod strings;
mod write;

pub use cut::{CutPlan, FreeRoom, ShrunkSection, cut};
pub use intent::{Edits, NeededEdit, PathTag, Place, SearchPathEdit, State};
pub use patch_plan::{Change, PatchPlan, Write};
pub use plan::plan;
pub use source::Source;

#[cfg(test)]
mod tests;
