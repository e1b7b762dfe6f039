//! Packages that a component needs and simpack does not make.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A package that simpack does not make, with the versions that do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(into = "UsedText")]
pub struct Used {
    /// Its library's name among those of the vendor; none for any other package.
    pub library: Option<String>,
    /// conda's name of the package.
    pub package: String,
    /// Range of versions; empty for any.
    pub versions: String,
    /// Libraries that it is said to bring, by the names that the loader looks for.
    pub provides: Vec<String>,
    /// It is headers alone, which a build needs and packages do not.
    pub headers_only: bool,
    /// What stands for it where packages are wheels.
    pub wheel: Option<InWheels>,
}

/// What stands for a package of conda where packages are wheels.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum InWheels {
    /// A project of Python's package index, in the same versions.
    Project(String),
    /// Nothing: the systems that wheels are made for have it.
    System,
}

/// The same as a text, or a table where there is more to say.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum UsedText {
    /// Name and range.
    Plain(String),
    /// And what it brings, and what wheels have.
    #[serde(rename_all = "kebab-case")]
    Table {
        /// Name and range.
        package: String,
        /// Libraries.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        #[schemars(default)]
        provides: Vec<String>,
        /// What stands for it where packages are wheels.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schemars(default)]
        wheel: Option<InWheels>,
    },
}

impl fmt::Display for Used {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(format!("{} {}", self.package, self.versions).trim_end())
    }
}

impl From<Used> for UsedText {
    fn from(used: Used) -> Self {
        let package = used.to_string();
        match used {
            Used { provides, wheel: None, .. } if provides.is_empty() => Self::Plain(package),
            Used { provides, wheel, .. } => Self::Table { package, provides, wheel },
        }
    }
}
