//! The parts of a simulator, each of which becomes a package.

mod build;
mod compile;
mod need;
mod soname;
mod used;
mod variant;

pub use build::{BuildSpec, Install};
pub use compile::{Compile, CompilerRange, is_of_cuda};
pub(in crate::recipe) use compile::{OF_CUDA, is_variable, not_below, not_pattern};
pub use need::Need;
pub use soname::Soname;
pub use used::{InWheels, Used};
pub use variant::{HostVariant, NONE, PYTHON, VariantAxis, VariantValue, choice_word};

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use used::UsedText;

use crate::arch::VersionPolicy;

/// What a component is. Ordered as packages are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ComponentKind {
    /// Host library and programs, without device code.
    Core,
    /// Runtime compilation.
    Rtc,
    /// Device code.
    Kernels,
    /// Headers, CMake package, pkg-config.
    Dev,
    /// Static libraries.
    Static,
    /// A module for Python.
    Python,
    /// Device sources for compilation on the user's machine.
    Source,
    /// What brings everything.
    Meta,
}

impl fmt::Display for ComponentKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Core => "core",
            Self::Rtc => "rtc",
            Self::Kernels => "kernels",
            Self::Dev => "dev",
            Self::Static => "static",
            Self::Python => "python",
            Self::Source => "source",
            Self::Meta => "meta",
        })
    }
}

/// One component.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Component {
    /// Which one.
    pub kind: ComponentKind,
    /// What its version promises.
    pub policy: VersionPolicy,
    /// How it is built; none when another component's build makes its files.
    pub build: Option<BuildSpec>,
    /// Dimensions in which its builds differ, in the order of the recipe.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(default)]
    pub variants: Vec<VariantAxis>,
    /// Globs over the installed tree, `/`-joined, relative to the prefix.
    pub files: Vec<String>,
    /// Dependencies on packages simpack does not make.
    #[schemars(with = "Vec<UsedText>")]
    pub uses: Vec<Used>,
    /// Libraries that its code opens at run time, by the names it passes to `dlopen`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(default)]
    pub opens: Vec<String>,
    /// SONAMEs of libraries whose build gives them none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(default)]
    pub sonames: Vec<Soname>,
    /// How it compiles what users write.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(default)]
    pub compile: Option<Compile>,
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

/// Where modules for every Python lie in a package.
pub const SITE_PACKAGES: &str = "site-packages/";

impl Component {
    /// Whether it is modules that every Python takes, and data: the same on every platform. They lie in `site-packages`, where conda
    /// looks for what it puts into the Python of an environment.
    pub fn is_for_every_python(&self) -> bool {
        let (modules, others): (Vec<_>, Vec<_>) = self.files.iter().partition(|glob| glob.starts_with(SITE_PACKAGES));
        !modules.is_empty() && others.iter().all(|glob| glob.starts_with("share/"))
    }

    /// What its packages need of others; a build may use more.
    pub fn used_by_packages(&self) -> impl Iterator<Item = &Used> {
        self.uses.iter().filter(|used| !used.headers_only)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

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
            against: Vec::new(),
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
