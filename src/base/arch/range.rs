//! A range of versions as a value: every format writes it in words of its own.

use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Version;

/// Versions from one, inclusive, to below another: `>=13.0,<14`. Without bounds it holds every version.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct VersionRange {
    /// Lowest, inclusive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<Version>,
    /// End, exclusive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub below: Option<Version>,
}

impl VersionRange {
    /// All versions from one on.
    pub fn at_least(from: Version) -> Self {
        Self { from: Some(from), below: None }
    }

    /// Whether a version lies in it.
    pub fn contains(&self, version: &Version) -> bool {
        self.from.as_ref().is_none_or(|from| from <= version) && self.below.as_ref().is_none_or(|below| version < below)
    }
}

impl FromStr for VersionRange {
    type Err = String;

    /// Reads `>=13.0,<14`, a bound alone, or nothing.
    fn from_str(text: &str) -> Result<Self, String> {
        let mut range = Self::default();
        for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            let (bound, number) = match (part.strip_prefix(">="), part.strip_prefix('<')) {
                (Some(number), _) => (&mut range.from, number),
                (None, Some(number)) => (&mut range.below, number),
                (None, None) => return Err(format!("`{part}` is not a bound such as >=13.0 or <14")),
            };
            if bound.replace(number.parse()?).is_some() {
                return Err(format!("`{text}` has two bounds of one kind"));
            }
        }
        Ok(range)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds() {
        let range: VersionRange = ">=13.0,<14".parse().unwrap();
        let holds = |text: &str| range.contains(&text.parse().unwrap());
        assert_eq!(["12.9", "13", "13.4.1", "14"].map(holds), [false, true, true, false]);
        assert_eq!("".parse(), Ok(VersionRange::default()));
        assert_eq!(">=12".parse(), Ok(VersionRange::at_least("12".parse().unwrap())));
        for wrong in ["==13", ">=1,>=2", "<=3", "13.0.*", ">=1a", "~=1.2"] {
            assert!(wrong.parse::<VersionRange>().is_err(), "{wrong}");
        }
    }
}
