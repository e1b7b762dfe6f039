//! `simpack resolve`: which files a loader would take, and why, without running anything.

mod assumed;
mod declared;
mod drawing;
mod lints;
mod machine;
mod report;
mod request;
mod run;

pub use crate::probe::this_cpu;
pub(crate) use report::Answers;
pub use request::ResolveRequest;
pub use run::run;
