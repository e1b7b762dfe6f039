//! What is known from last time, so that a run that has nothing to do does nothing.
//!
//! [`LastBuild`] is the one state file of a work directory: what the last build that ended well left, what it looked
//! at, what it said, and the keys of its steps. [`VersionCache`] is what installed programs say of themselves, for all
//! work directories of a user. Both only save time: what cannot be read, or was written by another simpack, is as good
//! as absent.

mod last_build;
mod programs;
mod steps;
mod watch;

pub use last_build::{Ended, LastBuild};
pub use programs::VersionCache;
pub use steps::{PartChange, StepChange, StepKeys, changed_steps};
pub use watch::{Watched, asked, below, program};
