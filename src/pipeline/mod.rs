//! The line of a build, from a request to packages in `dist/`: the place where the modules of floor 4 meet for the
//! verbs `build`, `plan` and `rebuild`.

mod finish;
mod given;
mod host_structures;
mod inputs;
mod job;
mod machines;
mod origin;
mod output;
mod request;
mod result;
mod run;
mod search_paths;
mod slices;
mod summary;
mod tools;

pub use machines::cluster::kind::ClusterKind;
pub use machines::shards::ShardSummary;
pub use request::{BuildRequest, ClusterRequest, CudaSource, LauncherKind, SandboxMode, ShardRequest};
pub use summary::{Row, Summary};

pub(crate) use host_structures::host_tables;
pub(crate) use job::Job;
pub(crate) use machines::cluster::run_task;
pub(crate) use machines::parts::divided;
pub(crate) use machines::shards::{build_shard, merge};
pub(crate) use output::dist::MARK;
pub(crate) use output::packages::by_floors;
pub(crate) use result::BuildResult;
pub(crate) use run::build;
pub(crate) use slices::slice_for;
pub(crate) use summary::{LastWords, REPORT_WORDS};
pub(crate) use tools::must_hold_glibc;
