//! What a package is, in no format's words, and the formats that write it.
//!
//! [`Package`] holds names, versions, typed dependencies and typed conditions. Whatever is said in the words of one
//! package manager is made in the module of that format, and nowhere else.

mod beside;
mod compression;
pub mod conda;
mod context;
pub mod deb;
mod epoch;
mod format;
mod formats;
mod inside;
mod installed;
mod kept;
mod lmod;
mod metadata;
mod modules;
mod names;
pub mod oci;
mod package_format;
mod packed_tar;
mod sbom;
mod selection;
pub mod tar;
mod value;
pub mod wheel;
mod write;
mod writer;

pub use beside::is_beside;
pub use compression::{Effort, Efforts, Frame, STRONG_BYTES};
pub use context::FormatContext;
pub use epoch::{check_epoch, parse_epoch};
pub use format::Format;
pub use formats::{FORMATS, FormatName, is_installed, kept};
pub use inside::manifest;
pub use installed::{PythonProject, RecordedDigest, RecordedFile, normalised, projects, recorded, site_directories};
pub use kept::KeptState;
pub use metadata::Metadata;
pub use names::{KERNEL_ABI_VERSION, SLOT_VERSION, all_kernels_name, kernel_abi_name, selector_name, slot_name};
pub use package_format::PackageFormat;
pub use sbom::sbom;
pub use selection::{
    ALL_TARGETS, PREFERRED, RELEASE_SCALE, SELECTOR_SCALE, VARIANT_SCALE, build_number, conditions, device_range,
    lowest_driver, preference, release_number, release_of, unknown_number,
};
pub use value::{Choice, Package, PackageKind};
pub use write::{Rendered, with_files, write_all};
pub use writer::{BuiltPackage, Companion, Content, Named, PackageWriter, companions, feed, with_licences};
