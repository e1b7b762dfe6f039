//! How a host component is built.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::inputs::Inputs;
use super::ComponentKind;
use super::need::Need;
use crate::build_system::BuildDriver;
use crate::error::Result;

/// How a host component is built.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct BuildSpec {
    /// Which build system.
    pub driver: BuildDriver,
    /// Directory with its top file, relative to the source.
    pub source: String,
    /// Options: CMake cache entries, make variables, environment of a script. Placeholders in values are replaced.
    pub options: BTreeMap<String, String>,
    /// Files the build reads, as globs relative to the source directory: they make its key. Absent, it reads what the
    /// directory does not leave out: hidden files, what its `.gitignore` files ignore, what builds write.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(default)]
    pub inputs: Option<Vec<String>>,
    /// Make targets or the script's file name.
    pub targets: Vec<String>,
    /// What is installed of what was built, where the build has no install target that serves.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(default)]
    pub install: Vec<Install>,
    /// What it needs of others: packages of the channels, libraries of the machine.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(default)]
    pub needs: Vec<Need>,
    /// Components of the recipe whose builds it is given what they installed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(default)]
    pub against: Vec<ComponentKind>,
}

/// Files of a build that are installed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Install {
    /// Glob over what the build left, relative to where it leaves things.
    pub from: String,
    /// Path below the prefix; with a slash at its end the directory for all that match.
    pub to: String,
}

impl BuildSpec {
    /// Its directory below the root of the source; empty for the root.
    pub fn directory(&self) -> &str {
        match self.source.trim_matches('/').trim_start_matches("./") {
            "." => "",
            dir => dir,
        }
    }

    /// The files that it reads.
    ///
    /// # Errors
    /// Its `inputs` are not globs.
    pub fn reads(&self) -> Result<Inputs> {
        Inputs::below(self.directory(), self.inputs.as_deref())
    }
}
