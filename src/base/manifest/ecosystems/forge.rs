//! What conda-forge pins for all of its packages.

use serde::{Deserialize, Serialize};

use crate::arch::{CudaVersion, GlibcVersion};
use crate::data::Data;
use crate::error::Result;
use crate::manifest::text::ManifestText;

/// conda-forge's pins, as far as generated recipes repeat them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all(deserialize = "kebab-case"))]
pub struct CondaForge {
    edition: u32,
    /// Keys of variants that go together.
    pub zip_keys: Vec<String>,
    /// Package families behind the compiler functions of recipes.
    pub compilers: CondaCompilers,
    otherwise: HostPin,
    release: Vec<ReleasePin>,
}

/// What host code is compiled with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostPin {
    /// Major version of g++.
    pub gxx: u32,
    /// Lowest glibc that packages are built for.
    pub stdlib: GlibcVersion,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ReleasePin {
    cuda: CudaVersion,
    gxx: u32,
    stdlib: GlibcVersion,
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

    /// What goes with a CUDA release, and whether conda-forge pins that release.
    pub fn host(&self, cuda: CudaVersion) -> (HostPin, bool) {
        let pinned = self.release.iter().find(|release| release.cuda == cuda);
        let pin = pinned.map(|release| HostPin { gxx: release.gxx, stdlib: release.stdlib });
        (pin.unwrap_or(self.otherwise), pin.is_some())
    }
}
