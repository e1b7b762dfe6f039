//! What builds need of others: packages of conda channels, or libraries that the machine has.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::recipe::parse::words::{is_constraint, is_package_name};

/// Something that simpack does not make and a build needs.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "from")]
pub enum Need {
    /// A package of the recipe's channels, which the lock holds.
    Channel {
        /// Its name.
        name: String,
        /// Range of versions; empty for any.
        versions: String,
        /// Glob over its build string; none for any.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        build: Option<String>,
    },
    /// A library of the machine, which no lock can hold.
    System {
        /// Its name in pkg-config.
        module: String,
        /// Range of versions; empty for any.
        versions: String,
    },
}

/// Stands before what comes from the machine.
const SYSTEM: &str = "system:";

impl Need {
    /// What it is called: the package, or the module of pkg-config.
    pub fn name(&self) -> &str {
        match self {
            Self::Channel { name, .. } | Self::System { module: name, .. } => name,
        }
    }

    /// Range of versions; empty for any.
    pub fn versions(&self) -> &str {
        match self {
            Self::Channel { versions, .. } | Self::System { versions, .. } => versions,
        }
    }

    /// Whether it comes from a channel.
    pub fn is_of_channel(&self) -> bool {
        matches!(self, Self::Channel { .. })
    }

    /// The version of the machine's Python whose headers it is: `3.11` of `system:python-3.11`, or of
    /// `system:python-3.11-embed`, with which programs are linked.
    pub fn python_of_machine(&self) -> Option<&str> {
        let Self::System { module, .. } = self else { return None };
        let version = module.strip_prefix("python-")?;
        Some(version.strip_suffix("-embed").unwrap_or(version))
    }
}

impl FromStr for Need {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let system = text.trim().strip_prefix(SYSTEM);
        let mut words = system.unwrap_or(text).split_whitespace();
        let name = words.next().unwrap_or_default().to_owned();
        let rest: Vec<&str> = words.collect();
        // Spaces may stand between constraints; what is no constraint begins the build string.
        let is_range = |word: &&&str| {
            word.starts_with(['>', '<', '=', '!', '~', ',', '*']) || word.starts_with(|c: char| c.is_ascii_digit())
        };
        let ranged = rest.iter().take_while(is_range).count();
        let versions = rest[..ranged].concat();
        let build: Option<String> = rest.get(ranged).map(|&word| word.to_owned());
        let is_range = versions.is_empty() || versions == "*" || versions.split(',').all(is_constraint);
        if !is_range || rest.len() > ranged + 1 {
            return Err(format!("`{}` is not a version range such as \">=1.10,<2\"", rest.join(" ")));
        }
        let versions = if versions == "*" { String::new() } else { versions };
        match system {
            Some(_) => Self::system(name, versions, build.as_deref()),
            None if !is_package_name(&name) => Err(format!(
                "`{text}` is not a package such as \"hdf5 >=1.10\", or a library of the machine such as \"system:hdf5\""
            )),
            None if build.as_deref().is_some_and(|build| !is_build(build)) => {
                Err(format!("`{}` is not a build string such as \"mpi_openmpi_*\"", build.unwrap_or_default()))
            }
            None => Ok(Self::Channel { name, versions, build }),
        }
    }
}

impl Need {
    fn system(module: String, versions: String, build: Option<&str>) -> Result<Self, String> {
        let is_module = module.starts_with(|first: char| first.is_ascii_alphanumeric())
            && module.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.+".contains(&byte));
        if !is_module {
            return Err(format!("`{module}` is not a name of pkg-config such as \"system:hdf5\""));
        }
        if let Some(build) = build {
            return Err(format!("`{build}`: libraries of the machine have no build strings"));
        }
        let odd =
            versions.split(',').find(|part| ["!", "~"].iter().any(|sign| part.starts_with(sign)) || part.contains('*'));
        match odd {
            Some(part) => Err(format!("pkg-config does not know `{part}`: it compares by >=, <=, >, < and =")),
            None => Ok(Self::System { module, versions }),
        }
    }
}

/// Letters of a build string, with `*` for any.
fn is_build(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.*+".contains(&byte))
}

impl fmt::Display for Need {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::System { module, versions } => f.write_str(format!("{SYSTEM}{module} {versions}").trim_end()),
            Self::Channel { name, versions, build: None } => f.write_str(format!("{name} {versions}").trim_end()),
            Self::Channel { name, versions, build: Some(build) } => {
                write!(f, "{name} {} {build}", if versions.is_empty() { "*" } else { versions })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_read_prints_again() {
        for (text, printed) in [
            ("hdf5", "hdf5"),
            ("hdf5 >=1.10, <2", "hdf5 >=1.10,<2"),
            ("hdf5 * mpi_openmpi_*", "hdf5 * mpi_openmpi_*"),
            ("hdf5 >=1.14 mpi*", "hdf5 >=1.14 mpi*"),
            ("system:hdf5 >= 1.10", "system:hdf5 >=1.10"),
            ("system:mpi", "system:mpi"),
        ] {
            let need: Need = text.parse().unwrap();
            assert_eq!(need.to_string(), printed);
            assert_eq!(printed.parse::<Need>().unwrap(), need);
        }
    }

    #[test]
    fn pythons_of_the_machine_are_known_by_their_modules() {
        let version = |text: &str| text.parse::<Need>().unwrap().python_of_machine().map(str::to_owned);
        assert_eq!(version("system:python-3.11").as_deref(), Some("3.11"));
        assert_eq!(version("system:python-3.11-embed >=3.11").as_deref(), Some("3.11"));
        for other in ["python 3.11.*", "system:python3", "system:pybind11"] {
            assert_eq!(version(other), None, "{other}");
        }
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (text, why) in [
            ("HDF5", "is not a package"),
            ("", "is not a package"),
            ("hdf5 >=", "is not a version range"),
            ("hdf5 >=1 a b", "is not a version range"),
            ("hdf5 >=1 $(x)", "is not a build string"),
            ("system:", "is not a name of pkg-config"),
            ("system:-x", "is not a name of pkg-config"),
            ("system:hdf5 !=1.2", "does not know `!=1.2`"),
            ("system:hdf5 >=1 mpi", "no build strings"),
        ] {
            let said = text.parse::<Need>().unwrap_err();
            assert!(said.contains(why), "{text}: {said}");
        }
    }
}
