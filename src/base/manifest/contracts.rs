//! Toolchain contracts: which compilers' relocatable device code may be linked together.

use serde::Deserialize;

use super::text::ManifestText;
use crate::data::Data;
use crate::error::Result;

/// All contracts.
#[derive(Debug, Clone)]
pub struct Contracts {
    makers: Vec<Maker>,
    contracts: Vec<Contract>,
}

/// How the objects of a compiler are known.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Maker {
    /// The compiler.
    pub name: String,
    /// Symbols that only its objects refer to.
    pub imports: Vec<String>,
}

/// What holds for one kind of relocatable code.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Contract {
    /// Which code.
    pub code: LinkedCode,
    /// What all objects of one link share.
    pub agree: Agree,
    /// What the linker must be.
    pub linker: LinkerAge,
    /// One sentence.
    pub why: String,
}

/// Code that a device linker takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LinkedCode {
    /// Relocatable machine code.
    Sass,
    /// Input of the link-time optimiser.
    LtoIr,
}

/// What objects have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Agree {
    /// Version of the cubin ABI.
    CubinAbi,
    /// Major release of CUDA.
    CudaMajor,
}

/// Age of the linker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LinkerAge {
    /// Of the release of every object, or newer.
    NotOlder,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    edition: u32,
    maker: Vec<Maker>,
    contract: Vec<Contract>,
}

impl Contracts {
    pub(super) fn load(data: &Data) -> Result<Self> {
        let text = ManifestText::read(data, "manifests/toolchain-contracts.toml")?;
        let file: File = text.parse()?;
        text.edition(file.edition)?;
        Ok(Self { makers: file.maker, contracts: file.contract })
    }

    /// The compiler whose objects refer to one of these symbols; nvcc's refer to none that is special.
    pub fn maker<'a>(&self, imports: impl Iterator<Item = &'a str>) -> &str {
        let mut imports = imports;
        let found = imports
            .find_map(|import| self.makers.iter().find(|maker| maker.imports.iter().any(|known| known == import)));
        found.map_or("nvcc", |maker| &maker.name)
    }

    /// The contract of a kind of code.
    pub fn of(&self, code: LinkedCode) -> Option<&Contract> {
        self.contracts.iter().find(|contract| contract.code == code)
    }
}
