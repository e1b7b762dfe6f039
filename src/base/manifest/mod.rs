//! Manifests: lists that change with the world, as checked data. Their sources are named in the files.

mod capabilities;
mod contracts;
mod cuda;
mod ecosystems;
mod globs;
mod load;
mod machines;
mod memory;
mod redistribution;
mod spirv;
mod text;
mod time;
mod vendor;

pub use capabilities::{Capabilities, CapabilityInfo, Renamed, Unsupported};
pub use contracts::{Agree, Contract, Contracts, LinkedCode, LinkerAge, Maker};
pub use cuda::{CompilerRange, CudaMajor, CudaRelease, CudaReleases, PtxIsa};
pub use ecosystems::debian::{Debian, DebianPackage};
pub use ecosystems::easybuild::{EasyBuild, EasyBuildToolchain};
pub use ecosystems::foreign::{CopyFamily, ForeignPackages};
pub use ecosystems::forge::{CondaCompilers, CondaForge, HostPin};
pub use load::Manifests;
pub use machines::drivers::{DriverDirectory, DriverProfile, Drivers};
pub use machines::environment::{EnvironmentMarks, HostEnvironmentMark, WordMark};
pub use machines::glibc::{GlibcLevel, GlibcLevels};
pub use machines::loaders::{LoaderProfile, Loaders, OpenedLibrary};
pub use machines::opened::{opened, opened_by};
pub use memory::MemoryModel;
pub use redistribution::{Code, Permission, Product, ProductPart, Redistribution, Terms, VendorLicence};
pub use spirv::{SpirvEnvironment, SpirvEnvironments, SpirvLimits};
pub use time::TimeModel;
pub use vendor::{DriverLibrary, SonameVersion, Vendor, VendorLibrary, unmangled};
