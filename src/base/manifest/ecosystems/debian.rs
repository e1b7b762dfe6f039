//! Packages of Debian that stand for what packages depend on.

use serde::Deserialize;
use toml::Spanned;

use crate::arch::CudaVersion;
use crate::data::Data;
use crate::error::Result;
use crate::manifest::text::ManifestText;

/// Debian's names.
#[derive(Debug, Clone)]
pub struct Debian {
    packages: Vec<DebianPackage>,
}

/// A package of Debian.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DebianPackage {
    name: String,
    deb: String,
    /// Whether versions that a recipe asks for are those of the package.
    #[serde(default)]
    pub range: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    edition: u32,
    package: Vec<Spanned<DebianPackage>>,
}

impl Debian {
    /// Reads the manifest.
    ///
    /// # Errors
    /// It is wrong: the message says where.
    pub fn load(data: &Data) -> Result<Self> {
        let text = ManifestText::read(data, "manifests/debian.toml")?;
        let file: File = text.parse()?;
        text.edition(file.edition)?;
        for entry in &file.package {
            let plain = entry.get_ref().deb.replace("{major}", "1").replace("{minor}", "1");
            let fits = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"+-.".contains(&byte);
            if plain.len() < 2 || !plain.bytes().all(fits) {
                return Err(
                    text.wrong(Some(entry.span()), format!("`{}` is no name of a Debian package", entry.get_ref().deb))
                );
            }
        }
        Ok(Self { packages: file.package.into_iter().map(Spanned::into_inner).collect() })
    }

    /// The package of a vendor library, or of a package of conda.
    pub fn of(&self, name: &str) -> Option<&DebianPackage> {
        self.packages.iter().find(|package| package.name == name)
    }
}

impl DebianPackage {
    /// Its name for a toolkit; the same for all where it does not say.
    pub fn named(&self, cuda: CudaVersion) -> String {
        self.deb.replace("{major}", &cuda.major.to_string()).replace("{minor}", &cuda.minor.to_string())
    }
}
