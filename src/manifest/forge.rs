//! What conda-forge pins for all of its packages.

use serde::{Deserialize, Serialize};

use super::load::ManifestText;
use crate::data::Data;
use crate::error::Result;
use crate::target::GlibcVersion;

/// conda-forge's pins, as far as generated recipes repeat them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CondaForge {
    edition: u32,
    /// Major version of g++.
    pub gxx: u32,
    /// Lowest glibc that packages are built for.
    pub stdlib: GlibcVersion,
    /// Package families behind the compiler functions of recipes.
    pub compilers: CondaCompilers,
}

/// Families of compiler packages: `gxx` stands for `gxx_linux-64`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CondaCompilers {
    /// C.
    pub c: String,
    /// C++.
    pub cxx: String,
    /// CUDA.
    pub cuda: String,
    /// The C library.
    pub stdlib: String,
}

impl CondaForge {
    /// Reads them from `data`.
    ///
    /// # Errors
    /// The file is wrong.
    pub fn load(data: &Data) -> Result<Self> {
        let text = ManifestText::read(data, "manifests/conda-forge.toml")?;
        let pins: Self = text.parse()?;
        text.edition(pins.edition)?;
        Ok(pins)
    }
}
