//! The CUDA driver of a machine: what a program would get, and every copy that lies about.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::arch::CudaVersion;

/// The driver that a program would get.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Driver {
    /// Its own version: `580.159.04`; none where only its CUDA version is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Newest CUDA release that it supports.
    pub cuda: CudaVersion,
}

/// Files of the driver, and what the kernel says of it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct DriverFiles {
    /// Every `libcuda.so.1` that was met: in the order of the loader, then what it does not reach.
    #[serde(default)]
    pub libraries: Vec<DriverLibrary>,
    /// `libnvidia-ml.so.1` that a program would get.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nvml: Option<DriverLibrary>,
    /// Version of the kernel module (`/proc/driver/nvidia/version`); none where it is not loaded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel_module: Option<String>,
    /// How many NVIDIA GPUs are on the PCI bus, whatever the driver says (`/sys/bus/pci/devices`).
    #[serde(default)]
    pub pci_devices: u32,
    /// Device files of the driver, with whether they may be opened: `/dev/nvidia0`, `/dev/nvidiactl`, `/dev/dxg`.
    #[serde(default)]
    pub nodes: Vec<DeviceNode>,
}

/// A device file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct DeviceNode {
    /// Its path.
    pub path: String,
    /// This user may read and write it.
    pub usable: bool,
}

/// One copy of a library of the driver.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct DriverLibrary {
    /// Path as it was met.
    pub path: String,
    /// Path without links: its name carries the version.
    pub real: String,
    /// What kind of copy it is.
    pub role: DriverRole,
    /// Version that its file bears: `580.159.04`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// What leads there: `LD_LIBRARY_PATH /opt/lib`, `ld.so.cache`; none where the loader does not look.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// The loader takes this one.
    #[serde(default)]
    pub wins: bool,
    /// The driver profile whose directory holds it (`nixos`, `wsl`, `container`): packages look there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// Bytes of the file.
    pub size: u64,
}

/// What kind of copy a library of the driver is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DriverRole {
    /// Installed with the kernel module.
    Real,
    /// For linking only: every call answers with an error.
    Stub,
    /// Of the forward compatibility package: newer than the kernel module, on data-centre GPUs only.
    Compat,
}

impl DriverFiles {
    /// The `libcuda.so.1` that a program gets: the loader's, else the first in a directory of a profile.
    pub fn winner(&self) -> Option<&DriverLibrary> {
        let by_loader = self.libraries.iter().find(|library| library.wins);
        by_loader.or_else(|| self.libraries.iter().find(|library| library.profile.is_some()))
    }

    /// Whether anything speaks of an NVIDIA GPU: the bus, the kernel module or a device file.
    pub fn has_hardware(&self) -> bool {
        self.pci_devices > 0 || self.kernel_module.is_some() || !self.nodes.is_empty()
    }
}

/// What a library of the driver said when it was asked.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct DriverAnswer {
    /// Version of the driver, as NVML gives it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Newest CUDA release that it supports.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cuda: Option<CudaVersion>,
    /// Why it refused to start, in its own words; everything else is empty then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<DriverFailure>,
    /// It was not started (`cuInit`): NVML had answered for the GPUs, and nothing spoke against it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unstarted: bool,
    /// Its GPUs.
    #[serde(default)]
    pub devices: Vec<super::Device>,
    /// More about GPUs, by index.
    #[serde(default)]
    pub states: Vec<super::DeviceState>,
}

/// An error code of the driver.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct DriverFailure {
    /// The number: 803 of `CUresult`, 18 of `nvmlReturn_t`; none where the library could not be opened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<i64>,
    /// In words.
    pub text: String,
    /// It gave no answer at all; none where it answered with an error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub silence: Option<NoResponse>,
}

impl DriverFailure {
    /// An error that the library answered with, or that its loader gave.
    pub fn new(code: Option<i64>, text: impl Into<String>) -> Self {
        Self { code, text: text.into(), silence: None }
    }
}

/// How a library of the driver failed to answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "how")]
pub enum NoResponse {
    /// It was still at work when its time was over.
    Hung {
        /// The time that it had, in seconds.
        seconds: u64,
    },
    /// It ended the process that asked.
    Crashed {
        /// By which signal (`SIGSEGV`), or with which exit code (`exit 127`).
        by: String,
    },
}

impl std::fmt::Display for NoResponse {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Hung { seconds } => write!(f, "did not answer within {seconds} s"),
            Self::Crashed { by } if by.starts_with("SIG") => write!(f, "crashed with signal {by}"),
            Self::Crashed { by } => write!(f, "ended the program with {by}"),
        }
    }
}

/// Compares versions such as `580.159.04` number by number: `550.9` is older than `550.54`.
pub fn compare_versions(a: &str, b: &str) -> std::cmp::Ordering {
    let numbers = |text: &str| text.split('.').map(|part| part.parse().unwrap_or(0)).collect::<Vec<u64>>();
    numbers(a).cmp(&numbers(b))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cmp::Ordering;

    #[test]
    fn versions_count_as_numbers() {
        assert_eq!(compare_versions("550.9", "550.54.14"), Ordering::Less);
        assert_eq!(compare_versions("580.159.04", "580.95.05"), Ordering::Greater);
        assert_eq!(compare_versions("580.95", "580.95"), Ordering::Equal);
    }
}
