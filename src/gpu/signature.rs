//! What a launch must agree on: kernel names and parameter layouts, and the tag over them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::fs::Digest;
use crate::target::KernelAbiTag;

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
    /// Parameters in order.
    pub params: Vec<Param>,
}

/// The kernel ABI tag over kernels: SHA-256 over one line a kernel, sorted by name, so neither
/// the order of declaration nor the split into translation units changes it.
pub fn kernel_abi_tag(kernels: &[KernelSignature]) -> KernelAbiTag {
    let mut lines: Vec<String> = kernels
        .iter()
        .map(|kernel| {
            let params: Vec<String> =
                kernel.params.iter().map(|param| format!("{}:{}", param.offset, param.size)).collect();
            format!("{}\t{}\n", kernel.name, params.join(","))
        })
        .collect();
    lines.sort();
    lines.dedup();
    let digest = Digest::of(format!("simpack-kernel-abi 1\n{}", lines.concat()).as_bytes());
    format!("k{}", digest.short(12)).parse().expect("k and twelve hex digits make a tag")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kernel(name: &str, params: &[(u32, u32)]) -> KernelSignature {
        let params = params.iter().map(|&(offset, size)| Param { offset, size }).collect();
        KernelSignature { name: name.to_owned(), params }
    }

    #[test]
    fn the_tag_depends_on_layout_and_not_on_order() {
        let a = kernel("a", &[(0, 8), (8, 4)]);
        let b = kernel("b", &[]);
        let tag = kernel_abi_tag(&[a.clone(), b.clone()]);
        assert_eq!(tag, kernel_abi_tag(&[b.clone(), a.clone()]));
        assert_ne!(tag, kernel_abi_tag(&[kernel("a", &[(0, 8), (8, 8)]), b.clone()]));
        assert_ne!(tag, kernel_abi_tag(&[a]));
    }
}
