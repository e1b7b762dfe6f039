//! What a format does, and which there are.

use std::fmt;
use std::num::NonZeroUsize;
use std::path::Path;
use std::str::FromStr;

use super::conda::Conda;
use super::deb::Deb;
use super::kept::KeptList;
use super::oci::Oci;
use super::tar::Tar;
use super::wheel::Wheel;
use super::{BuiltPackage, Package};
use crate::bundle::BundleManifest;
use crate::error::Result;
use crate::manifest::Manifests;
use crate::near::nearest;
use crate::recipe::Recipe;

/// Every format. A new one is a module with its [`Format`] and a line here.
pub const FORMATS: &[&dyn Format] = &[&Conda, &Wheel, &Tar, &Oci, &Deb];

/// A package format.
pub trait Format: Sync {
    /// Its name, which is that of its directory below `dist/`, too.
    fn name(&self) -> &'static str;

    /// What it is and who installs it, in one line.
    fn about(&self) -> &'static str;

    /// What the names of its files end with, where a file stands for a package: `.conda`.
    fn endings(&self) -> &'static [&'static str];

    /// Whether its clients choose among host variants of one package. Otherwise the default ones are written, and no
    /// module for Python.
    fn has_variants(&self) -> bool {
        false
    }

    /// What this format's client, or the package itself, keeps of the files of a package in a prefix, with digests; none
    /// where another client installed it.
    fn kept(&self, _prefix: &Path, _manifest: &BundleManifest) -> Option<KeptList> {
        None
    }

    /// Whether this format's client has installed packages in a prefix.
    fn has_installed(&self, _prefix: &Path) -> bool {
        false
    }

    /// Writes the packages of one distribution below the directory `dir`, on up to `jobs` threads. They come in the
    /// order in which they build on each other, and so does the answer; a package that the format needs no file for is
    /// left out. Neither `dir` nor `jobs` changes a byte, and the time none outside of an index.
    ///
    /// # Errors
    /// A package holds what the format has no words for, a file has changed since it was staged, or `dir` cannot be
    /// written.
    fn write(
        &self,
        packages: &[Package],
        context: &FormatContext<'_>,
        dir: &Path,
        jobs: NonZeroUsize,
    ) -> Result<Vec<BuiltPackage>>;
}

/// What formats know beside the packages.
#[derive(Debug, Clone, Copy)]
pub struct FormatContext<'a> {
    /// The distribution's recipe, for what it says of a format.
    pub recipe: &'a Recipe,
    /// Vendor libraries, capabilities, releases.
    pub manifests: &'a Manifests,
    /// The directory whose place the format's takes: what an index says of when it first had a package is kept.
    pub earlier: Option<&'a Path>,
    /// The time at which an index has what it did not have before.
    pub now: jiff::Timestamp,
}

/// The name of a format that there is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct FormatName(&'static str);

impl FormatName {
    /// The formats of a build that names none.
    pub fn defaults() -> Vec<Self> {
        vec![Self(Conda.name())]
    }

    /// The format whose packages have a file of this name.
    pub fn of_file(name: &str) -> Option<Self> {
        let has = |format: &&&dyn Format| format.endings().iter().any(|ending| name.ends_with(ending));
        FORMATS.iter().find(has).map(|format| Self(format.name()))
    }

    /// The format.
    pub fn format(self) -> &'static dyn Format {
        let found = FORMATS.iter().find(|format| format.name() == self.0);
        *found.expect("only names of formats become one")
    }
}

impl FromStr for FormatName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = FORMATS.iter().find(|format| format.name() == text);
        found.map(|format| Self(format.name())).ok_or_else(|| {
            let names: Vec<&str> = FORMATS.iter().map(|format| format.name()).collect();
            let meant = nearest(text, names.iter().map(|name| (*name).to_owned()));
            let meant = meant.map(|name| format!("; did you mean `{name}`?")).unwrap_or_default();
            format!("no format `{text}`: there are {}{meant}", names.join(", "))
        })
    }
}

impl fmt::Display for FormatName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.0)
    }
}

impl fmt::Debug for FormatName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_table() {
        for format in FORMATS {
            let name: FormatName = format.name().parse().unwrap();
            assert_eq!((name.format().name(), name.to_string()), (format.name(), format.name().to_owned()));
            for ending in format.endings() {
                assert_eq!(FormatName::of_file(&format!("a-1{ending}")), Some(name));
            }
        }
        assert_eq!(FormatName::of_file("a-1.rpm"), None);
        assert!("cond".parse::<FormatName>().unwrap_err().contains("conda"));
    }
}
