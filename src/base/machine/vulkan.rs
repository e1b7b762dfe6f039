//! Vulkan devices, with the limits that simulators meet.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a Vulkan loader says.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Vulkan {
    /// The loader that was opened; none where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loader: Option<String>,
    /// Why it could not be used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// Devices in its order.
    #[serde(default)]
    pub devices: Vec<VulkanDevice>,
}

/// A Vulkan device.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct VulkanDevice {
    /// Its name.
    pub name: String,
    /// What it is.
    pub kind: VulkanKind,
    /// Version of Vulkan: `1.3.280`.
    pub api: String,
    /// `maxStorageBufferRange` in bytes: the largest array that a kernel reaches.
    pub storage_buffer_range: u64,
    /// `maxComputeWorkGroupCount`: work groups in a launch, per dimension.
    pub work_group_count: [u32; 3],
    /// `maxComputeWorkGroupInvocations`: invocations in a work group.
    pub work_group_invocations: u32,
    /// `maxComputeSharedMemorySize` in bytes.
    pub shared_memory: u32,
    /// Sizes of memory heaps of the device in bytes, the largest first.
    pub heaps: Vec<u64>,
    /// What it offers to shaders; none in what an earlier simpack recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compute: Option<VulkanCompute>,
}

/// What a Vulkan device offers to compute shaders.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct VulkanCompute {
    /// `maxComputeWorkGroupSize`: invocations in a work group in x, y, z.
    pub work_group_size: [u32; 3],
    /// `maxPushConstantsSize` in bytes.
    pub push_constants: u32,
    /// `maxBoundDescriptorSets`.
    pub descriptor_sets: u32,
    /// `maxPerStageDescriptorStorageBuffers`.
    pub storage_buffers: u32,
    /// `maxUniformBufferRange` in bytes.
    pub uniform_buffer_range: u32,
    /// `subgroupSize`: invocations that run in step; 0 where nobody says.
    pub subgroup_size: u32,
    /// Capabilities of SPIR-V that optional features bring, by name, and whether it has them: what is not there was not
    /// asked. A host must enable the feature when it makes the device.
    pub capabilities: BTreeMap<String, bool>,
}

impl VulkanDevice {
    /// A device of which nothing is known but its version of Vulkan: no limit of it is held against shaders.
    pub fn described((major, minor): (u8, u8)) -> Self {
        Self {
            name: "described".to_owned(),
            kind: VulkanKind::Other,
            api: format!("{major}.{minor}.0"),
            storage_buffer_range: u64::MAX,
            work_group_count: [u32::MAX; 3],
            work_group_invocations: u32::MAX,
            shared_memory: u32::MAX,
            heaps: Vec::new(),
            compute: None,
        }
    }

    /// Major and minor number of its version of Vulkan.
    pub fn version(&self) -> Option<(u8, u8)> {
        let mut numbers = self.api.split('.').map(|number| number.parse().ok());
        Some((numbers.next()??, numbers.next()??))
    }
}

/// What a Vulkan device is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum VulkanKind {
    /// A GPU with memory of its own.
    Discrete,
    /// A GPU that shares the memory of the processor.
    Integrated,
    /// A part of a GPU, given out by a hypervisor.
    Virtual,
    /// The processor.
    Cpu,
    /// Something else.
    Other,
}
