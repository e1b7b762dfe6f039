//! Verification: reads every file of every bundle and runs the lints over what it found.
//!
//! [`verify()`] is the whole of it for bundles on disk; [`open`] makes bundles of directories and
//! finished packages, and takes what others made: wheels, conda packages, libraries, trees. The lints themselves are in `lints`, one module a subject, their words in
//! `manifests/lints`.

mod bundle_facts;
mod collect;
mod context;
mod facts;
mod held;
mod input;
mod lints;
mod loads;
mod rules;
mod run;
#[cfg(test)]
mod tests;
mod texts;
mod unpack;

pub use bundle_facts::BundleFacts;
pub use context::VerifyContext;
pub use facts::{
    Contents, FileFacts, Kept, ObjectFacts, PackageFacts, PackageIndex, ReplacedSearchPath, Staging, Stray,
};
pub use input::{Foreign, Opened, open, open_to_verify};
pub use loads::{Load, Loads};
pub use rules::{Declared, Depth, Rules};
pub use run::verify;
pub use unpack::{is_package, unpack_whole};
