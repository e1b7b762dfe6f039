//! `simpack slice`: per-capability files out of a fat one, without recompiling.

mod report;
mod run;
mod wheel;

pub use report::{Outcome, SliceReport};
pub use run::{SliceRequest, run};
