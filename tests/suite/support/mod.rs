//! What the tests stand on: the program, one shared build of volley, real tools, and honest skipping.

mod archive;
mod clock;
mod cluster;
pub mod cuobjdump;
mod gridengine;
mod program;
mod python;
pub mod s3;
mod skip;
mod slurm;
mod tiny;
mod tool;
pub mod transfers;
mod tree;
mod volley;

pub use archive::{conda_index, package_file, unpack};
pub use clock::{clock_can_be_set, set_clock};
pub use cluster::Cluster;
pub use gridengine::GridEngine;
pub use program::{Ran, program, scratch, simpack, simpack_with};
pub use python::{client, python};
pub use skip::{set_up, skip};
pub use slurm::Slurm;
pub use tiny::{Mount, Tiny};
pub use tool::{shellcheck, tool};
pub use tree::{changed, copy_tree, digests, files};
pub use volley::{CacheView, FORMATS, Prefix, volley};

/// Ends the test as skipped, with the reason, unless the condition holds. On CI it fails instead.
macro_rules! need {
    ($condition:expr, $($reason:tt)+) => {
        if !$condition {
            $crate::support::skip(&format!($($reason)+));
            return;
        }
    };
}
pub(crate) use need;
