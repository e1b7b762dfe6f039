//! What a kernel group is compiled for, and the tag that ties kernels to a core.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Capability;

/// What device code is made for. Prints as `sm_90`, `compute_75`, `vulkan1.2`, `webgpu`, `spirv1.3`, `cpu`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
pub enum KernelTarget {
    /// The CPU: no device code.
    Cpu,
    /// SPIR-V of a version (major, minor): what a module says of itself.
    Spirv(u8, u8),
    /// SPIR-V that devices of a version of Vulkan (major, minor) take: what packages are made for.
    Vulkan(u8, u8),
    /// WGSL that every implementation of WebGPU takes. Behind Vulkan, so that the lowest is never this where there is another.
    WebGpu,
    /// PTX of a virtual architecture.
    Ptx(Capability),
    /// Machine code of a capability.
    Sass(Capability),
}

impl KernelTarget {
    /// The capability of SASS or PTX.
    pub fn capability(self) -> Option<Capability> {
        match self {
            Self::Sass(capability) | Self::Ptx(capability) => Some(capability),
            Self::Cpu | Self::Spirv(..) | Self::Vulkan(..) | Self::WebGpu => None,
        }
    }
}

impl KernelTarget {
    /// Whether its code is shaders, which no CUDA release compiles and every vendor's driver takes.
    pub fn is_shader(self) -> bool {
        matches!(self, Self::Spirv(..) | Self::Vulkan(..) | Self::WebGpu)
    }

    /// The SPIR-V version (major, minor) that every device of a Vulkan version takes ("Vulkan Environment for SPIR-V").
    pub fn spirv(self) -> Option<(u8, u8)> {
        match self {
            Self::Spirv(major, minor) => Some((major, minor)),
            Self::Vulkan(1, 0) => Some((1, 0)),
            Self::Vulkan(1, 1) => Some((1, 3)),
            Self::Vulkan(1, 2) => Some((1, 5)),
            Self::Vulkan(..) => Some((1, 6)),
            Self::Cpu | Self::WebGpu | Self::Ptx(_) | Self::Sass(_) => None,
        }
    }

    /// How names of its modules end, where these are shaders.
    pub fn ending_of_shaders(self) -> &'static str {
        if self == Self::WebGpu { "wgsl" } else { "spv" }
    }

    /// The package of device code for it: `volley-kernels-sm_90`, `volley-shaders-vulkan1.2`.
    pub fn package(self, simulator: &str) -> String {
        let kind = if self.is_shader() { "shaders" } else { "kernels" };
        format!("{simulator}-{kind}-{self}")
    }
}

/// What compiles a kernel. Prints as the tool is called in keys and lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum KernelCompiler {
    /// NVIDIA's, of a CUDA release.
    #[default]
    Nvcc,
    /// shaderc's, of GLSL and HLSL: one call takes many shaders.
    Glslc,
    /// glslang's own, of GLSL and HLSL.
    Glslang,
    /// DirectXShaderCompiler's, of HLSL.
    Dxc,
    /// naga, of WGSL: a part of simpack.
    Naga,
}

impl KernelCompiler {
    /// Those of shaders.
    pub const OF_SHADERS: [Self; 4] = [Self::Glslc, Self::Glslang, Self::Dxc, Self::Naga];

    /// Its name among the tools of a plan.
    pub fn name(self) -> &'static str {
        match self {
            Self::Nvcc => "nvcc",
            Self::Glslc => "glslc",
            Self::Glslang => "glslang",
            Self::Dxc => "dxc",
            Self::Naga => "naga",
        }
    }
}

impl fmt::Display for KernelTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cpu => f.write_str("cpu"),
            Self::Spirv(major, minor) => write!(f, "spirv{major}.{minor}"),
            Self::Vulkan(major, minor) => write!(f, "vulkan{major}.{minor}"),
            Self::WebGpu => f.write_str("webgpu"),
            Self::Ptx(capability) => f.write_str(&capability.compute()),
            Self::Sass(capability) => f.write_str(&capability.sm()),
        }
    }
}

impl FromStr for KernelTarget {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong =
            || format!("`{text}` is not a kernel target such as sm_90, compute_75, vulkan1.2, webgpu, spirv1.3 or cpu");
        let numbers = |version: &str| -> Option<(u8, u8)> {
            let (major, minor) = version.split_once('.')?;
            Some((major.parse().ok()?, minor.parse().ok()?))
        };
        if text == "cpu" {
            return Ok(Self::Cpu);
        }
        if text == "webgpu" {
            return Ok(Self::WebGpu);
        }
        if let Some(version) = text.strip_prefix("spirv") {
            return numbers(version).map(|(major, minor)| Self::Spirv(major, minor)).ok_or_else(wrong);
        }
        if let Some(version) = text.strip_prefix("vulkan") {
            return numbers(version).map(|(major, minor)| Self::Vulkan(major, minor)).ok_or_else(wrong);
        }
        let capability = Capability::from_arch(text).ok_or_else(wrong)?;
        match text {
            _ if text.starts_with("sm_") => Ok(Self::Sass(capability)),
            _ if text.starts_with("compute_") => Ok(Self::Ptx(capability)),
            _ => Err(wrong()),
        }
    }
}

impl TryFrom<String> for KernelTarget {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<KernelTarget> for String {
    fn from(target: KernelTarget) -> Self {
        target.to_string()
    }
}

/// The kernel ABI tag: `k` and twelve hex digits of the digest over a kernel table.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
pub struct KernelAbiTag(String);

impl FromStr for KernelAbiTag {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.strip_prefix('k') {
            Some(hex)
                if hex.len() == 12
                    && hex.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte)) =>
            {
                Ok(Self(text.to_owned()))
            }
            _ => Err(format!("`{text}` is not a kernel ABI tag: k and twelve hex digits")),
        }
    }
}

impl fmt::Display for KernelAbiTag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl TryFrom<String> for KernelAbiTag {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<KernelAbiTag> for String {
    fn from(tag: KernelAbiTag) -> Self {
        tag.0
    }
}
