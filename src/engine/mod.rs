//! Runs a plan: steps in parallel, artifacts from the cache where they are there, and the staging of what came out
//! into bundles.
//!
//! `scheduler` decides over numbers, an `executor` starts and collects calls, `local` is the one of this machine, and
//! `run` ties them to plan, cache and user; `portable` carries what steps made between machines; `trees` are the directories
//! in which host steps go on where earlier builds stopped.

mod cache;
mod executor;
mod expected;
mod history;
mod local;
mod memory;
mod options;
mod portable;
mod run;
mod scheduler;
#[cfg(test)]
mod simulated_tests;
mod slots;
mod stage;
mod step;
mod test;
mod tokens;
mod trees;

pub use cache::{
    Bounds, Cache, CacheEntry, CachePlace, CacheSettings, CacheStat, CacheVerdict, DEFAULT_LIMIT, Damaged, KindStat,
    Made, StepKind, Trimmed, entries, trim_headers, user_headers,
};
pub(crate) use cache::{build_headers, finish_cache, look_into_cache, object_store, open_cache};
pub use expected::{Expectation, expectations, weights};
pub use history::{Accuracy, remember};
pub use options::BuildOptions;
pub use portable::{Amount, SHARD_FILE, ShardList};
pub use run::{BuildOutcome, StepReport, missing, run};
pub use stage::{Claims, FatFile, PendingList, StageInputs, Staged, recipe_digest, seal, stage, steps_of_bundle};
pub use step::headers::HeaderStore;
pub use step::nvcc::{same_file_names, same_source_path};
pub use step::sandbox::isolation::{SandboxMode, StepIsolation};
pub use step::sandbox::launcher::{LauncherUse, try_launcher};
pub use step::sandbox::toolset::{CudaCompiler, Toolset};
pub use step::structures::STRUCTURES_FILE;
pub(crate) use step::told;
pub use step::{remove_leftovers, scratch};
pub use test::{TestPlaces, run_tests};
pub(crate) use trees::made_incrementally;
pub use trees::{TreeStat, trees_limit};
