//! What is installed in prefixes: packages that simpack made, and the vendor's libraries beside them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::bundle::BundleManifest;

/// A prefix: a conda environment, a virtual environment, a Nix profile, a directory.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Prefix {
    /// Its directory.
    pub path: String,
    /// What it is.
    pub kind: PrefixKind,
    /// Packages, by their `simpack.json`.
    #[serde(default)]
    pub packages: Vec<InstalledPackage>,
    /// Packages of which nothing is known, because their `simpack.json` is damaged.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub damaged: Vec<DamagedPackage>,
    /// Files of the vendor's libraries in it, and of others of which two in one process hurt, sorted by path.
    #[serde(default)]
    pub vendor: Vec<VendorFile>,
}

/// What a prefix is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PrefixKind {
    /// conda, mamba, pixi.
    Conda,
    /// A virtual environment of Python.
    Venv,
    /// The directory of a simulator's wheels below `site-packages`.
    Wheels,
    /// A profile of Nix.
    Nix,
    /// Any directory.
    #[default]
    Directory,
}

/// A package that cannot be examined.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct DamagedPackage {
    /// Its manifest.
    pub path: String,
    /// What is wrong with it.
    pub reason: String,
}

/// An installed package.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct InstalledPackage {
    /// What it says of itself.
    pub manifest: BundleManifest,
    /// The channel that conda took it from, without names and passwords in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub channel: Option<String>,
    /// Files that are not there.
    #[serde(default)]
    pub missing: Vec<String>,
    /// Files that are not what the manifest says.
    #[serde(default)]
    pub changed: Vec<String>,
    /// What its programs and libraries would load.
    #[serde(default)]
    pub loads: Vec<Loads>,
}

/// What one file would load, as far as it matters.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Loads {
    /// Path below the prefix.
    pub file: String,
    /// Names that are found nowhere.
    #[serde(default)]
    pub missing: Vec<String>,
    /// Versions that a winner lacks: `GLIBCXX_3.4.32 of /opt/lib/libstdc++.so.6`.
    #[serde(default)]
    pub lacks: Vec<String>,
    /// Libraries of the vendor and of the driver, and what led to them.
    #[serde(default)]
    pub vendor: Vec<VendorLoad>,
}

/// A library of the vendor in a process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct VendorLoad {
    /// The name that was asked for.
    pub name: String,
    /// The file that answers.
    pub path: String,
    /// The rule that led there.
    pub by: String,
    /// The file that would answer without `LD_LIBRARY_PATH`; none where it is the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instead_of: Option<String>,
}

/// A file of a vendor's library.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct VendorFile {
    /// Path below the prefix, links followed.
    pub path: String,
    /// Its SONAME.
    pub soname: String,
    /// Bytes of the file.
    pub size: u64,
}
