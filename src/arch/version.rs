//! Versions: of a simulator, of CUDA, of glibc; the platform; the version policy of a component.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A simulator's version: three numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
pub struct Version {
    /// Raised when the core's ABI breaks.
    pub major: u32,
    /// Raised when something is added.
    pub minor: u32,
    /// Raised when nothing but mistakes change.
    pub patch: u32,
}

/// A CUDA release or a driver's CUDA version: `13.0`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
pub struct CudaVersion {
    /// Number before the dot.
    pub major: u32,
    /// Number after the dot.
    pub minor: u32,
}

/// A glibc version: `2.28`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
pub struct GlibcVersion {
    /// Number before the dot.
    pub major: u32,
    /// Number after the dot.
    pub minor: u32,
}

fn numbers<const N: usize>(text: &str) -> Option<[u32; N]> {
    let mut result = [0; N];
    let mut parts = text.split('.');
    for slot in &mut result {
        let part = parts.next()?;
        if part.is_empty() || !part.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        *slot = part.parse().ok()?;
    }
    parts.next().is_none().then_some(result)
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

impl FromStr for Version {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let [major, minor, patch] =
            numbers(text).ok_or_else(|| format!("`{text}` is not a version of three numbers such as 1.0.0"))?;
        Ok(Self { major, minor, patch })
    }
}

macro_rules! two_numbers {
    ($name:ident, $what:literal) => {
        impl $name {
            /// From its two numbers.
            pub const fn new(major: u32, minor: u32) -> Self {
                Self { major, minor }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}.{}", self.major, self.minor)
            }
        }

        impl FromStr for $name {
            type Err = String;

            fn from_str(text: &str) -> Result<Self, String> {
                let [major, minor] = numbers(text).ok_or_else(|| format!(concat!("`{}` is not a ", $what), text))?;
                Ok(Self { major, minor })
            }
        }
    };
}

two_numbers!(CudaVersion, "CUDA version of two numbers such as 13.0");
two_numbers!(GlibcVersion, "glibc version of two numbers such as 2.28");

/// A platform in conda's spelling.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub enum Platform {
    /// Linux on x86-64.
    #[serde(rename = "linux-64")]
    Linux64,
}

impl fmt::Display for Platform {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Linux64 => f.write_str("linux-64"),
        }
    }
}

impl FromStr for Platform {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "linux-64" => Ok(Self::Linux64),
            _ => Err(format!("unknown platform `{text}`")),
        }
    }
}

/// What a component's version promises; package name, SONAME, run-exports and pins follow from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub enum VersionPolicy {
    /// Compatible within one major: SONAME `lib.so.1`, pin `>=1.2.0,<2`.
    #[serde(rename = "major")]
    Major,
    /// Compatible within one minor: SONAME `lib.so.1.2`, pin `>=1.2.0,<1.3`.
    #[serde(rename = "major.minor")]
    MajorMinor,
    /// Exact match to the core's kernel ABI tag.
    #[serde(rename = "capability")]
    Capability,
}

impl VersionPolicy {
    /// The number at the end of a SONAME: `1` or `1.2`; none for kernels, which are not linked.
    pub fn soname_version(self, version: Version) -> Option<String> {
        match self {
            Self::Major => Some(version.major.to_string()),
            Self::MajorMinor => Some(format!("{}.{}", version.major, version.minor)),
            Self::Capability => None,
        }
    }

    /// The first version that is no longer compatible: `2` or `1.3`; none when the match is exact.
    pub fn upper_bound(self, version: Version) -> Option<String> {
        match self {
            Self::Major => Some((version.major + 1).to_string()),
            Self::MajorMinor => Some(format!("{}.{}", version.major, version.minor + 1)),
            Self::Capability => None,
        }
    }
}

impl fmt::Display for VersionPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Major => "major",
            Self::MajorMinor => "major.minor",
            Self::Capability => "capability",
        })
    }
}

impl FromStr for VersionPolicy {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "major" => Ok(Self::Major),
            "major.minor" => Ok(Self::MajorMinor),
            "capability" => Ok(Self::Capability),
            _ => Err(format!("unknown version policy `{text}`")),
        }
    }
}

macro_rules! as_string {
    ($($name:ident),*) => {$(
        impl TryFrom<String> for $name {
            type Error = String;

            fn try_from(text: String) -> Result<Self, String> {
                text.parse()
            }
        }

        impl From<$name> for String {
            fn from(value: $name) -> Self {
                value.to_string()
            }
        }
    )*};
}

as_string!(Version, CudaVersion, GlibcVersion);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn policies_give_sonames_and_bounds() {
        let version: Version = "1.2.3".parse().unwrap();
        assert_eq!(VersionPolicy::Major.soname_version(version).as_deref(), Some("1"));
        assert_eq!(VersionPolicy::MajorMinor.soname_version(version).as_deref(), Some("1.2"));
        assert_eq!(VersionPolicy::Major.upper_bound(version).as_deref(), Some("2"));
        assert_eq!(VersionPolicy::MajorMinor.upper_bound(version).as_deref(), Some("1.3"));
        assert_eq!(VersionPolicy::Capability.soname_version(version), None);
    }

    #[test]
    fn odd_versions_are_refused() {
        for text in ["1.0", "1.0.0.0", "1..0", "v1.0.0", "1.0.x", ""] {
            assert!(text.parse::<Version>().is_err(), "{text}");
        }
    }
}
