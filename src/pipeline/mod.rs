//! The line of a build, from a request to packages in `dist/`: the place where the modules of floor 4 meet for the
//! verbs `build`, `plan` and `rebuild`.

mod dist;
mod inputs;
mod packages;
mod request;
mod slices;
mod summary;
mod tools;
mod unchanged;
mod watched;

pub use request::{BuildRequest, CudaSource, SandboxMode};
pub use summary::Row;

pub(crate) use dist::*;
pub(crate) use inputs::*;
pub(crate) use packages::*;
pub(crate) use slices::*;
pub(crate) use summary::*;
pub(crate) use unchanged::*;
pub(crate) use watched::*;
