//! SONAMEs that recipes give to libraries whose build gives them none.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The name of a shared library with the version that programs record: `libarbor.so.0.10`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String")]
pub struct Soname {
    /// Its name for the linker: `libarbor.so`.
    pub library: String,
    /// Numbers and dots: `0.10`.
    pub version: String,
}

impl FromStr for Soname {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{text}` is not a SONAME with a version such as \"libmysim.so.1\"");
        let (stem, version) = text.split_once(".so.").ok_or_else(wrong)?;
        let is_name = |letter: u8| letter.is_ascii_alphanumeric() || b"._+-".contains(&letter);
        let is_number = |part: &str| !part.is_empty() && part.bytes().all(|digit| digit.is_ascii_digit());
        match stem.len() > 3
            && stem.starts_with("lib")
            && stem.bytes().all(is_name)
            && version.split('.').all(is_number)
        {
            true => Ok(Self { library: format!("{stem}.so"), version: version.to_owned() }),
            false => Err(wrong()),
        }
    }
}

impl fmt::Display for Soname {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.library, self.version)
    }
}

impl TryFrom<String> for Soname {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<Soname> for String {
    fn from(soname: Soname) -> Self {
        soname.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sonames_have_a_version() {
        let soname: Soname = "libarbor.so.0.10".parse().unwrap();
        assert_eq!((soname.library.as_str(), soname.version.as_str()), ("libarbor.so", "0.10"));
        assert_eq!(soname.to_string(), "libarbor.so.0.10");
        for text in
            ["libarbor.so", "arbor.so.1", "lib.so.1", "libarbor.so.", "libarbor.so.1.", "lib/x.so.1", "liba.so.x"]
        {
            assert!(text.parse::<Soname>().is_err(), "{text}");
        }
    }
}
