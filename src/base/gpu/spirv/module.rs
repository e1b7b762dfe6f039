//! What a SPIR-V module says, as values.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::FloatArithmetic;

/// What a module says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SpirvModule {
    /// Version (major, minor).
    pub version: (u8, u8),
    /// Number of the program that wrote it, from the registry of SPIR-V's generators (8 glslang, 13 shaderc).
    pub generator: u16,
    /// Capabilities that it declares, by name; a number where the name is not known. Sorted.
    pub capabilities: Vec<String>,
    /// Extensions that it declares, sorted.
    pub extensions: Vec<String>,
    /// Entry points, sorted by name.
    pub entry_points: Vec<SpirvEntryPoint>,
    /// Resources, sorted by set and binding.
    pub bindings: Vec<SpirvBinding>,
    /// Push constants.
    pub push_constants: Vec<SpirvBlock>,
    /// Constants that are given when the pipeline is made: number and name, sorted.
    pub spec_constants: Vec<(u32, Option<String>)>,
    /// Bytes of memory that a workgroup shares, without padding; `None` if a size cannot be known.
    pub workgroup_bytes: Option<u64>,
    /// Arithmetic on floats in its functions.
    #[serde(default)]
    pub arithmetic: FloatArithmetic,
    /// What could not be examined, and why.
    pub unexamined: Vec<String>,
}

/// An entry point.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct SpirvEntryPoint {
    /// Name.
    pub name: String,
    /// Execution model as the specification writes it: `GLCompute`.
    pub stage: String,
    /// Invocations of a workgroup in x, y, z, with the defaults of constants.
    pub local_size: Option<[u32; 3]>,
    /// Numbers of the specialisation constants that give those sizes.
    pub local_size_ids: [Option<u32>; 3],
}

/// What stands at a binding (`VkDescriptorType`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SpirvResource {
    /// Sampler.
    Sampler,
    /// Image with its sampler.
    CombinedImageSampler,
    /// Image that is sampled.
    SampledImage,
    /// Image that is read and written.
    StorageImage,
    /// Formatted buffer, read only.
    UniformTexelBuffer,
    /// Formatted buffer, read and written.
    StorageTexelBuffer,
    /// Buffer, read only.
    UniformBuffer,
    /// Buffer, read and written.
    StorageBuffer,
    /// Attachment.
    InputAttachment,
    /// Acceleration structure.
    AccelerationStructure,
}

/// A resource.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SpirvBinding {
    /// Descriptor set.
    pub set: u32,
    /// Binding.
    pub binding: u32,
    /// Name of the variable, or of its block.
    pub name: Option<String>,
    /// Kind.
    pub resource: SpirvResource,
    /// Array of so many at one binding; `None` if the host decides.
    pub count: Option<u32>,
    /// Layout of a buffer.
    pub block: Option<SpirvBlock>,
}

/// Layout of a block of memory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SpirvBlock {
    /// Name of the type.
    pub name: Option<String>,
    /// Bytes from its start to the end of its last member; an array without an end counts nothing.
    pub size: Option<u64>,
    /// Members in order.
    pub members: Vec<SpirvMember>,
}

/// A member of a block.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SpirvMember {
    /// Name.
    pub name: Option<String>,
    /// Bytes from the start of the block that it is a member of.
    pub offset: Option<u64>,
    /// Type of one element: `f32`, `vec3<f32>`, `mat4x4<f32>`, `struct Node`, `pointer`.
    pub element: String,
    /// Array dimensions, outermost first.
    pub arrays: Vec<SpirvArray>,
    /// Bytes from one column (or row) of a matrix to the next.
    pub matrix_stride: Option<u64>,
    /// Bytes with all elements; an array without an end counts nothing.
    pub size: Option<u64>,
    /// Members of a nested structure.
    pub members: Vec<SpirvMember>,
}

/// One dimension of an array.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SpirvArray {
    /// Elements; `None` if the buffer's size decides.
    pub count: Option<u32>,
    /// Bytes from one element to the next.
    pub stride: Option<u64>,
}

/// First word of a module.
pub(in crate::gpu) const MAGIC: u32 = 0x0723_0203;

/// Whether the bytes begin like a module, in either byte order.
pub fn is_spirv(bytes: &[u8]) -> bool {
    bytes.starts_with(&MAGIC.to_le_bytes()) || bytes.starts_with(&MAGIC.to_be_bytes())
}

impl SpirvModule {
    /// About the bytes that it takes.
    pub(super) fn held(&self) -> u64 {
        fn of(members: &[SpirvMember]) -> u64 {
            let names = members.iter().map(|member| member.name.as_ref().map_or(0, String::len) + member.element.len());
            let own = size_of_val(members) + names.sum::<usize>();
            members.iter().fold(own as u64, |all, member| all.saturating_add(of(&member.members)))
        }
        let blocks = self.bindings.iter().filter_map(|binding| binding.block.as_ref()).chain(&self.push_constants);
        let own = 1024 + size_of_val(self.bindings.as_slice());
        blocks.fold(own as u64, |all, block| all.saturating_add(of(&block.members)))
    }
}
