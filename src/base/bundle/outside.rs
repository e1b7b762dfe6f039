//! Libraries that files of a bundle need and that are in no package of the distribution.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::dependency::{Dependency, Versions};

/// A library of others that files of a bundle need.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct OutsideLibrary {
    /// The name that the loader looks for: `libhdf5.so.103`.
    pub library: String,
    /// Who has it.
    pub from: Provider,
}

/// Who has a library.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Provider {
    /// A package of a channel, which the bundle's package depends on.
    Channel {
        /// Its name.
        package: String,
        /// Versions that do.
        versions: Versions,
    },
    /// The machine, on which the package then depends.
    System {
        /// Its name in pkg-config.
        module: String,
        /// The version that was built with.
        version: String,
    },
}

impl OutsideLibrary {
    /// What the package depends on for it; nothing that a package manager could bring where the machine has it.
    pub fn dependency(&self) -> Option<Dependency> {
        match &self.from {
            Provider::Channel { package, versions } => Some(Dependency::of_conda(package, versions.clone())),
            Provider::System { .. } => None,
        }
    }
}
