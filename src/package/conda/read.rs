//! What packages and channels of conda say: records, and the match specs in them. Nothing outside reads one.

use std::collections::BTreeMap;

use rattler_conda_types::package::BuildString;
use rattler_conda_types::{MatchSpec, Matches, PackageRecord, ParseStrictness, StringMatcher, VersionWithSource};
use serde::Deserialize;

use crate::arch::{CudaVersion, Version};

/// The directory of a package that is the package manager's.
pub const INFO: &str = "info/";
/// The file in which a package says what it is.
pub const INDEX: &str = "info/index.json";
/// The list of a package's files with their digests.
pub const PATHS: &str = "info/paths.json";

/// What a package's index or a channel's index says of a package; others may say more.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
pub struct Record {
    /// Name.
    pub name: String,
    /// Version.
    pub version: String,
    /// Build string.
    #[serde(default)]
    pub build: String,
    /// The higher one is taken, of two builds that both fit.
    #[serde(default)]
    pub build_number: u64,
    /// Match specs of what it needs.
    #[serde(default)]
    pub depends: Vec<String>,
    /// Bytes of its archive; a channel's index says them.
    #[serde(default)]
    pub size: Option<u64>,
}

impl Record {
    /// Reads a package's `info/index.json`.
    ///
    /// # Errors
    /// It is no JSON, or says neither name nor version.
    pub fn read(bytes: &[u8]) -> serde_json::Result<Self> {
        serde_json::from_slice(bytes)
    }

    /// What it needs, as far as it can be understood, each with its text.
    pub fn wanted(&self) -> impl Iterator<Item = (&str, Wanted)> {
        self.depends.iter().filter_map(|spec| Some((spec.as_str(), Wanted::read(spec).ok()?)))
    }

    /// CUDA version of the driver that it asks for: `__cuda >=13.0`.
    pub fn driver(&self) -> Option<CudaVersion> {
        self.depends.iter().filter_map(|spec| spec.strip_prefix("__cuda >=")?.parse().ok()).min()
    }
}

/// The packages that a channel's `repodata.json` lists.
///
/// # Errors
/// It is no JSON, or none of a channel.
pub fn records(bytes: &[u8]) -> serde_json::Result<impl Iterator<Item = Record>> {
    #[derive(Deserialize)]
    struct Index {
        #[serde(default)]
        packages: BTreeMap<String, Record>,
        #[serde(default, rename = "packages.conda")]
        conda: BTreeMap<String, Record>,
    }
    let index: Index = serde_json::from_slice(bytes)?;
    Ok(index.packages.into_values().chain(index.conda.into_values()))
}

/// What a match spec asks for.
#[derive(Debug, Clone)]
pub struct Wanted(MatchSpec);

impl Wanted {
    /// Reads a spec as people write them.
    ///
    /// # Errors
    /// It is none; why, in words.
    pub fn read(spec: &str) -> Result<Self, String> {
        MatchSpec::from_str(spec, ParseStrictness::Lenient).map(Self).map_err(|error| error.to_string())
    }

    /// The package's name, where one is named.
    pub fn name(&self) -> Option<&str> {
        Some(self.0.name.as_exact()?.as_normalized())
    }

    /// The versions that are asked for, as conda writes them.
    pub fn version(&self) -> Option<String> {
        self.0.version.as_ref().map(ToString::to_string)
    }

    /// Its build string, where exactly one is asked for.
    pub fn build(&self) -> Option<&str> {
        match &self.0.build {
            Some(StringMatcher::Exact(build)) => Some(build),
            _ => None,
        }
    }

    /// Whether the machine has to meet it, not a package: `__glibc >=2.28`.
    pub fn is_of_machine(&self) -> bool {
        self.name().is_some_and(|name| name.starts_with("__"))
    }

    /// Whether a package does.
    pub fn is_met_by(&self, record: &Record) -> bool {
        // Most packages have another name: their versions need not be read.
        if self.name().is_some_and(|name| !name.eq_ignore_ascii_case(&record.name)) {
            return false;
        }
        let Ok(name) = record.name.parse() else { return false };
        let Ok(version) = record.version.parse::<VersionWithSource>() else { return false };
        self.0.matches(&PackageRecord::new(name, version, BuildString::new_unchecked(record.build.as_str())))
    }
}

/// The match spec of exactly one version.
pub fn exactly(name: &str, version: Version) -> String {
    format!("{name} =={}", spelled(version))
}

/// A version in conda's spelling. Behind a dot, conda would sort `dev` above `a1`. (`1.0.post1` it sorts above `1.0.1`,
/// whatever the spelling: three numbers avoid that.)
pub fn spelled(version: Version) -> String {
    version.to_string().replace(".dev", "dev")
}

/// A version from conda's spelling; none for one that PEP 440 does not know.
pub fn version(spelled: &str) -> Option<Version> {
    let text = if spelled.contains(".dev") { spelled.to_owned() } else { spelled.replace("dev", ".dev") };
    text.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn specs_of_other_packages_are_read() {
        let read = |spec: &str| Wanted::read(spec).unwrap();
        let exact = read("sim-kernels-sm_90 ==1.2.0 cuda13_k1_h2");
        assert_eq!((exact.name(), exact.build()), (Some("sim-kernels-sm_90"), Some("cuda13_k1_h2")));
        let range = read("libfoo >=1,<2");
        assert_eq!((range.name(), range.build(), range.is_of_machine()), (Some("libfoo"), None, false));
        assert!(read("__cuda_arch >=9.0").is_of_machine());
        let record =
            |version: &str| Record::read(format!(r#"{{"name": "libfoo", "version": "{version}"}}"#).as_bytes());
        assert!(range.is_met_by(&record("1.5").unwrap()) && !range.is_met_by(&record("2").unwrap()));
        assert!(Wanted::read("!!").is_err());
    }

    #[test]
    fn conda_orders_versions_as_they_are() {
        let ascending = [
            "0.9",
            "1.0.dev1",
            "1.0a1.dev2",
            "1.0a1",
            "1.0a1.post1.dev1",
            "1.0a1.post1",
            "1.0a2",
            "1.0b1",
            "1.0rc1.dev1",
            "1.0rc1",
            "1.0",
            "1.0.post1.dev1",
            "1.0.post1",
            "1.1",
            "1.10",
            "8.2.2.post1",
            "8.2.3",
            "12.5.4.2",
            "1!0.1",
        ];
        let ascending = ascending.map(|text| text.parse::<Version>().unwrap());
        for pair in ascending.windows(2) {
            let conda = |at: usize| spelled(pair[at]).parse::<rattler_conda_types::Version>().unwrap();
            assert!(pair[0] < pair[1] && conda(0) < conda(1), "{pair:?}");
        }
        for one in ascending {
            assert_eq!(version(&spelled(one)).map(|it| it.to_string()), Some(one.to_string()));
        }
    }

    #[test]
    fn the_lowest_driver_counts() {
        let record = br#"{"name": "a", "version": "1", "depends": ["__cuda >=13.0", "b", "__cuda >=12.4"]}"#;
        assert_eq!(Record::read(record).unwrap().driver(), Some(CudaVersion::new(12, 4)));
    }
}
