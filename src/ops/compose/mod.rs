//! `simpack compose`: one directory from several components or packages, for consumers that expect a single root.

mod merge;
mod run;

pub use merge::Conflict;
pub use run::{ComposeRequest, Composed, Part, run};
