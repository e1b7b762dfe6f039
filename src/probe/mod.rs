//! Looks at the machine it runs on, or at the files of another one below a directory.
//!
//! Everything but three libraries is read as data. NVML, the CUDA driver and the Vulkan loader are opened, by the path
//! that the loader's rules lead to; never below a prefix that is examined, and never when the files are another
//! machine's.

mod amd;
mod cpu;
mod cuda;
mod driver_files;
mod installed;
mod nvml;
mod opens;
mod process;
mod provider;
mod search;
mod snapshot;
mod system;
mod tools;
mod vulkan;

pub use cpu::this_cpu;
pub use opens::opened;
pub use provider::Probe;
pub use snapshot::Snapshot;
