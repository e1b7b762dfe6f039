//! Host variants: the builds of one host component that differ in what they were built with, an MPI or a Python.

use std::collections::BTreeMap;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::model::{BuildSpec, Component};
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

/// One build of a component.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VariantBuild {
    /// Which one; none of a component without axes.
    pub host: Option<HostVariant>,
    /// How it is built: the component's own, with what the variant adds.
    pub spec: BuildSpec,
}

impl Component {
    /// Its host variants, the default first; none without axes.
    pub fn host_variants(&self) -> Vec<HostVariant> {
        self.builds().into_iter().filter_map(|build| build.host).collect()
    }

    /// The variant that people get who ask for none.
    pub fn default_variant(&self) -> Option<HostVariant> {
        let first = |axis: &VariantAxis| Some((axis.name.clone(), axis.values.first()?.name.clone()));
        (!self.variants.is_empty()).then(|| HostVariant::new(self.variants.iter().filter_map(first)))
    }

    /// Whether package managers take a variant before others: the default of every axis but Python's, whose version
    /// they know. Of a component with Python alone none is preferred.
    pub fn prefers(&self, host: &HostVariant) -> bool {
        let mut axes = self.variants.iter().filter(|axis| axis.name != PYTHON);
        axes.all(|axis| axis.values.first().is_some_and(|first| host.of(&axis.name) == Some(&first.name)))
    }

    /// Whether package managers are to take one of its variants before others.
    pub fn has_preference(&self) -> bool {
        self.variants.iter().any(|axis| axis.name != PYTHON)
    }

    /// All of its builds, the default first: one for each combination of its axes' values.
    pub fn builds(&self) -> Vec<VariantBuild> {
        let Some(own) = &self.build else { return Vec::new() };
        let mut combined: Vec<Vec<(&str, &VariantValue)>> = vec![Vec::new()];
        for axis in &self.variants {
            let before = combined.into_iter();
            combined = before
                .flat_map(|chosen| {
                    let values = axis.values.iter();
                    values.map(move |value| [chosen.as_slice(), &[(axis.name.as_str(), value)]].concat())
                })
                .collect();
        }
        let build = |chosen: Vec<(&str, &VariantValue)>| {
            let mut spec = own.clone();
            for (_, value) in &chosen {
                spec.options.extend(value.options.clone());
                spec.needs.extend(value.needs.clone());
            }
            for text in spec.options.values_mut() {
                for (axis, value) in &chosen {
                    *text = text.replace(&format!("{{{axis}}}"), &value.name);
                }
            }
            let choices = chosen.iter().map(|(axis, value)| ((*axis).to_owned(), value.name.clone()));
            VariantBuild { host: (!chosen.is_empty()).then(|| HostVariant::new(choices)), spec }
        };
        combined.into_iter().map(build).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arch::VersionPolicy;
    use crate::build_system::BuildDriver;
    use crate::recipe::ComponentKind;

    fn axis(name: &str, values: &[(&str, &[&str])]) -> VariantAxis {
        let value = |(name, needs): &(&str, &[&str])| VariantValue {
            name: (*name).to_owned(),
            options: BTreeMap::from([("WITH".to_owned(), (*name).to_owned())]),
            needs: needs.iter().map(|need| need.parse().unwrap()).collect(),
        };
        VariantAxis { name: name.to_owned(), values: values.iter().map(value).collect() }
    }

    #[test]
    fn builds_are_all_combinations_and_the_default_comes_first() {
        let spec = BuildSpec {
            driver: BuildDriver::Cmake,
            source: ".".to_owned(),
            options: BTreeMap::from([("DIR".to_owned(), "lib/python{python}".to_owned())]),
            inputs: None,
            targets: Vec::new(),
            install: Vec::new(),
            needs: vec!["hdf5".parse().unwrap()],
        };
        let component = Component {
            kind: ComponentKind::Core,
            policy: VersionPolicy::Major,
            build: Some(spec),
            variants: vec![
                axis("mpi", &[("none", &[]), ("openmpi", &["openmpi >=4"])]),
                axis("python", &[("3.11", &[]), ("3.13", &[])]),
            ],
            files: Vec::new(),
            uses: Vec::new(),
            opens: Vec::new(),
            sonames: Vec::new(),
            compile: None,
        };
        let builds = component.builds();
        let words: Vec<String> = builds.iter().map(|build| build.host.as_ref().unwrap().word()).collect();
        assert_eq!(words, ["nompi_py311", "nompi_py313", "mpi_openmpi_py311", "mpi_openmpi_py313"]);
        assert_eq!(builds[0].host, component.default_variant());
        assert_eq!(builds[2].host.as_ref().unwrap().to_string(), "mpi=openmpi python=3.11");
        let needs: Vec<String> = builds[3].spec.needs.iter().map(ToString::to_string).collect();
        assert_eq!(needs, ["hdf5", "openmpi >=4"]);
        assert_eq!(builds[3].spec.options["DIR"], "lib/python3.13");
        assert_eq!(builds[3].spec.options["WITH"], "3.13");
        let preferred: Vec<bool> = builds.iter().map(|build| component.prefers(build.host.as_ref().unwrap())).collect();
        assert_eq!(preferred, [true, true, false, false]);
    }
}
