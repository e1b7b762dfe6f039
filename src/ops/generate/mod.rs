//! `simpack generate`: recipes for other package managers and build systems, written or compared.

mod built;
mod generated;
mod run;

pub use built::Standing;
pub use run::{GenerateRequest, Generated, GeneratedFile, generate};
