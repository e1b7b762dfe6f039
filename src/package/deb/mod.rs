//! Packages of Debian: names, versions, relations and `.deb` archives ("Debian Policy Manual", deb(5), deb-control(5)).
//! Nothing outside this module makes one.
//!
//! What conda's solver does by conditions, dpkg cannot: it knows no GPU. So there is no selector; each kernel package is
//! installed by name (`simpack select --format deb` names it), and provides the virtual package of the selector's name.
//! Core provides a virtual package with the tag of its kernel table, on which kernels depend.

mod archive;
mod control;
mod format;
mod kept;
mod places;
mod relations;
mod texts;

pub(super) use control::metadata;
pub use format::Deb;
pub use places::{CONTROL, CONTROL_DIRECTORY, PREFIX};
pub(super) use texts::is_text;
