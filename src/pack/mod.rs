//! Packs: from bundles to packages that a package manager selects, downloads and installs.
//!
//! [`packages`] derives every package as a value, without touching anything. Writers turn a value
//! into a `.conda` archive, a plain `.tar.zst` or a listing; [`index`] makes a directory of
//! archives a channel.

mod channel;
mod compression;
mod conda;
mod derive;
mod epoch;
mod info;
mod listing;
mod offers;
mod pin;
mod pool;
mod selector;
mod spec;
mod tarball;
mod writer;

pub use channel::index;
pub use compression::{SMALL_PAYLOAD, level, level_of};
pub use conda::write_conda;
pub use derive::{PackContext, packages};
pub use epoch::parse_epoch;
pub use listing::{Listed, Listing, list};
pub use offers::{Offer, offers};
pub use selector::{ArchCondition, arch_condition, preference};
pub use spec::PackageSpec;
pub use tarball::write_tars;
pub use writer::{BuiltPackage, Content, PackageWriter, feed};
