//! The ELF editor: changes of RUNPATH, SONAME, NEEDED and the interpreter, planned over bytes.
//!
//! [`plan`] computes what has to be written and writes nothing; [`PatchPlan::apply`] gives the new
//! bytes. All edits of one call are planned together. What is found in place is changed in place; only
//! when a string does not fit, or the dynamic section is full, the file grows by exactly one loaded
//! segment at its end, which later edits rewrite. The result depends on the wanted state, not on the
//! steps that led there: texts are laid out by one rule (`strings.rs`) in whatever room is free.

mod draft;
mod grow;
mod intent;
mod needs;
mod overlay;
mod pieces;
mod plan;
mod references;
mod strings;

pub use intent::{Edits, NeededEdit, PathTag, Place, SearchPathEdit, State};
pub use plan::{Change, PatchPlan, Write, plan};

#[cfg(test)]
mod properties;
#[cfg(test)]
mod small;
#[cfg(test)]
mod tests;
