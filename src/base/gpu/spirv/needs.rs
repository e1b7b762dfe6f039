//! What shaders need of a device, in the numbers of Vulkan's limits.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{SpirvModule, SpirvResource};

/// What shaders need of a device beside a version of Vulkan. Of several modules the most that any of them needs: a pipeline
/// is made of each.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct ShaderNeeds {
    /// Capabilities of SPIR-V, by name.
    pub capabilities: BTreeSet<String>,
    /// Invocations of a work group in x, y, z, with the defaults of constants.
    pub work_group_size: [u32; 3],
    /// Invocations of a work group.
    pub work_group_invocations: u64,
    /// Bytes that a work group shares.
    pub shared_memory: u64,
    /// Bytes of push constants.
    pub push_constants: u64,
    /// Descriptor sets.
    pub descriptor_sets: u64,
    /// Storage buffers of one shader.
    pub storage_buffers: u64,
    /// Bytes of the largest storage buffer, as far as its end is known: an array without an end counts nothing.
    pub storage_buffer_range: u64,
    /// Bytes of the largest uniform buffer.
    pub uniform_buffer_range: u64,
}

impl ShaderNeeds {
    /// What one module needs.
    pub fn of(module: &SpirvModule) -> Self {
        let sizes = || module.entry_points.iter().filter_map(|entry| entry.local_size);
        let invocations = |size: [u32; 3]| size.iter().map(|part| u64::from(*part)).fold(1, u64::saturating_mul);
        let buffers = |kind| module.bindings.iter().filter(move |binding| binding.resource == kind);
        let largest = |kind| buffers(kind).filter_map(|it| it.block.as_ref()?.size).max().unwrap_or(0);
        let sets = module.bindings.iter().map(|binding| u64::from(binding.set) + 1);
        Self {
            capabilities: module.capabilities.iter().cloned().collect(),
            work_group_size: sizes().fold([0; 3], larger),
            work_group_invocations: sizes().map(invocations).max().unwrap_or(0),
            shared_memory: module.workgroup_bytes.unwrap_or(0),
            push_constants: module.push_constants.iter().filter_map(|block| block.size).max().unwrap_or(0),
            descriptor_sets: sets.max().unwrap_or(0),
            storage_buffers: buffers(SpirvResource::StorageBuffer).map(|it| u64::from(it.count.unwrap_or(1))).sum(),
            storage_buffer_range: largest(SpirvResource::StorageBuffer),
            uniform_buffer_range: largest(SpirvResource::UniformBuffer),
        }
    }

    /// What both need together.
    #[must_use]
    pub fn with(mut self, other: Self) -> Self {
        self.capabilities.extend(other.capabilities);
        self.work_group_size = larger(self.work_group_size, other.work_group_size);
        for (own, other) in [
            (&mut self.work_group_invocations, other.work_group_invocations),
            (&mut self.shared_memory, other.shared_memory),
            (&mut self.push_constants, other.push_constants),
            (&mut self.descriptor_sets, other.descriptor_sets),
            (&mut self.storage_buffers, other.storage_buffers),
            (&mut self.storage_buffer_range, other.storage_buffer_range),
            (&mut self.uniform_buffer_range, other.uniform_buffer_range),
        ] {
            *own = other.max(*own);
        }
        self
    }
}

fn larger(a: [u32; 3], b: [u32; 3]) -> [u32; 3] {
    std::array::from_fn(|axis| a[axis].max(b[axis]))
}
