//! What a launch must agree on: kernel names, parameter layouts and buffers, and the tag over them.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::spirv::SpirvResource;
use crate::arch::KernelAbiTag;
use crate::fs::Digest;

/// One kernel parameter: bytes from the start of the parameter block, and its size in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Param {
    /// Offset in bytes.
    pub offset: u32,
    /// Size in bytes.
    pub size: u32,
}

/// A kernel as its launcher sees it. A cubin and PTX hold no more than this, so that the same
/// value can be had from the declared table and from what a compiler made.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub struct KernelSignature {
    /// Symbol name, mangled where the compiler mangles.
    pub name: String,
    /// Parameters in order; of a shader, the members of its push constants.
    pub params: Vec<Param>,
    /// The structure that the push constants of a shader are, where its table says it.
    #[serde(rename = "push-constants", default, skip_serializing_if = "Option::is_none")]
    pub push_constants: Option<PushConstants>,
    /// Buffers that a shader expects at its bindings, sorted; a cubin and PTX have none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bindings: Vec<BufferBinding>,
    /// Invocations of a workgroup in x, y, z, of a shader whose table says them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workgroup: Option<[u32; 3]>,
    /// Constants that the host gives a shader, by number.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub constants: Vec<SpecConstant>,
    /// Whether it is a shader's: of a recipe with kernels of CUDA, too, each package holds those of its own kind.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub shader: bool,
}

/// A constant that is given when a shader's pipeline is made.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub struct SpecConstant {
    /// Its number: `constant_id`.
    pub id: u32,
    /// Its name, for people.
    pub name: String,
}

/// A field of the structure in a buffer.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub struct BufferField {
    /// Its name; that of a field of a structure in it has a dot: `inhib.gain`.
    pub name: String,
    /// Bytes from the start of the structure.
    pub offset: u32,
    /// Bytes, all elements of an array together.
    pub size: u32,
}

/// Push constants that are one structure of the host.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub struct PushConstants {
    /// The fields of the structure.
    pub fields: Vec<BufferField>,
    /// The type of the host that it is, as the host names it, where the recipe says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
}

/// A buffer that a shader expects at a binding, as its launcher fills it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub struct BufferBinding {
    /// Descriptor set.
    pub set: u32,
    /// Binding.
    pub binding: u32,
    /// Storage or uniform buffer.
    pub resource: SpirvResource,
    /// Bytes before the array without an end, or of the whole buffer.
    pub size: u32,
    /// Bytes from one element of the array without an end to the next; none without such an array.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stride: Option<u32>,
    /// Fields of one such element, or of the whole of a buffer without an open end, where the table says them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fields: Vec<BufferField>,
    /// The type of the host that these are the fields of, as the host names it, where the recipe says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
}

impl KernelSignature {
    /// A kernel without bindings, and no shader.
    pub fn new(name: impl Into<String>, params: Vec<Param>) -> Self {
        Self {
            name: name.into(),
            params,
            push_constants: None,
            bindings: Vec::new(),
            workgroup: None,
            constants: Vec::new(),
            shader: false,
        }
    }

    /// The types of the host that it is launched with, as the host names them, as far as the recipe says so.
    pub fn host_types(&self) -> impl Iterator<Item = &str> {
        let pushed = self.push_constants.iter().filter_map(|pushed| pushed.host.as_deref());
        self.bindings.iter().filter_map(|binding| binding.host.as_deref()).chain(pushed)
    }
}

impl fmt::Display for BufferBinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.resource {
            SpirvResource::UniformBuffer => "uniform",
            _ => "storage",
        };
        write!(f, "{}.{} {kind} {}", self.set, self.binding, self.size)?;
        self.stride.map_or(Ok(()), |stride| write!(f, "+n*{stride}"))
    }
}

/// The kernel ABI tag over kernels: SHA-256 over one line a kernel, sorted by name, so neither
/// the order of declaration nor the split into translation units changes it.
pub fn kernel_abi_tag(kernels: &[KernelSignature]) -> KernelAbiTag {
    let mut lines: Vec<String> = kernels
        .iter()
        .map(|kernel| {
            let params: Vec<String> =
                kernel.params.iter().map(|param| format!("{}:{}", param.offset, param.size)).collect();
            let pushed = kernel.push_constants.as_ref().map(|pushed| fields(&pushed.fields)).unwrap_or_default();
            // A kernel without bindings has the line that it always had.
            let bindings: String = kernel.bindings.iter().map(|it| format!("\t{it}{}", fields(&it.fields))).collect();
            let workgroup = kernel.workgroup.map(|[x, y, z]| format!("\tworkgroup {x}x{y}x{z}"));
            let constants: String =
                kernel.constants.iter().map(|it| format!("\tconstant {} {}", it.id, it.name)).collect();
            let workgroup = workgroup.unwrap_or_default();
            format!("{}\t{}{pushed}{bindings}{workgroup}{constants}\n", kernel.name, params.join(","))
        })
        .collect();
    lines.sort();
    lines.dedup();
    let digest = Digest::of(format!("simpack-kernel-abi 1\n{}", lines.concat()).as_bytes());
    format!("k{}", digest.short(12)).parse().expect("k and twelve hex digits make a tag")
}

/// The fields of a buffer in the line of its kernel: with their names, because two of one size may change places.
fn fields(fields: &[BufferField]) -> String {
    let all: Vec<String> =
        fields.iter().map(|field| format!("{}@{}:{}", field.name, field.offset, field.size)).collect();
    if all.is_empty() { String::new() } else { format!(" {{{}}}", all.join(",")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kernel(name: &str, params: &[(u32, u32)]) -> KernelSignature {
        let params = params.iter().map(|&(offset, size)| Param { offset, size }).collect();
        KernelSignature::new(name, params)
    }

    #[test]
    fn the_tag_depends_on_layout_and_not_on_order() {
        let a = kernel("a", &[(0, 8), (8, 4)]);
        let b = kernel("b", &[]);
        let tag = kernel_abi_tag(&[a.clone(), b.clone()]);
        assert_eq!(tag, kernel_abi_tag(&[b.clone(), a.clone()]));
        assert_ne!(tag, kernel_abi_tag(&[kernel("a", &[(0, 8), (8, 8)]), b.clone()]));
        assert_ne!(tag, kernel_abi_tag(std::slice::from_ref(&a)));
        let mut bound = a;
        bound.bindings = vec![BufferBinding {
            set: 0,
            binding: 1,
            resource: SpirvResource::StorageBuffer,
            size: 4,
            stride: Some(8),
            fields: Vec::new(),
            host: None,
        }];
        let plain = kernel_abi_tag(&[bound.clone(), b.clone()]);
        assert_ne!(tag, plain);
        let field = |name: &str, offset| BufferField { name: name.to_owned(), offset, size: 4 };
        let mut tags = vec![plain];
        for fields in [[field("v", 0), field("w", 4)], [field("w", 0), field("v", 4)]] {
            bound.bindings[0].fields = fields.to_vec();
            tags.push(kernel_abi_tag(&[bound.clone(), b.clone()]));
        }
        bound.workgroup = Some([64, 1, 1]);
        tags.push(kernel_abi_tag(&[bound.clone(), b.clone()]));
        bound.constants.push(SpecConstant { id: 0, name: "width".to_owned() });
        tags.push(kernel_abi_tag(&[bound.clone(), b.clone()]));
        for fields in [[field("v", 0), field("w", 4)], [field("w", 0), field("v", 4)]] {
            bound.push_constants = Some(PushConstants { fields: fields.to_vec(), host: None });
            tags.push(kernel_abi_tag(&[bound.clone(), b.clone()]));
        }
        // How the host calls them is its own affair.
        bound.bindings[0].host = Some("net::Cell".to_owned());
        assert_eq!(tags.last(), Some(&kernel_abi_tag(&[bound, b])));
        let different: std::collections::BTreeSet<_> = tags.iter().collect();
        assert_eq!(different.len(), tags.len(), "{tags:?}");
    }
}
