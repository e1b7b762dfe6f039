//! `compile` of a component: what `simpack compile` calls on a user's machine. It travels in `simpack.json`, so that it can
//! be called without the recipe.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use globset::Glob;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::recipe::parse::words::{is_obeyed, not_relative, placeholders};

/// Words in arguments and variables that are replaced, in braces, where it is compiled for GPUs: arguments and variables with one of them are left out elsewhere.
pub(in crate::recipe) const OF_CUDA: [&str; 5] =
    ["nvcc", "nvcc-ccbin", "cuda-root", "cuda-architectures", "cuda-gencode"];

/// How a package compiles what its users write.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Compile {
    /// A program of the package by its path below the prefix, and arguments. It is run in an empty directory.
    pub command: Vec<String>,
    /// Further arguments where GPUs are compiled for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cuda: Vec<String>,
    /// Globs over the user's files: what it is given.
    pub inputs: Vec<String>,
    /// Globs over what it leaves: what is kept.
    pub outputs: Vec<String>,
    /// Paths below the prefix that it reads besides the simulator's own packages.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reads: Vec<String>,
    /// Variables of the call.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// Variables by which programs find what was compiled.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub sets: BTreeMap<String, String>,
    /// The compilers that it works with.
    pub compiler: CompilerRange,
    /// Seconds after which it is ended.
    pub limit: u32,
    /// What the package's objects say of the compilers that made them, sorted; settled when the package is complete.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub made_by: Vec<String>,
}

impl Compile {
    /// What is wrong with one that somebody else wrote, if so.
    pub fn problem(&self) -> Option<String> {
        let program = self.command.first().map_or("", String::as_str);
        let paths = self.reads.iter().map(String::as_str).chain([program]);
        let path = paths.filter_map(|path| Some(format!("path `{path}` {}", not_below(path)?)));
        let globs = self.inputs.iter().chain(&self.outputs);
        let glob = globs.filter_map(|glob| Some(format!("pattern `{glob}` {}", not_pattern(glob)?)));
        let names = self.env.keys().chain(self.sets.keys());
        let variable = names.filter(|name| !is_variable(name)).map(|name| format!("variable `{name}` cannot be set"));
        path.chain(glob).chain(variable).next()
    }
}

/// Versions of g++ by their first number: `g++ >=10`, `g++ >=10,<15`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String")]
pub struct CompilerRange {
    /// Lowest.
    pub from: u32,
    /// End, exclusive.
    pub below: Option<u32>,
}

impl CompilerRange {
    /// Whether a version fits.
    pub fn contains(self, major: u32) -> bool {
        major >= self.from && self.below.is_none_or(|below| major < below)
    }
}

impl FromStr for CompilerRange {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{text}` is not a range of compilers such as \"g++ >=10\" or \"g++ >=10,<15\"");
        let range = text.strip_prefix("g++ ").ok_or_else(wrong)?;
        let (from, below) = range.split_once(',').map_or((range, None), |(from, below)| (from, Some(below)));
        let number = |text: &str, sign| text.trim().strip_prefix(sign)?.trim().parse::<u32>().ok();
        let from = number(from, ">=").ok_or_else(wrong)?;
        let below = below.map(|below| number(below, "<").ok_or_else(wrong)).transpose()?;
        match below {
            Some(below) if below <= from => Err(format!("the range `{text}` holds no compiler")),
            _ => Ok(Self { from, below }),
        }
    }
}

impl fmt::Display for CompilerRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let below = self.below.map(|below| format!(",<{below}")).unwrap_or_default();
        write!(f, "g++ >={}{below}", self.from)
    }
}

impl TryFrom<String> for CompilerRange {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<CompilerRange> for String {
    fn from(range: CompilerRange) -> Self {
        range.to_string()
    }
}

/// Why a path cannot be one of the package's, if so.
pub(in crate::recipe) fn not_below(path: &str) -> Option<&'static str> {
    let has_gaps = path.split('/').any(|part| part.is_empty() || part == ".");
    not_relative(path).or(has_gaps.then_some("is not a plain path below the prefix"))
}

/// Why a text is no glob over files below a directory, if so.
pub(in crate::recipe) fn not_pattern(glob: &str) -> Option<&'static str> {
    not_relative(glob).or(Glob::new(glob).is_err().then_some("is not a glob"))
}

pub(in crate::recipe) fn is_variable(name: &str) -> bool {
    !is_obeyed(name) && !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// Whether a text stands for something that is there for GPUs alone.
pub fn is_of_cuda(text: &str) -> bool {
    placeholders(text).iter().any(|word| OF_CUDA.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compilers_have_ranges() {
        let range = |text: &str| text.parse::<CompilerRange>();
        let both = range("g++ >=10, <15").unwrap();
        assert_eq!(
            (both.contains(9), both.contains(10), both.contains(14), both.contains(15)),
            (false, true, true, false)
        );
        assert_eq!(both.to_string().parse(), Ok(both));
        assert!(range("g++ >=9").unwrap().contains(99));
        for text in ["", "g++", "g++ 10", "g++ >=10,<10", "g++ >=10,>=11", "clang++ >=15", ">=10"] {
            assert!(range(text).is_err(), "{text}");
        }
    }

    #[test]
    fn what_a_package_says_is_looked_at_again() {
        let sound = Compile {
            command: vec!["bin/build".to_owned(), "{model}".to_owned()],
            cuda: Vec::new(),
            inputs: vec!["*.mod".to_owned()],
            outputs: vec!["*.so".to_owned()],
            reads: vec!["lib/python3.11".to_owned()],
            env: BTreeMap::from([("CXX".to_owned(), "{cxx}".to_owned())]),
            sets: BTreeMap::new(),
            compiler: CompilerRange { from: 9, below: None },
            limit: 1,
            made_by: Vec::new(),
        };
        assert_eq!(sound.problem(), None);
        let with = |change: fn(&mut Compile)| {
            let mut other = sound.clone();
            change(&mut other);
            other.problem().unwrap()
        };
        assert!(with(|it| it.command[0] = "../bin/sh".to_owned()).contains("leaves its directory"));
        assert!(with(|it| it.command[0] = "/bin/sh".to_owned()).contains("is absolute"));
        assert!(with(|it| it.command.clear()).contains("not a plain path"));
        assert!(with(|it| it.reads[0] = ".".to_owned()).contains("not a plain path"));
        assert!(with(|it| it.outputs[0] = "../**".to_owned()).contains("leaves its directory"));
        assert!(with(|it| drop(it.env.insert("LD_PRELOAD".to_owned(), String::new()))).contains("LD_PRELOAD"));
        assert!(with(|it| drop(it.sets.insert("A=B".to_owned(), String::new()))).contains("A=B"));
    }
}
