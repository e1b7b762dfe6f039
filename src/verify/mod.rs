//! Verification: reads every file of every bundle and runs the lints over what it found.
//!
//! [`verify()`] is the whole of it for bundles on disk; [`open`] makes bundles of directories and
//! finished packages, and takes what others made: wheels, conda packages, libraries, trees. The lints themselves are in `lints`, one module a subject, their words in
//! `manifests/lints`.

mod collect;
mod context;
mod facts;
mod held;
mod input;
mod lints;
mod loads;
mod run;
#[cfg(test)]
mod tests;
mod texts;
mod unpack;

pub use context::{Declared, Depth, Rules, VerifyContext};
pub use facts::{
    BundleFacts, Contents, FileFacts, Kept, ObjectFacts, PackageFacts, PackageIndex, ReplacedSearchPath, Staging, Stray,
};
pub use input::{Foreign, Opened, open, open_to_verify};
pub use loads::{Load, Loads};
pub use run::verify;
pub use unpack::{is_package, unpack_whole};
