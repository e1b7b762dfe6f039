//! `simpack slice`: per-capability files out of a fat one, without recompiling.

mod file;
mod label;
mod package;
mod report;
mod request;
mod run;

pub use report::{Outcome, SliceReport};
pub use request::SliceRequest;
pub use run::run;
