//! What a package depends on, in no format's words.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::arch::{KernelAbiTag, KernelTarget, Version, VersionPolicy, VersionRange};
use crate::fs::Digest;
use crate::recipe::{HostVariant, InWheels, Used};

/// One dependency of a package.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Dependency {
    /// A package of the same distribution, in every version that keeps the promise of a policy.
    Component {
        /// Its name.
        package: String,
        /// Lowest version.
        version: Version,
        /// What other versions do as well; `capability` stands for no other one.
        policy: VersionPolicy,
        /// Its host variant, where others do not do.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        host: Option<HostVariant>,
    },
    /// Exactly one build of another package of the same distribution.
    Build {
        /// Its name.
        package: String,
        /// Its version.
        version: Version,
        /// Digest of its manifest, which tells its builds apart.
        manifest: Digest,
    },
    /// The kernel table that core and kernels share: one environment holds one.
    KernelAbi {
        /// Tag over the table.
        tag: KernelAbiTag,
    },
    /// The place that one of several libraries takes that ship cut: one environment holds one.
    Slot {
        /// What the library was cut to.
        target: KernelTarget,
    },
    /// A library of the vendor.
    Vendor {
        /// Its name among the known vendor libraries: `nvrtc`.
        library: String,
        /// SONAME that the code asks for, where it is known: `libnvrtc.so.13`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        soname: Option<String>,
        /// Versions that do.
        versions: Versions,
    },
    /// A package of an ecosystem.
    Package {
        /// Whose package it is.
        ecosystem: Ecosystem,
        /// Its name there.
        name: String,
        /// Versions that do.
        versions: Versions,
        /// What stands for it where packages are wheels, where it is said.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        wheel: Option<InWheels>,
    },
}

impl Dependency {
    /// A package of conda's channels.
    pub fn of_conda(name: impl Into<String>, versions: Versions) -> Self {
        Self::Package { ecosystem: Ecosystem::Conda, name: name.into(), versions, wheel: None }
    }

    /// Whether both ask for the same versions of the same package of an ecosystem, whatever is said of it besides.
    pub fn asks_for_same(&self, other: &Self) -> bool {
        let package = |dependency: &Self| match dependency {
            Self::Package { ecosystem, name, versions, .. } => Some((*ecosystem, name.clone(), versions.clone())),
            _ => None,
        };
        package(self).is_some() && package(self) == package(other)
    }

    /// Whose it is: the library's name among those of the vendor, or the package's; none for what ties packages together.
    pub fn name(&self) -> Option<&str> {
        match self {
            Self::Component { package: name, .. } | Self::Build { package: name, .. } => Some(name),
            Self::Vendor { library: name, .. } | Self::Package { name, .. } => Some(name),
            Self::KernelAbi { .. } | Self::Slot { .. } => None,
        }
    }
}

impl From<&Used> for Dependency {
    fn from(used: &Used) -> Self {
        let versions = Versions::written(&used.versions);
        match &used.library {
            Some(library) => Self::Vendor { library: library.clone(), soname: None, versions },
            None => Self::Package {
                ecosystem: Ecosystem::Conda,
                name: used.package.clone(),
                versions,
                wheel: used.wheel.clone(),
            },
        }
    }
}

impl fmt::Display for Dependency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Component { package, version, policy, host } => {
                write!(f, "{package} {version} or compatible by {policy}")?;
                host.as_ref().map_or(Ok(()), |host| write!(f, ", {host}"))
            }
            Self::Build { package, version, .. } => write!(f, "exactly {package} {version}"),
            Self::KernelAbi { tag } => write!(f, "kernel ABI {tag}"),
            Self::Slot { target } => write!(f, "slice {target}"),
            Self::Vendor { library: name, versions, .. } | Self::Package { name, versions, .. } => {
                f.write_str(format!("{name} {versions}").trim_end())
            }
        }
    }
}

/// Who else makes packages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Ecosystem {
    /// conda's channels.
    Conda,
}

/// Versions of something that others make.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Versions {
    /// A range, which every format can write.
    Range(VersionRange),
    /// What a recipe asks for beyond a range, in conda's words, which recipes are written in: `!=1.2.*`.
    Written(String),
}

impl Versions {
    /// Any version.
    pub fn any() -> Self {
        Self::Range(VersionRange::default())
    }

    /// As a recipe writes them: `>=13.0,<14`, or nothing.
    pub fn written(text: &str) -> Self {
        // Only what is written again in the same way is a range: every other text stays as it is.
        let range = text.parse().ok().filter(|range: &VersionRange| range_text(range) == text);
        range.map_or_else(|| Self::Written(text.to_owned()), Self::Range)
    }
}

impl From<VersionRange> for Versions {
    fn from(range: VersionRange) -> Self {
        Self::Range(range)
    }
}

fn range_text(range: &VersionRange) -> String {
    let from = range.from.iter().map(|from| format!(">={from}"));
    from.chain(range.below.iter().map(|below| format!("<{below}"))).collect::<Vec<_>>().join(",")
}

impl std::fmt::Display for Versions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Range(range) => f.pad(&range_text(range)),
            Self::Written(text) => f.pad(text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_stay_as_they_were_written() {
        for (text, is_range) in [
            ("", true),
            (">=13.0,<14", true),
            (">=12", true),
            ("<2", true),
            ("<2,>=1", false),
            (">=1.0rc1", true),
            (">=01", false),
            ("==1.2.*", false),
        ] {
            let versions = Versions::written(text);
            assert_eq!(versions.to_string(), text);
            assert_eq!(matches!(versions, Versions::Range(_)), is_range, "{text}");
        }
    }
}
