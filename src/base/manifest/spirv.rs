//! Target environments of shaders: what every device of a Vulkan version takes, and every implementation of WebGPU.

use serde::Deserialize;

use super::text::ManifestText;
use crate::arch::KernelTarget;
use crate::data::Data;
use crate::error::Result;

/// All environments, ascending.
#[derive(Debug, Clone)]
pub struct SpirvEnvironments(Vec<SpirvEnvironment>);

/// One environment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpirvEnvironment {
    /// `vulkan1.1`.
    pub name: String,
    /// Highest SPIR-V version (major, minor); none where shaders are text.
    pub spirv: Option<(u8, u8)>,
    /// Capabilities that need no optional feature.
    pub capabilities: Vec<String>,
    /// What every device has.
    pub limits: SpirvLimits,
}

/// Lowest limits of all devices.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct SpirvLimits {
    /// Invocations of a workgroup.
    pub workgroup_invocations: u64,
    /// Invocations in x, y, z.
    pub workgroup_size: [u32; 3],
    /// Shared memory of a workgroup in bytes.
    pub workgroup_bytes: u64,
    /// Push constants in bytes.
    pub push_constant_bytes: u64,
    /// Descriptor sets of a pipeline.
    pub descriptor_sets: u32,
    /// Storage buffers of a stage.
    pub storage_buffers: u64,
    /// Size of a storage buffer in bytes.
    pub storage_buffer_bytes: u64,
    /// Size of a uniform buffer in bytes.
    pub uniform_buffer_bytes: u64,
}

impl SpirvEnvironment {
    /// What packages for it are made for.
    pub fn target(&self) -> Option<KernelTarget> {
        self.name.parse().ok()
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    edition: u32,
    environment: Vec<Entry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    name: String,
    spirv: Option<toml::Spanned<String>>,
    capabilities: Vec<String>,
    limits: SpirvLimits,
}

impl SpirvEnvironments {
    pub(super) fn load(data: &Data) -> Result<Self> {
        let text = ManifestText::read(data, "manifests/spirv-environments.toml")?;
        let file: File = text.parse()?;
        text.edition(file.edition)?;
        let mut all: Vec<SpirvEnvironment> = Vec::new();
        for entry in file.environment {
            let before = all.iter().rev().find(|last| last.spirv.is_some() && entry.spirv.is_some());
            let mut capabilities = before.map(|last| last.capabilities.clone()).unwrap_or_default();
            let spirv = match &entry.spirv {
                None => None,
                Some(written) => {
                    let version = written.get_ref().split_once('.');
                    let version = version.and_then(|(major, minor)| Some((major.parse().ok()?, minor.parse().ok()?)));
                    let known = before.and_then(|last| last.spirv);
                    let Some(version) = version.filter(|version| known.is_none_or(|known| known < *version)) else {
                        let what = format!("`{}` is no SPIR-V version above the one before", written.get_ref());
                        return Err(text.wrong(Some(written.span()), what));
                    };
                    Some(version)
                }
            };
            capabilities.extend(entry.capabilities);
            all.push(SpirvEnvironment { name: entry.name, spirv, capabilities, limits: entry.limits });
        }
        Ok(Self(all))
    }

    /// All, ascending.
    pub fn iter(&self) -> std::slice::Iter<'_, SpirvEnvironment> {
        self.0.iter()
    }

    /// The environment that a package is made for.
    pub fn of(&self, target: KernelTarget) -> Option<&SpirvEnvironment> {
        self.0.iter().find(|environment| environment.target() == Some(target))
    }

    /// The lowest environment that takes a SPIR-V version; none for a version that nobody knows.
    pub fn taking(&self, version: (u8, u8)) -> Option<&SpirvEnvironment> {
        self.0.iter().find(|environment| environment.spirv.is_some_and(|highest| highest >= version))
    }
}
