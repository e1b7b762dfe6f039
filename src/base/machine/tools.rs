//! Compilers and toolkits that a user's programs would be built with.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::arch::CudaVersion;

/// Everything that was found.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Tools {
    /// CUDA toolkits; the one whose nvcc comes first in `PATH` is the first.
    #[serde(default)]
    pub toolkits: Vec<Toolkit>,
    /// Files of NVRTC that were found in toolkits and by the loader.
    #[serde(default)]
    pub nvrtc: Vec<String>,
    /// C++ compilers, in the order in which nvcc would take them: chosen by a variable, then by `PATH`.
    #[serde(default)]
    pub compilers: Vec<Compiler>,
    /// Where `ar` and `ld` come from.
    #[serde(default)]
    pub binutils: Vec<Program>,
}

/// A CUDA toolkit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Toolkit {
    /// Its directory.
    pub root: String,
    /// Its release, as `cuda.h` says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<CudaVersion>,
    /// Its nvcc; none where it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nvcc: Option<String>,
    /// That nvcc is the first in `PATH`.
    #[serde(default)]
    pub first: bool,
}

/// A C++ compiler.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Compiler {
    /// Path as it was found.
    pub path: String,
    /// Family.
    pub family: CompilerFamily,
    /// Major version; none where it did not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub major: Option<u32>,
    /// What leads there: `NVCC_CCBIN`, `CUDAHOSTCXX`, `CXX`, `PATH`.
    pub by: String,
    /// Directory that its installation lies in, links followed: `/usr`, `/opt/conda`.
    pub prefix: String,
    /// Which of `ar` and `ld` lie beside it: a compiler without its own takes what `PATH` gives.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub binutils: Vec<String>,
}

/// Family of a C++ compiler.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CompilerFamily {
    /// GNU.
    Gcc,
    /// Clang.
    Clang,
}

/// A program in `PATH`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Program {
    /// `ld`.
    pub name: String,
    /// Path as it was found.
    pub path: String,
    /// Directory that its installation lies in.
    pub prefix: String,
}
