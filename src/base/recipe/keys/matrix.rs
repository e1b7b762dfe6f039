//! Keys of what is built for, and with what.

use std::collections::BTreeMap;

use schemars::JsonSchema;

use crate::arch::{Capability, CudaVersion, GlibcVersion, Platform};
use crate::recipe::model::CpuLevel;

/// What is built for.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Matrix {
    /// Platforms of the host part.
    #[schemars(extend("default" = ["linux-64"]), example = ["linux-64"])]
    platforms: Option<Vec<Platform>>,
    /// CUDA releases. A build makes packages for all of them; the host part is built once, for the first.
    #[schemars(example = ["13.0"])]
    cuda: Option<Vec<CudaVersion>>,
    /// Compute capabilities to compile machine code for. Each CUDA release takes those that it knows.
    #[schemars(example = ["7.5", "8.0", "9.0", "10.0f"])]
    capabilities: Option<Vec<Capability>>,
    /// Compute capabilities to compile PTX for: what reaches devices that are newer than the machine code.
    /// Without the key: the lowest of `capabilities`. An empty list makes no PTX.
    #[schemars(example = ["7.5"])]
    ptx: Option<Vec<Capability>>,
    /// Versions of Vulkan to compile shaders for, of form `spirv`: there is a package of each, and a device takes those of
    /// its own version and of lower ones. `webgpu` makes one of the text of shaders in WGSL, for browsers and wgpu.
    #[schemars(example = ["vulkan1.1", "vulkan1.3", "webgpu"])]
    environments: Option<Vec<String>>,
    /// What holds for one CUDA release of the list alone, by the release: `[matrix.release."11.8"]`.
    release: Option<BTreeMap<String, Release>>,
}

/// What holds for one CUDA release alone.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Release {
    /// Its capabilities, instead of those of the matrix.
    #[schemars(example = ["7.5", "8.0"])]
    capabilities: Option<Vec<Capability>>,
    /// Its PTX, instead of that of the matrix.
    #[schemars(example = ["7.5"])]
    ptx: Option<Vec<Capability>>,
    /// Where its nvcc comes from: `pinned`, `system` (`CUDA_HOME`, then `PATH`), or a directory that holds `bin/nvcc`.
    #[schemars(extend("default" = "pinned"), example = &"system")]
    toolchain: Option<String>,
    /// The host compiler that its nvcc calls. Without the key one is found that this nvcc accepts.
    #[schemars(example = &"g++-11")]
    cxx: Option<String>,
    /// What components that are built for each release open at run time, instead of what their own tables say.
    opens: Option<ReleaseOpens>,
}

/// Names that the code passes to `dlopen` where it is built for this release.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct ReleaseOpens {
    /// Of `rtc`.
    #[schemars(example = ["libnvrtc.so.11.2"])]
    rtc: Option<Vec<String>>,
    /// Of `kernels`, where they are plug-in libraries.
    #[schemars(example = ["libcurand.so.10"])]
    kernels: Option<Vec<String>>,
}

/// How the host part is compiled.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Toolchain {
    /// The host compiler: `"zig"`, `"system"`, or a table.
    #[schemars(extend("default" = "zig"), example = &"system")]
    host: Option<HostChoice>,
    /// The CUDA release that the host part is built for; the first of the matrix without it.
    cuda: Option<ToolchainCuda>,
}

/// The host compiler.
#[derive(JsonSchema)]
#[schemars(untagged)]
pub(super) enum HostChoice {
    /// Its name.
    Name(HostName),
    /// Its name and what is asked of it.
    Table(Host),
}

/// Which host compiler.
#[derive(JsonSchema)]
#[schemars(rename_all = "kebab-case")]
pub(super) enum HostName {
    /// The pinned compiler, which links against a glibc of your choice.
    Zig,
    /// The machine's own. The packages depend on the glibc that the code turns out to need.
    System,
}

/// The host compiler, and what is asked of it.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Host {
    /// Which compiler.
    #[schemars(rename = "use", extend("default" = "zig"), example = &"zig")]
    kind: Option<HostName>,
    /// Lowest major version of the machine's g++.
    #[schemars(example = &">=12")]
    cxx: Option<String>,
    /// Newest glibc that the code may need. Of zig without the key 2.28. The machine's g++ is held to one, from 2.28 on, where the key
    /// says so: nvcc calls it, too, and the C++ library stays the system's.
    #[schemars(extend("default" = "2.28"), example = &"2.17")]
    glibc: Option<GlibcVersion>,
    /// The lowest processor that the host part is for. It sets no compiler flag: `verify --deep` holds the code to it.
    #[schemars(example = &"x86-64-v2")]
    cpu: Option<CpuLevel>,
}

/// A CUDA release for the host part.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct ToolchainCuda {
    /// The release, one of the matrix.
    #[schemars(example = &"13.0")]
    release: CudaVersion,
}

/// Where the packages come from that builds need.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Dependencies {
    /// conda channels, the first counts most: addresses, or directories relative to the recipe's. A package is taken
    /// from the first channel that has its name.
    #[schemars(example = ["https://conda.example.org/conda-forge", "channel"])]
    channels: Vec<String>,
}
