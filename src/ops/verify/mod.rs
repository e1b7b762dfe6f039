//! `simpack verify`: looks into bundles and finished packages, and lists and explains the lints.

pub mod lints;
mod run;

pub use run::{VerifyRequest, run};
