//! Looks at the machine it runs on, or at the files of another one below a directory.
//!
//! Everything but three libraries is read as data. NVML, the CUDA driver and the Vulkan loader are opened, by the path
//! that the loader's rules lead to; never below a prefix that is examined, and never when the files are another
//! machine's. A process of its own opens each of them ([`Probe::asking_by`]): a driver that hangs or crashes becomes a
//! finding.

mod amd;
mod asked;
mod caches;
mod cpu;
mod cuda;
mod driver_files;
mod installed;
mod nvml;
mod process;
mod provider;
mod search;
mod snapshot;
mod system;
mod tools;
mod vulkan;

pub use asked::answer;
pub use cpu::this_cpu;
pub use provider::Probe;
pub use snapshot::Snapshot;
