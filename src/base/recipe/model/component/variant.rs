//! Host variants: the builds of one host component that differ in what they were built with, an MPI or a Python.

use std::collections::BTreeMap;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::need::Need;

/// The axis whose values are versions of Python.
pub const PYTHON: &str = "python";
/// The value of an axis that does without; it is the default of its axis.
pub const NONE: &str = "none";

/// One choice for each axis of a component: `mpi=openmpi`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct HostVariant(BTreeMap<String, String>);

impl HostVariant {
    /// Of these choices: axis and value.
    pub fn new(choices: impl IntoIterator<Item = (String, String)>) -> Self {
        Self(choices.into_iter().collect())
    }

    /// Axes and values, sorted by axis.
    pub fn choices(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(axis, value)| (axis.as_str(), value.as_str()))
    }

    /// The value of an axis.
    pub fn of(&self, axis: &str) -> Option<&str> {
        self.0.get(axis).map(String::as_str)
    }

    /// The version of Python that it is built for, as it was written: `3.11`.
    pub fn python(&self) -> Option<&str> {
        self.of(PYTHON)
    }

    /// What build strings begin with, as conda-forge has it: `nompi`, `mpi_openmpi`, `mpi_openmpi_py311`. Python stands
    /// last.
    pub fn word(&self) -> String {
        self.words().map(|(_, word)| word).collect::<Vec<_>>().join("_")
    }

    /// The same as a part for each axis.
    pub fn words(&self) -> impl Iterator<Item = (&str, String)> {
        let others = self.choices().filter(|(axis, _)| *axis != PYTHON);
        let python = self.python().map(|version| (PYTHON, version));
        others.chain(python).map(|(axis, value)| (axis, choice_word(axis, value)))
    }
}

/// One choice as a part of build strings: `nompi`, `mpi_openmpi`, `py311`.
pub fn choice_word(axis: &str, value: &str) -> String {
    match (axis, value) {
        (PYTHON, version) => format!("py{}", version.replace('.', "")),
        (axis, NONE) => format!("no{axis}"),
        (axis, value) => format!("{axis}_{value}"),
    }
}

impl fmt::Display for HostVariant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let choices: Vec<String> = self.choices().map(|(axis, value)| format!("{axis}={value}")).collect();
        f.pad(&choices.join(" "))
    }
}

/// What a value of an axis adds to the build of its component.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct VariantValue {
    /// Its name: `openmpi`, `3.11`.
    pub name: String,
    /// Options, which go before those of the build.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(default)]
    pub options: BTreeMap<String, String>,
    /// What the build needs of others, beside what it needs in any case.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(default)]
    pub needs: Vec<Need>,
}

/// A dimension of the builds of a component.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct VariantAxis {
    /// Its name: `mpi`, `python`.
    pub name: String,
    /// Its values, the default first.
    pub values: Vec<VariantValue>,
}
