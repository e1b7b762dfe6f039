//! One accelerator of a machine.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::arch::Capability;

/// A GPU, as the driver describes it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Device {
    /// The driver's index of it.
    pub index: u32,
    /// Product name: `NVIDIA H200`.
    pub name: String,
    /// Who makes it, and so what code it runs.
    pub kind: DeviceKind,
    /// Total memory in bytes; none where the driver does not say (integrated parts).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<u64>,
}

/// The code that a device runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum DeviceKind {
    /// An NVIDIA GPU.
    Cuda {
        /// Compute capability, without a suffix.
        capability: Capability,
    },
    /// An AMD GPU: recognised, but nothing is built for it yet.
    Amd {
        /// Instruction set as the kernel driver gives it: `gfx942`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        gfx: Option<String>,
    },
}

impl DeviceKind {
    /// Its compute capability.
    pub fn capability(&self) -> Option<Capability> {
        match self {
            Self::Cuda { capability } => Some(*capability),
            Self::Amd { .. } => None,
        }
    }
}

/// What may keep a GPU from being used.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct DeviceState {
    /// The driver's index of the GPU.
    pub index: u32,
    /// Who may compute on it.
    #[serde(default)]
    pub compute_mode: ComputeMode,
    /// Memory is protected against bit errors; none where the GPU cannot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ecc: Option<bool>,
    /// Instances, where the GPU is split up (MIG); none where it is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mig_instances: Option<u32>,
}

/// Who may compute on a GPU.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ComputeMode {
    /// Every process.
    #[default]
    Default,
    /// One process at a time.
    Exclusive,
    /// None.
    Prohibited,
}
