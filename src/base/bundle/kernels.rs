//! `kernels.json`: what the loader, or a reader of the package, needs to know of one directory of device code.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Artifact;
use crate::arch::{CudaVersion, KernelAbiTag, KernelTarget};
use crate::gpu::KernelSignature;

/// Name of the file.
pub const KERNELS_LIST: &str = "kernels.json";
/// Version of its schema.
pub const KERNELS_SCHEMA: u32 = 1;

/// The content of `kernels.json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct KernelsList {
    /// Always [`KERNELS_SCHEMA`].
    pub schema: u32,
    /// Tag over the kernel table.
    pub kernel_abi: KernelAbiTag,
    /// What the code runs on.
    pub target: KernelTarget,
    /// CUDA release that compiled it; none of shaders.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cuda: Option<CudaVersion>,
    /// Variant's directory name.
    pub variant: String,
    /// Files of the directory, sorted by path below it, without this list.
    pub modules: Vec<Artifact>,
    /// Declared kernels, sorted by name.
    pub kernels: Vec<KernelSignature>,
    /// Compilers with their versions.
    pub compilers: BTreeMap<String, String>,
}
