//! `simpack verify`: looks into bundles and finished packages, and lists and explains the lints.

pub mod lints;
mod origin;
mod run;

pub use origin::{OriginReport, OriginRequest, origin};
pub use run::{VerifyRequest, run};
