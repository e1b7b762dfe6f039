//! The line of a build, from a request to packages in `dist/`: the place where the modules of floor 4 meet for the
//! verbs `build`, `plan` and `rebuild`.

mod dist;
mod finish;
mod given;
mod host_structures;
mod inputs;
mod job;
mod origin;
mod packages;
mod parts;
mod provenance;
mod request;
mod result;
mod run;
mod search_paths;
mod shards;
mod slices;
mod slurm;
mod summary;
mod tools;
mod vendors;

pub use request::{BuildRequest, CudaSource, LauncherKind, SandboxMode, ShardRequest, SlurmRequest};
pub use shards::ShardSummary;
pub use summary::{Row, Summary};

pub(crate) use dist::MARK;
pub(crate) use host_structures::host_tables;
pub(crate) use job::Job;
pub(crate) use packages::by_floors;
pub(crate) use parts::divided;
pub(crate) use result::BuildResult;
pub(crate) use run::build;
pub(crate) use shards::{build_shard, merge};
pub(crate) use slices::slice_for;
pub(crate) use slurm::run_task;
pub(crate) use summary::{LastWords, REPORT_WORDS};
pub(crate) use tools::must_hold_glibc;
