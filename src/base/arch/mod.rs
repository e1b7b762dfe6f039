//! The field's small words as checked types: capability, CUDA version, platform, SONAME, versions.

mod capability;
mod kernel;
mod platform;
mod policy;
mod range;
mod version;

pub use capability::{Capability, Suffix};
pub use kernel::{KernelAbiTag, KernelCompiler, KernelTarget};
pub use platform::{CudaVersion, GlibcVersion, Platform};
pub use policy::VersionPolicy;
pub use range::VersionRange;
pub use version::Version;
