//! Verification: reads every file of every bundle and runs the lints over what it found.
//!
//! [`verify()`] is the whole of it for bundles on disk; [`open`] makes bundles of directories and
//! finished packages. The lints themselves are in `lints`, one module a subject, their words in
//! `manifests/lints`.

mod collect;
mod context;
mod facts;
mod input;
mod lints;
mod run;
#[cfg(test)]
mod tests;

pub use context::{Rules, VerifyContext};
pub use facts::{BundleFacts, FileFacts, ObjectFacts, PackageFacts, Staging};
pub use input::{Opened, open, unpack};
pub use run::verify;
