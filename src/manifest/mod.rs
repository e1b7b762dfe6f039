//! Manifests: lists that change with the world, as checked data. Their sources are named in the files.

mod capabilities;
mod contracts;
mod cuda;
mod debian;
mod drivers;
mod easybuild;
mod environment;
mod foreign;
mod forge;
mod glibc;
mod globs;
mod load;
mod loaders;
mod memory;
mod opened;
mod redistribution;
mod spirv;
mod vendor;

pub use capabilities::{Capabilities, CapabilityInfo, Renamed, Unsupported};
pub use contracts::{Agree, Contract, Contracts, LinkedCode, LinkerAge, Maker};
pub use cuda::{CompilerRange, CudaMajor, CudaRelease, CudaReleases, PtxIsa};
pub use debian::{Debian, DebianPackage};
pub use drivers::{DriverDirectory, DriverProfile, Drivers};
pub use easybuild::{EasyBuild, EasyBuildToolchain};
pub use environment::{EnvironmentMarks, HostEnvironmentMark, WordMark};
pub use foreign::{CopyFamily, ForeignPackages};
pub use forge::{CondaCompilers, CondaForge, HostPin};
pub use glibc::{GlibcLevel, GlibcLevels};
pub use load::Manifests;
pub use loaders::{LoaderProfile, Loaders, OpenedLibrary};
pub use memory::MemoryModel;
pub use opened::{opened, opened_by};
pub use redistribution::{Code, Permission, Product, ProductPart, Redistribution, Terms, VendorLicence};
pub use spirv::{SpirvEnvironment, SpirvEnvironments, SpirvLimits};
pub use vendor::{DriverLibrary, SonameVersion, Vendor, VendorLibrary, unmangled};
