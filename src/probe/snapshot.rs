//! The environment of a call, taken once.

use std::collections::{BTreeMap, BTreeSet};

use crate::manifest::EnvironmentMarks;

/// What of the environment may change what is found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Snapshot {
    /// Values of the variables that may be recorded.
    pub values: BTreeMap<String, String>,
    /// Names of variables that mark a kind of machine and are set.
    pub marks: BTreeSet<String>,
    /// Where programs are looked for.
    pub path: Vec<String>,
    /// Where the user's own profiles lie.
    pub home: Option<String>,
    /// Profiles of Nix.
    pub nix_profiles: Vec<String>,
    /// Current directory.
    pub directory: String,
}

impl Snapshot {
    /// Of this process.
    pub fn here(marks: &EnvironmentMarks) -> Self {
        let value = |name: &str| {
            let value = std::env::var_os(name).map(|value| value.to_string_lossy().into_owned());
            value.filter(|value| !value.is_empty() || name == "CUDA_VISIBLE_DEVICES")
        };
        let named = marks.surroundings.iter().flat_map(|mark| &mark.variables);
        let directory = std::env::current_dir().map(|directory| directory.to_string_lossy().into_owned());
        Self {
            values: marks.variables.iter().filter_map(|name| Some((name.clone(), value(name)?))).collect(),
            marks: named.filter(|name| std::env::var_os(name).is_some()).cloned().collect(),
            path: value("PATH").map(|path| path.split(':').map(str::to_owned).collect()).unwrap_or_default(),
            home: value("HOME"),
            nix_profiles: value("NIX_PROFILES")
                .map(|text| text.split_whitespace().map(str::to_owned).collect())
                .unwrap_or_default(),
            directory: directory.unwrap_or_else(|_| "/".to_owned()),
        }
    }

    /// Of another machine: nothing but what is given as `NAME=VALUE`.
    pub fn of(values: BTreeMap<String, String>) -> Self {
        let path = ["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"];
        Self { values, path: path.map(str::to_owned).to_vec(), directory: "/".to_owned(), ..Self::default() }
    }

    /// A variable that is set and not empty.
    pub fn value(&self, name: &str) -> Option<&str> {
        self.values.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }
}
