//! `compile` of a component: what `simpack compile` calls on a user's machine. It travels in `simpack.json`, so that it can
//! be called without the recipe.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use globset::Glob;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::diagnostic::Spanned;
use super::parse::reader::{Reader, Value};
use super::parse::words::{is_obeyed, not_relative, placeholders};

/// Words in arguments and variables that are replaced, in braces: the prefix, a copy of the user's files, their
/// directory's name, the C++ compiler, processes that may run at a time.
const PLACES: [&str; 5] = ["prefix", "model", "name", "cxx", "jobs"];
/// Those that are there where it is compiled for GPUs: arguments and variables with one of them are left out elsewhere.
const OF_CUDA: [&str; 5] = ["nvcc", "nvcc-ccbin", "cuda-root", "cuda-architectures", "cuda-gencode"];
/// The one of variables that lead programs to what was compiled.
const COMPILED: [&str; 1] = ["compiled"];
/// Seconds that a call may take when the recipe does not say.
const DEFAULT_LIMIT: u32 = 3600;

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
fn not_below(path: &str) -> Option<&'static str> {
    let has_gaps = path.split('/').any(|part| part.is_empty() || part == ".");
    not_relative(path).or(has_gaps.then_some("is not a plain path below the prefix"))
}

/// Why a text is no glob over files below a directory, if so.
fn not_pattern(glob: &str) -> Option<&'static str> {
    not_relative(glob).or(Glob::new(glob).is_err().then_some("is not a glob"))
}

fn is_variable(name: &str) -> bool {
    !is_obeyed(name) && !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// Whether a text stands for something that is there for GPUs alone.
pub fn is_of_cuda(text: &str) -> bool {
    placeholders(text).iter().any(|word| OF_CUDA.contains(word))
}

/// Reads `compile` of a component.
pub(super) fn compile(reader: &mut Reader, value: &Value<'_>) -> Option<Spanned<Compile>> {
    let mut fields = reader.fields(value, "compile of a component")?;
    let all: Vec<&str> = PLACES.into_iter().chain(OF_CUDA).collect();
    let command = fields.required(reader, "command").and_then(|value| {
        let words = arguments(reader, value, "command", &PLACES)?;
        let Some(program) = words.first() else {
            reader.wrong(value.span(), "command names no program");
            return None;
        };
        if let Some(why) = not_below(&program.value) {
            let mistake = reader.mistake(program.span.clone(), format!("program `{}` {why}", program.value));
            reader.push(mistake.hint("write its path below the prefix, such as \"bin/mysim-compile\""));
        }
        Some(words)
    });
    let cuda = fields.get("cuda").and_then(|value| arguments(reader, value, "cuda", &all));
    let mut globs = |reader: &mut Reader, key: &'static str| {
        let value = fields.required(reader, key)?;
        let list = reader.list(value, key, |reader, value| checked(reader, value, "pattern", not_pattern))?;
        if list.is_empty() {
            reader.wrong(value.span(), format!("{key} names no file"));
        }
        Some(list)
    };
    let (inputs, outputs) = (globs(reader, "inputs"), globs(reader, "outputs"));
    let reads = fields
        .get("reads")
        .and_then(|value| reader.list(value, "reads", |reader, value| checked(reader, value, "path", not_below)));
    let env = fields.get("env").map(|value| variables(reader, value, "env", &all)).unwrap_or_default();
    let sets = fields.get("sets").map(|value| variables(reader, value, "sets", &COMPILED)).unwrap_or_default();
    let compiler = fields.required(reader, "compiler").and_then(|value| reader.parsed(value, "compiler"));
    let limit = fields.get("limit").and_then(|value| reader.integer(value, "limit", 1..=86_400));
    fields.finish(reader);
    let command = command?;
    let span = command.first().map_or(value.span(), |program| program.span.clone());
    let compile = Compile {
        command: plain(command),
        cuda: plain(cuda.unwrap_or_default()),
        inputs: plain(inputs?),
        outputs: plain(outputs?),
        reads: plain(reads.unwrap_or_default()),
        env,
        sets,
        compiler: compiler?.value,
        limit: limit.and_then(|limit| u32::try_from(limit.value).ok()).unwrap_or(DEFAULT_LIMIT),
        made_by: Vec::new(),
    };
    Some(Spanned { value: compile, span })
}

fn plain(list: Vec<Spanned<String>>) -> Vec<String> {
    list.into_iter().map(|at| at.value).collect()
}

fn checked(
    reader: &mut Reader,
    value: &Value<'_>,
    what: &str,
    problem: fn(&str) -> Option<&'static str>,
) -> Option<Spanned<String>> {
    let text = reader.text(value, &format!("a {what}"))?;
    let Some(why) = problem(&text.value) else { return Some(text) };
    reader.wrong(text.span, format!("{what} `{}` {why}", text.value));
    None
}

fn arguments(reader: &mut Reader, value: &Value<'_>, key: &str, known: &[&str]) -> Option<Vec<Spanned<String>>> {
    reader.list(value, key, |reader, value| {
        let text = reader.string(value, "an argument")?;
        known_places(reader, &text, known);
        Some(text)
    })
}

fn variables(reader: &mut Reader, value: &Value<'_>, key: &str, known: &[&str]) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let Some(fields) = reader.fields(value, format!("{key} of compile")) else { return found };
    for (name, value) in fields.entries() {
        let Some(text) = reader.string(value, "a variable") else { continue };
        known_places(reader, &text, known);
        match is_variable(&name.value) {
            true => drop(found.insert(name.value, text.value)),
            false => reader.wrong(name.span, format!("variable `{}` cannot be set", name.value)),
        }
    }
    found
}

fn known_places(reader: &mut Reader, text: &Spanned<String>, known: &[&str]) {
    for word in placeholders(&text.value).into_iter().filter(|word| !known.contains(word)) {
        let mistake = reader.mistake(text.span.clone(), format!("unknown placeholder `{{{word}}}`"));
        let known: Vec<String> = known.iter().map(|word| format!("{{{word}}}")).collect();
        reader.push(mistake.known("known here", &known).near(&format!("{{{word}}}"), &known));
    }
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
