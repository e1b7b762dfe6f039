//! What a kernel group ships as, and everything that follows from it: who compiles, where the result lies, what core
//! may hold, how packages relate.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a kernel group ships as.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum KernelForm {
    /// Loose cubins and PTX.
    Cubin,
    /// A plug-in library for each target.
    Library,
    /// SPIR-V modules.
    Spirv,
    /// A whole library cut to one capability.
    Slice,
}

/// Who compiles the device code of a form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeviceCompiler {
    /// simpack itself, with a step for each translation unit, target and variant.
    Steps,
    /// The build of component `kernels`, called once for each target.
    KernelsBuild,
    /// The builds of the other components, called once for all targets.
    HostBuilds,
}

impl KernelForm {
    /// All, with the names that recipes use.
    pub const NAMES: [(&str, Self); 4] =
        [("cubin", Self::Cubin), ("library", Self::Library), ("spirv", Self::Spirv), ("slice", Self::Slice)];

    /// The name that recipes use.
    pub fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(_, form)| *form == self).map_or("", |(name, _)| name)
    }

    /// Who compiles its device code.
    pub fn compiler(self) -> DeviceCompiler {
        match self {
            Self::Cubin | Self::Spirv => DeviceCompiler::Steps,
            Self::Library => DeviceCompiler::KernelsBuild,
            Self::Slice => DeviceCompiler::HostBuilds,
        }
    }

    /// Keys of a group's table that the form takes beside `form`.
    pub fn keys(self) -> &'static [&'static str] {
        match self {
            Self::Cubin => &["sources", "table", "flags", "variants", "when", "generator"],
            Self::Spirv => &["sources", "table", "flags", "variants", "exact", "generator", "structures", "embed"],
            Self::Library => &["table"],
            Self::Slice => &["files", "variants", "cpu"],
        }
    }

    /// Whether core launches the kernels by a declared table, whose digest ties both: then the modules lie in a
    /// directory of that name, with a list beside them. Otherwise the library launches its own.
    pub fn has_table(self) -> bool {
        self != Self::Slice
    }

    /// Whether its packages hold host code, and so are for one platform.
    pub fn has_host_code(self) -> bool {
        matches!(self, Self::Library | Self::Slice)
    }

    /// Whether its packages hold the same paths and replace each other, so that there is one for machines without a
    /// GPU, too, and core needs one of them.
    pub fn is_exclusive(self) -> bool {
        self == Self::Slice
    }

    /// Whether it is compiled for compute capabilities by a CUDA release; else for versions of Vulkan, by none.
    pub fn is_cuda(self) -> bool {
        self != Self::Spirv
    }

    /// Whether a driver loads its files as they are.
    pub fn is_loaded_by_driver(self) -> bool {
        matches!(self, Self::Cubin | Self::Spirv)
    }
}

/// The flag by which compilers of C leave a multiplication and an addition apart, so that every one gives the same bits.
/// simpack takes it for shaders in WGSL, whose language has no word for it.
pub const NO_CONTRACTION: &str = "-ffp-contract=off";

/// The language of a compute shader, by which its file's name ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShaderLanguage {
    /// `.comp`.
    Glsl,
    /// `.hlsl`.
    Hlsl,
    /// `.wgsl`.
    Wgsl,
}

impl ShaderLanguage {
    /// All, with the endings of files' names.
    pub const ENDINGS: [(&str, Self); 3] = [(".comp", Self::Glsl), (".hlsl", Self::Hlsl), (".wgsl", Self::Wgsl)];

    /// That of a file; none of a file that is no compute shader.
    pub fn of(path: &str) -> Option<Self> {
        Self::ENDINGS.iter().find(|(ending, _)| path.ends_with(ending)).map(|(_, language)| *language)
    }
}
