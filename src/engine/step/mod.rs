//! One step: a directory of its own, its calls one after the other, a log, and the result into the cache.

mod build;
pub(in crate::engine) mod diagnose;
pub(in crate::engine) mod failure;
mod generator;
pub(in crate::engine) mod headers;
mod host;
mod install;
pub(in crate::engine) mod isolation;
pub(in crate::engine) mod kernel;
mod kind;
pub(in crate::engine) mod launcher;
mod log;
pub(in crate::engine) mod nvcc;
mod relocate;
mod run;
pub(in crate::engine) mod scratch;
pub(in crate::engine) mod shared;
mod soname;
pub(in crate::engine) mod structures;
mod told;
pub(in crate::engine) mod toolset;
mod undeclared;

pub(in crate::engine) use self::failure::{Share, StepFailure};
pub(in crate::engine) use self::kind::{cached_name, kind_of};
pub(in crate::engine) use self::run::StepRun;
pub use self::scratch::{remove_leftovers, scratch};
pub(crate) use self::told::told;
