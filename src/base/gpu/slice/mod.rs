//! Slicing: which device code of a finished file stays, and the file without the rest, as a plan.
//!
//! Nothing is recompiled and nothing outside the device code changes its address. [`plan`] computes
//! the whole job over bytes and writes nothing; [`SlicePlan::apply`] gives the new bytes, and callers
//! with large files carry out the parts of the plan themselves.

mod archive;
mod container;
mod file;
mod hidden;
mod linked;
mod make;
mod names;
mod object;
mod pick;
mod plan;
mod pointers;
mod survey;

#[cfg(test)]
mod tests;

pub use make::{holds, plan};
pub use pick::{LtoRule, PtxRule, SliceSpec};
pub use plan::{ContainerSlice, FreedSpace, Loss, Part, SliceError, SlicePlan, TargetBytes};
