//! What a comparison means for the version number under a component's policy.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Change, Weight};
use crate::arch::Version;
use crate::arch::VersionPolicy;

/// The answer to "may this replace that?".
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Every consumer of either release runs with either.
    Compatible,
    /// Consumers of the old release run with the new one.
    Additions,
    /// A consumer of the old release can break.
    Incompatible,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Compatible => "compatible",
            Self::Additions => "additions",
            Self::Incompatible => "incompatible",
        })
    }
}

/// The verdict with the version number that fits it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Advice {
    /// What the worst change says.
    pub verdict: Verdict,
    /// Lowest release that the policy allows for these changes, when the old release is known.
    pub lowest: Option<Version>,
    /// Whether the new release, when it is known, is high enough.
    pub fits: Option<bool>,
}

/// Verdict and version number. Under `major`, a break raises the first number and an addition the
/// second; under `major.minor`, a break raises the second and an addition the third. `capability` is
/// an exact match, for which a symbol says nothing: it is judged like `major.minor`.
pub fn advise(changes: &[Change], policy: VersionPolicy, old: Option<&Version>, new: Option<&Version>) -> Advice {
    let worst = changes.iter().map(|change| change.weight).max().unwrap_or(Weight::Harmless);
    let verdict = match worst {
        Weight::Harmless => Verdict::Compatible,
        Weight::Addition => Verdict::Additions,
        Weight::Breaking => Verdict::Incompatible,
    };
    let first = match policy {
        VersionPolicy::Major => 0,
        VersionPolicy::MajorMinor | VersionPolicy::Capability => 1,
    };
    let lowest = old.map(|old| match verdict {
        Verdict::Compatible => *old,
        Verdict::Additions => old.raised(first + 1),
        Verdict::Incompatible => old.raised(first),
    });
    let fits = lowest.as_ref().zip(new).map(|(lowest, new)| new >= lowest);
    Advice { verdict, lowest, fits }
}
