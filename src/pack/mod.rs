//! Packs: from bundles to packages that a package manager selects, downloads and installs.
//!
//! [`packages`] derives every package as a value, without touching anything. Writers turn a value
//! into a `.conda` archive, a plain `.tar.zst` or a listing; [`index`] makes a directory of
//! archives a channel.

mod channel;
mod conda;
mod derive;
mod info;
mod listing;
mod pin;
mod pool;
mod selector;
mod spec;
mod tarball;
mod writer;

pub use channel::index;
pub use conda::{CONDA_LEVEL, write_conda};
pub use derive::{Surroundings, packages};
pub use listing::{Listed, Listing, list};
pub use selector::{ArchCondition, arch_condition};
pub use spec::PackageSpec;
pub use tarball::{TAR_LEVEL, write_tars};
pub use writer::{BuiltPackage, Content, PackageWriter, feed};
