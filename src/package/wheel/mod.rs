//! Wheels, for pip and uv: one for core, which has extras for the rest, one for the device code of each target.
//!
//! All files of a wheel lie below one directory of `site-packages` that has the simulator's name, laid out as in a
//! prefix of conda, so that search paths and the simulator's own loader hold. Nothing runs when a wheel is installed:
//! which device code a machine needs is said by extras, and core and device code meet in a wheel of the kernel ABI,
//! whose version is the tag. Vendor libraries are dependencies on the vendor's wheels, found by search paths.

mod archive;
mod format;
mod index;
mod kept;
mod layout;
mod level;
mod links;
mod metadata;
mod module;
mod names;
mod plan;
mod planned;
mod python;
mod read;
mod variants;

pub use format::Wheel;
pub use level::{Level, level};
pub use metadata::record::{encoded, quoted};
pub use names::{escaped, extra, kernel_abi_version, normalized};
pub use read::{is_metadata, manifests, metadata};
