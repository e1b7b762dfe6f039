//! Runs a plan: steps in parallel, artifacts from the cache where they are there, and the staging of what came out
//! into bundles.
//!
//! `scheduler` decides over numbers, an `executor` starts and collects calls, `local` is the one of this machine, and
//! `run` ties them to plan, cache and user.

mod cache;
mod diagnose;
mod executor;
mod expected;
mod headers;
mod history;
mod host;
mod isolation;
mod kernel;
mod local;
mod memory;
mod nvcc;
mod run;
mod scheduler;
mod shared;
#[cfg(test)]
mod simulated_tests;
mod slots;
mod stage;
mod step;
mod tokens;
mod toolset;
mod undeclared;

pub use cache::{
    Bounds, Cache, CacheEntry, CachePlace, CacheSettings, CacheStat, CacheVerdict, DEFAULT_LIMIT, Damaged, KindStat,
    Made, StepKind, Trimmed, entries, trim_headers, user_headers,
};
pub(crate) use cache::{build_headers, finish_cache, look_into_cache, open_cache};
pub use headers::HeaderStore;
pub use isolation::{SandboxMode, StepIsolation};
pub use nvcc::{same_file_names, same_source_path};
pub use run::{BuildOptions, BuildOutcome, StepReport, run};
pub use stage::{Claims, FatFile, StageInputs, Staged, recipe_digest, seal, stage};
pub use step::remove_leftovers;
pub use toolset::Toolset;
