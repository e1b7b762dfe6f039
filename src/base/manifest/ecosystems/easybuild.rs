//! What EasyBuild has, by CUDA release and by compiler.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::arch::CudaVersion;
use crate::data::Data;
use crate::error::Result;
use crate::manifest::text::ManifestText;

/// Modules that generated easyconfigs may name.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EasyBuild {
    edition: u32,
    cuda: BTreeMap<CudaVersion, String>,
    toolchain: Vec<EasyBuildToolchain>,
}

/// A compiler with the tools that are built by it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EasyBuildToolchain {
    /// Major version of g++.
    pub gxx: u32,
    /// Version of the toolchain `GCC`.
    pub gcc: String,
    /// Version of CMake.
    pub cmake: String,
    /// Version of Ninja.
    pub ninja: String,
}

impl EasyBuild {
    /// Reads them from `data`.
    ///
    /// # Errors
    /// The file is wrong.
    pub fn load(data: &Data) -> Result<Self> {
        let text = ManifestText::read(data, "manifests/easybuild.toml")?;
        let found: Self = text.parse()?;
        text.edition(found.edition)?;
        Ok(found)
    }

    /// The version of the module for a CUDA release.
    pub fn cuda(&self, release: CudaVersion) -> Option<&str> {
        self.cuda.get(&release).map(String::as_str)
    }

    /// The newest compiler that is no newer than `gxx`.
    pub fn toolchain(&self, gxx: u32) -> Option<&EasyBuildToolchain> {
        self.toolchain.iter().filter(|toolchain| toolchain.gxx <= gxx).max_by_key(|toolchain| toolchain.gxx)
    }
}
