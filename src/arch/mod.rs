//! The field's small words as checked types: capability, CUDA version, platform, SONAME, versions.

mod capability;
mod kernel;
mod version;

pub use capability::{Capability, Suffix};
pub use kernel::{KernelAbiTag, KernelTarget};
pub use version::{CudaVersion, GlibcVersion, Platform, Version, VersionPolicy};
