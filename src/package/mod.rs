//! What a package is, in no format's words, and the formats that write it.
//!
//! [`Package`] holds names, versions, typed dependencies and typed conditions. Whatever is said in the words of one
//! package manager is made in the module of that format, and nowhere else.

pub mod conda;
mod context;
pub mod deb;
mod format;
mod formats;
mod lmod;
mod metadata;
mod modules;
mod names;
pub mod oci;
mod reading;
mod selection;
pub mod tar;
mod value;
pub mod wheel;
mod writing;

pub use context::FormatContext;
pub use format::Format;
pub use formats::{FORMATS, FormatName, is_installed, kept};
pub use metadata::Metadata;
pub use names::{KERNEL_ABI_VERSION, SLOT_VERSION, all_kernels_name, kernel_abi_name, selector_name, slot_name};
pub use reading::beside::is_beside;
pub use reading::inside::manifest;
pub use reading::installed::{
    PythonProject, RecordedDigest, RecordedFile, normalised, projects, recorded, site_directories,
};
pub use reading::kept::KeptState;
pub use reading::package_format::PackageFormat;
pub use selection::{
    ALL_TARGETS, PREFERRED, RELEASE_SCALE, SELECTOR_SCALE, VARIANT_SCALE, build_number, conditions, device_range,
    lowest_driver, preference, release_number, release_of, unknown_number,
};
pub use value::{Choice, Package, PackageKind};
pub use writing::compression::{Effort, Efforts, STRONG_BYTES};
pub use writing::epoch::{check_epoch, parse_epoch};
pub use writing::frame::Frame;
pub use writing::sbom::sbom;
pub use writing::write::{Rendered, with_files, write_all};
pub use writing::writer::{BuiltPackage, Companion, Content, Named, PackageWriter, companions, feed, with_licences};
