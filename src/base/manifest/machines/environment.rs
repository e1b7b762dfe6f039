//! What surrounds a process: which variables may be read, and the marks of kinds of machines.

use serde::Deserialize;

use crate::data::Data;
use crate::error::Result;
use crate::machine::HostEnvironment;
use crate::manifest::text::ManifestText;

/// All of `manifests/environment.toml`.
#[derive(Debug, Clone)]
pub struct EnvironmentMarks {
    /// Variables whose values may be recorded.
    pub variables: Vec<String>,
    /// Those that are lists of directories.
    pub lists: Vec<String>,
    /// Kinds of machines.
    pub surroundings: Vec<HostEnvironmentMark>,
    /// Directories that may hold a toolkit; a star at the end stands for any rest of the name.
    pub toolkits: Vec<String>,
    /// A stub of the driver is smaller, in bytes.
    pub stub_smaller_than: u64,
    /// A library of the driver answers within this many seconds, or not at all.
    pub driver_answers_within: u64,
}

/// How a kind of machine is known: one of these is enough.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct HostEnvironmentMark {
    /// The kind.
    pub kind: HostEnvironment,
    /// Files or directories that are there.
    #[serde(default)]
    pub files: Vec<String>,
    /// Variables that are set.
    #[serde(default)]
    pub variables: Vec<String>,
    /// A word in a small file.
    pub text: Option<WordMark>,
}

/// A word in a file.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WordMark {
    /// The file.
    pub file: String,
    /// The word.
    pub word: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    edition: u32,
    variables: Vec<String>,
    lists: Vec<String>,
    surroundings: Vec<HostEnvironmentMark>,
    toolkits: Toolkits,
    stub: Stub,
    driver: Driver,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Toolkits {
    directories: Vec<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct Driver {
    answers_within: u64,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct Stub {
    smaller_than: u64,
}

impl EnvironmentMarks {
    pub(in crate::manifest) fn load(data: &Data) -> Result<Self> {
        let text = ManifestText::read(data, "manifests/environment.toml")?;
        let file: File = text.parse()?;
        text.edition(file.edition)?;
        if let Some(list) = file.lists.iter().find(|list| !file.variables.contains(list)) {
            return Err(text.wrong(None, format!("`{list}` is a list, but not among the variables")));
        }
        Ok(Self {
            variables: file.variables,
            lists: file.lists,
            surroundings: file.surroundings,
            toolkits: file.toolkits.directories,
            stub_smaller_than: file.stub.smaller_than,
            driver_answers_within: file.driver.answers_within,
        })
    }
}
