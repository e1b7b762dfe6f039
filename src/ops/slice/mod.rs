//! `simpack slice`: per-capability files out of a fat one, without recompiling.

mod label;
mod package;
mod report;
mod run;

pub use report::{Outcome, SliceReport};
pub use run::{SliceRequest, run};
