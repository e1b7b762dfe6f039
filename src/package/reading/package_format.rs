//! Who reads a package's metadata, which each format keeps in a file of its own.

use schemars::JsonSchema;
use serde::Serialize;

use crate::bundle::{is_manifest, read_manifest};
use crate::package::{Metadata, conda, deb, wheel};

/// Who reads a package's metadata.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum PackageFormat {
    /// conda: `info/index.json`.
    Conda,
    /// pip: `METADATA` of a wheel, `PKG-INFO` of a source archive.
    Python,
    /// dpkg: `control` of a package of Debian.
    Debian,
    /// simpack: `simpack.json`. Where a package manager has its own, that one counts.
    Simpack,
}

impl PackageFormat {
    /// The format whose packages describe themselves in a member of this path.
    pub fn of_member(path: &str) -> Option<Self> {
        match path {
            conda::INDEX => Some(Self::Conda),
            deb::CONTROL => Some(Self::Debian),
            _ if wheel::is_metadata(path) => Some(Self::Python),
            _ => is_manifest(path).then_some(Self::Simpack),
        }
    }

    /// Reads such a member.
    ///
    /// # Errors
    /// It is damaged; why, in words.
    pub fn read(self, member: &str, bytes: &[u8]) -> Result<Metadata, String> {
        match self {
            Self::Conda => {
                let record = conda::Record::read(bytes).map_err(|error| error.to_string())?;
                Ok(Metadata { name: record.name, version: record.version, depends: record.depends })
            }
            Self::Python => wheel::metadata(&String::from_utf8_lossy(bytes))
                .ok_or_else(|| "it has no name or no version".to_owned()),
            Self::Debian => deb::metadata(&String::from_utf8_lossy(bytes))
                .ok_or_else(|| "it has no package or no version".to_owned()),
            Self::Simpack => {
                let manifest = read_manifest(member, bytes).map_err(|error| error.to_string())?;
                let depends = match manifest.dependencies.is_empty() {
                    true => manifest.uses,
                    false => manifest.dependencies.into_iter().collect(),
                };
                let depends = depends.iter().map(ToString::to_string).collect();
                Ok(Metadata { name: manifest.package, version: manifest.version.to_string(), depends })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_format() {
        let read = |member: &str, bytes: &[u8]| PackageFormat::of_member(member).unwrap().read(member, bytes);
        let wheel = read("a-1.dist-info/METADATA", b"Name: a\nVersion: 1\nRequires-Dist: b>=2\n\nName: no\n").unwrap();
        assert_eq!(wheel, Metadata { name: "a".into(), version: "1".into(), depends: vec!["b>=2".into()] });
        let conda = read("info/index.json", br#"{"name": "c", "version": "2", "build": "x"}"#).unwrap();
        assert_eq!((conda.name.as_str(), conda.version.as_str()), ("c", "2"));
        assert!(read("info/index.json", b"{").is_err());
        assert_eq!(PackageFormat::of_member("a-1/PKG-INFO"), Some(PackageFormat::Python));
        for other in ["a-1/b.egg-info/PKG-INFO", "x/index.json"] {
            assert_eq!(PackageFormat::of_member(other), None);
        }
    }
}
