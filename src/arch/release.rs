//! A release number of any library: dot-separated numbers of any count, `12.5.4.2`.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Version;

/// Dot-separated numbers; missing ones count as zero, so `12.5` equals `12.5.0`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
pub struct Release(Vec<u64>);

impl Release {
    /// The number at a place, zero beyond the last.
    pub fn number(&self, place: usize) -> u64 {
        self.0.get(place).copied().unwrap_or(0)
    }

    /// The first release in which the number at `place` is one higher, in as few numbers as say it: `2` or `1.3`.
    #[must_use]
    pub fn ended_by(&self, place: usize) -> Self {
        Self((0..=place).map(|at| self.number(at) + u64::from(at == place)).collect())
    }

    /// The release in which the number at `place` is one higher and the three numbers after it are
    /// zero, in the three-number form of packages.
    #[must_use]
    pub fn raised(&self, place: usize) -> Self {
        let numbers = (0..3).map(|at| match at.cmp(&place) {
            Ordering::Less => self.number(at),
            Ordering::Equal => self.number(at) + 1,
            Ordering::Greater => 0,
        });
        Self(numbers.collect())
    }
}

impl PartialEq for Release {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Release {}

impl PartialOrd for Release {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Release {
    fn cmp(&self, other: &Self) -> Ordering {
        let places = self.0.len().max(other.0.len());
        (0..places)
            .map(|place| self.number(place).cmp(&other.number(place)))
            .find(|o| o.is_ne())
            .unwrap_or(Ordering::Equal)
    }
}

impl fmt::Display for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0.iter().map(u64::to_string).collect::<Vec<_>>().join("."))
    }
}

impl FromStr for Release {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{text}` is not a release such as 1.0.1 or 12.5.4.2");
        let digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        if text.len() > 64 || !text.split('.').all(digits) {
            return Err(wrong());
        }
        text.split('.').map(|part| part.parse().map_err(|_| wrong())).collect::<Result<_, _>>().map(Self)
    }
}

impl TryFrom<String> for Release {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<Release> for String {
    fn from(release: Release) -> Self {
        release.to_string()
    }
}

impl From<u32> for Release {
    fn from(number: u32) -> Self {
        Self(vec![number.into()])
    }
}

impl From<Version> for Release {
    fn from(version: Version) -> Self {
        Self([version.major, version.minor, version.patch].map(u64::from).to_vec())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn release(text: &str) -> Release {
        text.parse().unwrap()
    }

    #[test]
    fn numbers_are_compared_as_numbers() {
        assert!(release("12.5.10") > release("12.5.9.99"));
        assert_eq!(release("12.5"), release("12.5.0.0"));
        assert!(release("11.3.1.170") > release("11.3.1"));
        for odd in ["", "1.", ".1", "1.x", "v1", "1..2", "99999999999999999999999", &"1.".repeat(40)] {
            assert!(odd.parse::<Release>().is_err(), "{odd}");
        }
    }

    #[test]
    fn raised_at_a_place() {
        assert_eq!(release("1.2.3").raised(0).to_string(), "2.0.0");
        assert_eq!(release("1.2.3").raised(1).to_string(), "1.3.0");
        assert_eq!(release("1.2").raised(2).to_string(), "1.2.1");
    }
}
