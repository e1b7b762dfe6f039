//! Manifests: lists that change with the world, as checked data. Their sources are named in the files.

mod capabilities;
mod cuda;
mod drivers;
mod glibc;
mod load;
mod memory;
mod vendor;

pub use capabilities::{Capabilities, CapabilityInfo, Renamed, Unsupported};
pub use cuda::{CompilerRange, CudaMajor, CudaRelease, CudaReleases, PtxIsa};
pub use drivers::{DriverDirectory, DriverProfile, Drivers};
pub use glibc::{GlibcLevel, GlibcLevels};
pub use load::Manifests;
pub use memory::MemoryModel;
pub use vendor::{DriverLibrary, SonameVersion, Vendor, VendorLibrary};
