//! Shaders that a build put into core's files: what there is of them, by which readers find them there.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::arch::KernelTarget;
use crate::fs::Digest;
use crate::gpu::ShaderNeeds;

/// Embedded shaders of one environment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct EmbeddedShaders {
    /// The environment.
    pub target: KernelTarget,
    /// What they need of a device, by variant.
    pub needs: BTreeMap<String, ShaderNeeds>,
    /// The modules as they were compiled, sorted by variant and kernel.
    pub modules: Vec<EmbeddedModule>,
}

/// A module that the build of core was given.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct EmbeddedModule {
    /// The kernel, for which its file was named.
    pub kernel: String,
    /// Variant.
    pub variant: String,
    /// Bytes.
    pub size: u64,
    /// Digest of these.
    pub sha256: Digest,
}

impl EmbeddedShaders {
    /// What people call a module of these: `fixed/vulkan1.1/integrate.spv`, as the build found it.
    pub fn name(&self, module: &EmbeddedModule) -> String {
        format!("{}/{}/{}.{}", module.variant, self.target, module.kernel, self.target.ending_of_shaders())
    }
}
