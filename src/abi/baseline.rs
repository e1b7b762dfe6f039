//! A recorded set of interfaces: what a release promised.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Interface;
use crate::arch::Version;

/// Version of the baseline's form.
pub const BASELINE_SCHEMA: u32 = 1;

/// The interfaces of all libraries of a tree or package.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Baseline {
    /// Always [`BASELINE_SCHEMA`].
    pub schema: u32,
    /// What was recorded, in a word: a package's or file's name.
    pub subject: String,
    /// Its release, if it is known.
    pub release: Option<Version>,
    /// Libraries by SONAME; by file name where there is none.
    pub libraries: BTreeMap<String, Interface>,
}

impl Baseline {
    /// Reads a baseline's text.
    ///
    /// # Errors
    /// In words: no JSON of this form, or a form that this simpack does not know.
    pub fn parse(text: &[u8]) -> Result<Self, String> {
        #[derive(Deserialize)]
        struct Form {
            schema: u32,
        }
        let form: Form = serde_json::from_slice(text).map_err(|error| format!("no baseline: {error}"))?;
        if form.schema != BASELINE_SCHEMA {
            return Err(format!("baseline of schema {}, this simpack reads {BASELINE_SCHEMA}", form.schema));
        }
        serde_json::from_slice(text).map_err(|error| format!("a baseline that is not whole: {error}"))
    }
}
