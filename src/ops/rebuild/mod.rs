//! `simpack rebuild`: makes packages again from what they say about themselves, and compares.
//!
//! `request` turns provenance into a build request, `compare` tells two packages apart member by
//! member, `run` is the verb.

mod compare;
mod request;
mod run;

pub use compare::{Difference, Member};
pub use run::{Compared, RebuildRequest, Rebuilt, rebuild};
