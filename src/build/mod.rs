//! Runs a plan on this machine: steps in parallel, artifacts from the cache where they are there,
//! and the staging of what came out into bundles.

mod cache;
mod engine;
mod host;
mod kernel;
mod nvcc;
mod stage;
mod toolset;

pub use cache::{Cache, CacheEntry};
pub use engine::{BuildOptions, BuildOutcome, StepReport, remove_leftovers, run};
pub use nvcc::{same_file_names, same_source_path};
pub use stage::{StageInputs, Staged, recipe_digest, seal, stage};
pub use toolset::Toolset;
