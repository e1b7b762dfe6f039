//! The field's small words as checked types: capability, CUDA version, platform, SONAME, versions.

mod capability;
mod kernel;
mod range;
mod release;
mod version;

pub use capability::{Capability, Suffix};
pub use kernel::{KernelAbiTag, KernelTarget};
pub use range::VersionRange;
pub use release::Release;
pub use version::{CudaVersion, GlibcVersion, Platform, Version, VersionPolicy};
