//! One step: a directory of its own, its calls one after the other, a log, and the result into the cache.

mod against;
mod build;
pub(in crate::engine) mod explain;
pub(in crate::engine) mod failure;
mod generator;
pub(in crate::engine) mod headers;
mod host;
mod installed;
pub(in crate::engine) mod kernel;
mod kind;
mod log;
pub(in crate::engine) mod nvcc;
mod run;
pub(in crate::engine) mod sandbox;
pub(in crate::engine) mod shared;
pub(in crate::engine) mod structures;

pub(crate) use self::explain::told::told;
pub(in crate::engine) use self::failure::{Share, StepFailure};
pub(in crate::engine) use self::kind::{cached_name, kind_of};
pub(in crate::engine) use self::run::StepRun;
pub use self::sandbox::scratch::{remove_leftovers, scratch};
