//! `simpack generate`: recipes for other package managers and build systems, written or compared.

mod built;
mod generated;
mod modules;
mod place;
mod run;
mod sources;
mod table;

pub use built::Standing;
pub use run::{GenerateRequest, Generated, GeneratedFile, generate};
pub use table::{TableRequest, table};
