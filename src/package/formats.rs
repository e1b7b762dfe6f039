//! Which formats there are, and what all of them are asked.

use std::fmt;
use std::path::Path;
use std::str::FromStr;

use super::Format;
use super::conda::Conda;
use super::deb::Deb;
use super::oci::Oci;
use super::reading::kept::KeptList;
use super::tar::Tar;
use super::wheel::Wheel;
use crate::bundle::BundleManifest;
use crate::near::nearest;

/// Every format. A new one is a module with its [`Format`] and a line here.
pub const FORMATS: &[&dyn Format] = &[&Conda, &Wheel, &Tar, &Oci, &Deb];

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

/// The list that was kept of a package in a prefix; none where nobody kept one.
pub fn kept(prefix: &Path, manifest: &BundleManifest) -> Option<KeptList> {
    FORMATS.iter().find_map(|format| format.kept(prefix, manifest))
}

/// Whether some client has installed packages in a prefix.
pub fn is_installed(prefix: &Path) -> bool {
    FORMATS.iter().any(|format| format.has_installed(prefix))
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
