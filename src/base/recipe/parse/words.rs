//! Small things that recipes write as strings: capability ranges, version ranges, dependencies, globs.

use std::fmt;
use std::str::FromStr;

use crate::arch::Capability;
use crate::recipe::model::InWheels;

/// Capabilities from one, inclusive, to below another: `<8.0`, `>=9.0`, `>=8.0,<9.0`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CapabilityRange {
    /// Lowest, inclusive.
    pub from: Option<Capability>,
    /// End, exclusive.
    pub below: Option<Capability>,
}

impl FromStr for CapabilityRange {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{text}` is not a range of capabilities such as \"<8.0\", \">=9.0\" or \">=8.0,<9.0\"");
        let mut range = Self { from: None, below: None };
        for part in text.split(',').map(str::trim) {
            let (bound, number) = if let Some(number) = part.strip_prefix(">=") {
                (&mut range.from, number)
            } else {
                (&mut range.below, part.strip_prefix('<').ok_or_else(wrong)?)
            };
            let capability: Capability = number.trim().parse().map_err(|_| wrong())?;
            if capability != capability.plain() || bound.replace(capability).is_some() {
                return Err(wrong());
            }
        }
        match range {
            Self { from: Some(from), below: Some(below) } if from >= below => {
                Err(format!("the range `{text}` holds no capability"))
            }
            _ => Ok(range),
        }
    }
}

/// `>=12` as a lowest major version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AtLeast(pub u32);

impl FromStr for AtLeast {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = text.strip_prefix(">=").and_then(|number| number.trim().parse().ok());
        number.map(Self).ok_or_else(|| format!("`{text}` is not a lowest major version such as \">=12\""))
    }
}

/// A dependency: a name and a version range, possibly empty: `nvrtc >=13.0,<14`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Use {
    /// Vendor library, or conda package after `conda:`.
    pub name: String,
    /// The name is a conda package as it stands.
    pub verbatim: bool,
    /// Version range without spaces.
    pub range: String,
    /// Libraries that it brings, by the names that the loader looks for.
    pub provides: Vec<String>,
    /// What stands for it where packages are wheels.
    pub wheel: Option<InWheels>,
}

impl FromStr for Use {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, range) = text.trim().split_once(' ').unwrap_or((text.trim(), ""));
        let (verbatim, name) = name.strip_prefix("conda:").map_or((false, name), |name| (true, name));
        if !is_package_name(name) {
            return Err(format!("`{text}` is not a dependency such as \"nvrtc >=13.0,<14\" or \"conda:numpy >=1.26\""));
        }
        let range: String = range.chars().filter(|letter| !letter.is_whitespace()).collect();
        if !range.is_empty() && !range.split(',').all(is_constraint) {
            return Err(format!("`{range}` is not a version range such as \">=13.0,<14\""));
        }
        // conda takes a version by itself neither for exactly that one nor for its series.
        let is_bare = |part: &&str| part.starts_with(|letter: char| letter.is_ascii_digit()) && !part.ends_with('*');
        if let Some(version) = range.split(',').find(is_bare) {
            return Err(format!("`{version}` is not a version range: write \"=={version}\" or \"{version}.*\""));
        }
        Ok(Self { name: name.to_owned(), verbatim, range, provides: Vec::new(), wheel: None })
    }
}

impl fmt::Display for Use {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

/// Whether a text is one constraint on a version: `>=1.10`.
pub(in crate::recipe) fn is_constraint(text: &str) -> bool {
    let operators = [">=", "<=", "==", "!=", "~=", ">", "<", "="];
    let version = operators.iter().find_map(|operator| text.strip_prefix(operator)).unwrap_or(text);
    version.starts_with(|letter: char| letter.is_ascii_digit())
        && version.chars().all(|letter| letter.is_ascii_alphanumeric() || ".*_+!".contains(letter))
}

/// Letters, digits, `-`, `_` and `.`, beginning with a letter or digit, lower case: a conda package's name.
pub(in crate::recipe) fn is_package_name(text: &str) -> bool {
    text.starts_with(|letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit())
        && text.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-_.".contains(&byte))
}

/// A name in Python's package index (name format of the core metadata).
pub(in crate::recipe) fn is_project_name(text: &str) -> bool {
    is_package_name(&text.to_ascii_lowercase()) && text.ends_with(|letter: char| letter.is_ascii_alphanumeric())
}

/// Lower-case letters, digits and `_`, beginning with a letter or digit: a part of directory and package names.
pub(in crate::recipe) fn is_part_name(text: &str) -> bool {
    !text.is_empty()
        && !text.starts_with('_')
        && text.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_')
}

/// A C identifier, or a mangled name.
pub(in crate::recipe) fn is_symbol(text: &str) -> bool {
    text.starts_with(|letter: char| letter.is_ascii_alphabetic() || letter == '_')
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_$".contains(&byte))
}

/// Why a path cannot be one below a directory, if so.
pub(in crate::recipe) fn not_relative(path: &str) -> Option<&'static str> {
    match path {
        _ if path.starts_with('/') => Some("is absolute"),
        _ if path.contains('\\') => Some("holds a backslash; directories are separated by `/`"),
        _ if path.split('/').any(|part| part == "..") => Some("leaves its directory with `..`"),
        _ => None,
    }
}

/// Variables by which the C library and shells choose files and code of their own accord, in every program of a build.
const OBEYED: [&str; 14] = [
    "BASH_ENV",
    "ENV",
    "GCONV_PATH",
    "GETCONF_DIR",
    "GLIBC_TUNABLES",
    "HOSTALIASES",
    "LOCALDOMAIN",
    "LOCPATH",
    "NIS_PATH",
    "NLSPATH",
    "RESOLV_HOST_CONF",
    "RES_OPTIONS",
    "TMPDIR",
    "TZDIR",
];

/// Whether the loader, the C library or the shell of every program obeys a variable.
pub(in crate::recipe) fn is_obeyed(variable: &str) -> bool {
    ["LD_", "DYLD_", "MALLOC_"].iter().any(|start| variable.starts_with(start)) || OBEYED.contains(&variable)
}

/// The placeholders of a text such as `lib/{version}`; CMake's `${...}` is none.
pub(in crate::recipe) fn placeholders(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(open) = rest.find('{') {
        let cmake = rest[..open].ends_with('$');
        let after = &rest[open + 1..];
        let Some(close) = after.find('}') else { break };
        let word = &after[..close];
        let is_word = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
        if !cmake && !word.is_empty() && word.bytes().all(is_word) {
            found.push(word);
        }
        rest = after;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges() {
        let range = |text: &str| text.parse::<CapabilityRange>().map(|range| (range.from, range.below));
        let (eight, nine) = (Some(Capability::new(8, 0)), Some(Capability::new(9, 0)));
        assert_eq!(range("<8.0"), Ok((None, eight)));
        assert_eq!(range(">=9.0"), Ok((nine, None)));
        assert_eq!(range(">= 8.0, <9.0"), Ok((eight, nine)));
        for text in ["", "8.0", "<=8.0", ">8.0", "<8.0,<9.0", ">=9.0,<8.0", ">=8.0,<8.0", "<9.0a", "<8", ","] {
            assert!(range(text).is_err(), "{text}");
        }
    }

    #[test]
    fn dependencies() {
        let found: Use = "nvrtc >=13.0, <14".parse().unwrap();
        assert_eq!((found.name.as_str(), found.range.as_str(), found.verbatim), ("nvrtc", ">=13.0,<14", false));
        let found: Use = "conda:numpy".parse().unwrap();
        assert_eq!((found.name.as_str(), found.range.as_str(), found.verbatim), ("numpy", "", true));
        for text in ["", "Nvrtc", "nvrtc newest", "nvrtc >=", "nvrtc 13;rm", "conda:", "a b c d"] {
            assert!(text.parse::<Use>().is_err(), "{text}");
        }
    }

    #[test]
    fn placeholders_are_told_from_cmake_variables() {
        assert_eq!(placeholders("{kernel-abi} {a}{b}"), ["kernel-abi", "a", "b"]);
        assert!(placeholders("${CMAKE_X} $<IF:{> {} { } {a b}").is_empty());
        assert_eq!(placeholders("{{version}}"), ["version"]);
    }
}
