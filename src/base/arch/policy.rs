//! The version policy of a component.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Version;

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
    /// How many of a version's numbers it holds fixed; none when the match is exact.
    fn fixed(self) -> Option<usize> {
        match self {
            Self::Major => Some(1),
            Self::MajorMinor => Some(2),
            Self::Capability => None,
        }
    }

    /// The numbers that all compatible versions share, as they end a SONAME: `1` or `1.2`; none for kernels, which are
    /// not linked.
    pub fn series(self, version: Version) -> Option<String> {
        let numbers: Vec<String> = (0..self.fixed()?).map(|place| version.number(place).to_string()).collect();
        Some(numbers.join("."))
    }

    /// Whether two versions are compatible as far as their numbers tell.
    pub fn agree(self, one: Version, other: Version) -> bool {
        self.fixed().map_or(one == other, |fixed| one.ended_by(fixed - 1) == other.ended_by(fixed - 1))
    }

    /// The first version that is no longer compatible: `2` or `1.3`; none when the match is exact.
    pub fn upper_bound(self, version: Version) -> Option<Version> {
        Some(version.ended_by(self.fixed()? - 1))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn policies_give_sonames_and_bounds() {
        let soname = |policy: VersionPolicy, text: &str| policy.series(text.parse().unwrap());
        let bound =
            |policy: VersionPolicy, text: &str| policy.upper_bound(text.parse().unwrap()).map(|it| it.to_string());
        assert_eq!(soname(VersionPolicy::Major, "1.2.3").as_deref(), Some("1"));
        assert_eq!(soname(VersionPolicy::MajorMinor, "1.2.3").as_deref(), Some("1.2"));
        assert_eq!(soname(VersionPolicy::MajorMinor, "3").as_deref(), Some("3.0"));
        assert_eq!(soname(VersionPolicy::Major, "8.2.2.post1").as_deref(), Some("8"));
        assert_eq!(soname(VersionPolicy::Capability, "1.2.3"), None);
        assert_eq!(bound(VersionPolicy::Major, "1.2.3").as_deref(), Some("2"));
        assert_eq!(bound(VersionPolicy::MajorMinor, "1.2.3").as_deref(), Some("1.3"));
        assert_eq!(bound(VersionPolicy::MajorMinor, "1!1.0b1").as_deref(), Some("1!1.1"));
    }
}
