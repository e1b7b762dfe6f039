//! Where the structures of a kernel table come from: the host's own types, out of headers or by a command.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::inputs::Inputs;
use crate::error::Result;
use crate::layout::Structure;

/// The structures that a kernel group shares with the host, as the host has them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostStructures {
    /// The types.
    pub types: Vec<HostType>,
    /// What says how they lie.
    pub source: LayoutSource,
    /// Globs over the files that it reads, relative to the source.
    pub inputs: Vec<String>,
    /// The kernel table, relative to the recipe or the source.
    pub table: String,
}

/// A type of the host, and the structure of the kernel table that it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HostType {
    /// As the host names it: `strata::Neuron`, `struct Pool`.
    pub host: String,
    /// Its name in the table: `Neuron`.
    pub name: String,
}

/// What says how the types of the host lie.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LayoutSource {
    /// Headers, compiled by the host compiler.
    Headers {
        /// Paths below the source, included in this order.
        headers: Vec<String>,
        /// What they are written in.
        language: HeaderLanguage,
        /// Flags of the compiler.
        flags: Vec<String>,
    },
    /// A command that prints them as JSON.
    Command {
        /// Program and arguments.
        command: Vec<String>,
    },
}

/// What headers are written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum HeaderLanguage {
    /// C.
    C,
    /// C++.
    #[default]
    #[serde(rename = "c++")]
    Cxx,
}

impl HeaderLanguage {
    /// All, as recipes write them.
    pub const NAMES: [(&'static str, Self); 2] = [("c", Self::C), ("c++", Self::Cxx)];

    /// As recipes and compilers write it.
    pub fn name(self) -> &'static str {
        match self {
            Self::C => "c",
            Self::Cxx => "c++",
        }
    }
}

impl HostType {
    /// A type as the host names it, and as the table does: by what stands behind the last `::`. None of what is no such name.
    pub fn named(text: &str) -> Option<Self> {
        let words = ["struct ", "class "];
        let path = words.iter().find_map(|word| text.strip_prefix(word)).unwrap_or(text);
        let is_name = |name: &str| {
            name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
                && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        };
        let mut names = path.strip_prefix("::").unwrap_or(path).split("::");
        let last = names.clone().last()?;
        names.all(is_name).then(|| Self { host: text.to_owned(), name: last.to_owned() })
    }
}

impl HostStructures {
    /// The files that are read.
    ///
    /// # Errors
    /// Its `inputs` are not globs.
    pub fn reads(&self) -> Result<Inputs> {
        Inputs::below("", Some(&self.inputs))
    }

    /// The command that prints them; none where headers are compiled.
    pub fn command(&self) -> Option<&[String]> {
        match &self.source {
            LayoutSource::Command { command } => Some(command),
            LayoutSource::Headers { .. } => None,
        }
    }

    /// Those of a table's structures that the host says, with those that they hold.
    pub fn of_table(&self, declared: &[Structure]) -> Vec<Structure> {
        let mut names: Vec<&str> = self.types.iter().map(|one| one.name.as_str()).collect();
        let mut next = 0;
        while let Some(name) = names.get(next) {
            let fields = declared.iter().filter(|one| one.name == *name).flat_map(|one| &one.fields);
            let held: Vec<&str> = fields.filter_map(|field| field.kind.structure()).collect();
            for name in held {
                if !names.contains(&name) {
                    names.push(name);
                }
            }
            next += 1;
        }
        declared.iter().filter(|one| names.contains(&one.name.as_str())).cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_named_as_the_host_names_them() {
        let name = |text: &str| HostType::named(text).map(|found| found.name);
        for text in ["Neuron", "strata::Neuron", "::strata::v1::Neuron", "struct Neuron", "class strata::Neuron"] {
            assert_eq!(name(text).as_deref(), Some("Neuron"), "{text}");
        }
        for text in ["", "::", "a::", "Pair<float>", "a b", "Neuron*", "struct", "struct  Neuron", "1st", "a:b", "é"] {
            assert_eq!(name(text), if text == "struct" { Some(text.to_owned()) } else { None }, "{text}");
        }
    }
}
