//! Runs a plan on this machine: steps in parallel, artifacts from the cache where they are there,
//! and the staging of what came out into bundles.

mod cache;
mod engine;
mod headers;
mod host;
mod isolation;
mod kernel;
mod stage;
mod toolset;
mod undeclared;

pub use cache::{Cache, CacheEntry};
pub use engine::{BuildOptions, BuildOutcome, StepReport, remove_leftovers, run};
pub use headers::HeaderStore;
pub use isolation::{SandboxMode, StepIsolation};
pub use stage::{StageInputs, Staged, seal, stage};
pub use toolset::Toolset;
