//! What CMake files say, as far as they say it plainly: calls with their arguments. Nothing is evaluated but variables that
//! are set to words.

use std::collections::BTreeMap;

/// The calls of some CMake files, and the variables that they set.
#[derive(Debug, Default)]
pub(super) struct CmakeFiles {
    calls: Vec<(String, Vec<String>)>,
    variables: BTreeMap<String, Vec<String>>,
}

/// A library of the project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Library {
    /// File name between `lib` and `.so`.
    pub name: String,
    /// It compiles CUDA sources.
    pub has_device_code: bool,
    /// It is shared whatever is asked for.
    pub is_shared: bool,
}

/// An entry of the cache that a project defines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CacheEntry {
    /// Its name.
    pub name: String,
    /// Its default.
    pub default: String,
}

impl CmakeFiles {
    /// Adds a file.
    pub(super) fn add(&mut self, text: &str) {
        for (name, args) in calls(text) {
            match (name.as_str(), args.as_slice()) {
                ("set", [variable, values @ ..]) => {
                    // Which branch is taken is not known: any of the values may be the one.
                    self.variables.entry(variable.clone()).or_default().extend(values.iter().cloned());
                }
                ("list", [word, variable, values @ ..]) if word == "APPEND" => {
                    self.variables.entry(variable.clone()).or_default().extend(values.iter().cloned());
                }
                _ => {}
            }
            self.calls.push((name, args));
        }
    }

    /// Adds a file of what the project brings of others: it is configured with the same CMake, and may have tests.
    pub(super) fn add_of_others(&mut self, text: &str) {
        let of_all = ["cmake_minimum_required", "enable_testing", "include"];
        self.calls.extend(calls(text).into_iter().filter(|(name, _)| of_all.contains(&name.as_str())));
    }

    /// Arguments of every call of a command.
    fn of<'a>(&'a self, command: &'a str) -> impl Iterator<Item = &'a [String]> {
        self.calls.iter().filter(move |(name, _)| name == command).map(|(_, args)| args.as_slice())
    }

    /// Words of arguments, with the variables among them replaced once.
    fn words(&self, args: &[String]) -> Vec<String> {
        let variable = |arg: &str| self.variables.get(arg.strip_prefix("${")?.strip_suffix('}')?);
        args.iter().flat_map(|arg| variable(arg).cloned().unwrap_or_else(|| vec![arg.clone()])).collect()
    }

    /// The project's name.
    pub(super) fn project(&self) -> Option<&str> {
        self.of("project").next()?.first().map(String::as_str)
    }

    /// The project's version.
    pub(super) fn version(&self) -> Option<String> {
        let args = self.words(self.of("project").next()?);
        args.iter().position(|arg| arg == "VERSION").and_then(|at| args.get(at + 1).cloned())
    }

    /// Whether a variable is set to a word somewhere.
    pub(super) fn sets(&self, variable: &str, words: &[&str]) -> bool {
        self.variables.get(variable).is_some_and(|values| values.iter().any(|value| words.contains(&value.as_str())))
    }

    /// How the project compiles CUDA, if it does.
    pub(super) fn cuda(&self) -> Option<String> {
        let has = |command: &str, word: &str| self.of(command).any(|args| args.iter().any(|arg| arg == word));
        if has("project", "CUDA") {
            return Some("project(... LANGUAGES CUDA)".to_owned());
        }
        let calls = [("enable_language", "CUDA"), ("find_package", "CUDA"), ("find_package", "CUDAToolkit")];
        let found = calls.into_iter().find(|(command, word)| has(command, word));
        found.map(|(command, word)| format!("{command}({word})"))
    }

    /// Libraries that may be shared.
    pub(super) fn libraries(&self) -> Vec<Library> {
        let mut found = Vec::new();
        for args in self.of("add_library") {
            let Some((target, rest)) = args.split_first() else { continue };
            let kinds = ["STATIC", "INTERFACE", "OBJECT", "MODULE", "IMPORTED", "ALIAS"];
            let is_plain = target.chars().all(|letter| letter.is_ascii_alphanumeric() || "_-.+".contains(letter));
            if !is_plain || rest.first().is_some_and(|kind| kinds.contains(&kind.as_str())) {
                continue;
            }
            let added = self.of("target_sources").filter(|args| args.first() == Some(target));
            let sources = added.chain([rest]).flat_map(|args| self.words(args));
            let has_device_code = sources.into_iter().any(|source| source.ends_with(".cu"));
            let is_shared = rest.first().is_some_and(|kind| kind == "SHARED");
            found.push(Library { name: self.output_name(target), has_device_code, is_shared });
        }
        found
    }

    fn output_name(&self, target: &str) -> String {
        let of_target =
            self.of("set_target_properties").filter(|args| args.first().is_some_and(|first| first == target));
        let named = of_target.filter_map(|args| {
            let at = args.iter().position(|arg| arg == "OUTPUT_NAME")?;
            args.get(at + 1).filter(|name| !name.contains('$')).cloned()
        });
        named.last().unwrap_or_else(|| target.to_owned())
    }

    /// Whether any library has a SONAME with a version.
    pub(super) fn has_soversion(&self) -> bool {
        self.calls.iter().any(|(_, args)| args.iter().any(|arg| arg == "SOVERSION"))
    }

    /// Whether it has tests by CTest.
    pub(super) fn has_tests(&self) -> bool {
        self.of("enable_testing").next().is_some()
            || self.of("include").any(|args| args.iter().any(|arg| arg == "CTest"))
    }

    /// Whether it installs files by which CMake finds it.
    pub(super) fn installs_config(&self) -> bool {
        self.of("install").any(|args| args.first().is_some_and(|first| first == "EXPORT"))
    }

    /// The oldest CMake that the project asks for, as major and minor.
    pub(super) fn oldest_cmake(&self) -> Option<(u32, u32)> {
        let asked = self.of("cmake_minimum_required").filter_map(|args| args.get(1));
        let numbers = asked.filter_map(|text| {
            let mut parts = text.split("...").next()?.split('.');
            Some((parts.next()?.parse().ok()?, parts.next().and_then(|minor| minor.parse().ok()).unwrap_or(0)))
        });
        numbers.min()
    }

    /// Entries of the cache that it defines, the first of each name.
    pub(super) fn cache(&self) -> Vec<CacheEntry> {
        let mut found: Vec<CacheEntry> = Vec::new();
        for (command, args) in &self.calls {
            let entry = match (command.as_str(), args.as_slice()) {
                ("option", [name, _]) => Some((name, "OFF")),
                ("option", [name, _, default, ..]) => Some((name, default.as_str())),
                ("set", [name, default, cache, ..]) if cache == "CACHE" => Some((name, default.as_str())),
                _ => None,
            };
            let Some((name, default)) = entry else { continue };
            let is_plain = name.chars().all(|letter| letter.is_ascii_alphanumeric() || "_-".contains(letter));
            if is_plain && !name.is_empty() && !found.iter().any(|known| known.name == *name) {
                let values = self.words(&[default.to_owned()]);
                let native = values.iter().find(|value| *value == "native");
                let default = native.or(values.first()).cloned().unwrap_or_default();
                found.push(CacheEntry { name: name.clone(), default });
            }
        }
        found
    }
}

/// The calls of a CMake file: names in lower case, arguments without quotes.
fn calls(text: &str) -> Vec<(String, Vec<String>)> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find(|letter: char| letter == '#' || letter == '_' || letter.is_ascii_alphabetic()) {
        rest = &rest[at..];
        if rest.starts_with('#') {
            rest = rest.split_once('\n').map_or("", |(_, after)| after);
            continue;
        }
        let end = rest.find(|letter: char| letter != '_' && !letter.is_ascii_alphanumeric()).unwrap_or(rest.len());
        let (name, after) = rest.split_at(end);
        match after.trim_start_matches([' ', '\t']).strip_prefix('(') {
            Some(inside) => {
                let (args, after) = arguments(inside);
                found.push((name.to_ascii_lowercase(), args));
                rest = after;
            }
            None => rest = after,
        }
    }
    found
}

/// Arguments up to the closing parenthesis, and what follows it.
fn arguments(text: &str) -> (Vec<String>, &str) {
    let (mut args, mut word, mut depth, mut is_quoted, mut is_comment) = (Vec::new(), String::new(), 0, false, false);
    for (at, letter) in text.char_indices() {
        match letter {
            '\n' if is_comment => is_comment = false,
            _ if is_comment => {}
            '"' => {
                if is_quoted {
                    args.push(std::mem::take(&mut word));
                }
                is_quoted = !is_quoted;
            }
            _ if is_quoted => word.push(letter),
            '#' => is_comment = true,
            '(' => depth += 1,
            ')' if depth > 0 => depth -= 1,
            _ if letter == ')' || letter.is_whitespace() => {
                if !word.is_empty() {
                    args.push(std::mem::take(&mut word));
                }
                if letter == ')' {
                    return (args, &text[at + 1..]);
                }
            }
            _ => word.push(letter),
        }
    }
    (args, "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_project_is_read_as_far_as_it_is_plain() {
        let mut files = CmakeFiles::default();
        files.add(
            "# project(old)\ncmake_minimum_required( VERSION 3.2...3.20 )\nset(all host.cc  # one\n  \"net work.cu\")\n\
             project (Fast-Sim VERSION 1.2.0 LANGUAGES CXX CUDA)\nif(NOT (A AND B))\nendif()\n\
             add_library(fast SHARED ${all})\nadd_library(host SHARED host.cc)\nadd_library(objects OBJECT o.cu)\n\
             set_target_properties(fast PROPERTIES OUTPUT_NAME fastsim SOVERSION 1)\nlist(APPEND all more.cc)\n\
             option(FAST_CUDA \"with a GPU\")\nset(FAST_ARCH native CACHE STRING \"(of the CPU)\")\ninclude(CTest)\n\
             set(MODE fast)\nset(MODE native)\nset(FAST_MODE ${MODE} CACHE STRING \"\")\nadd_library(a::b ALIAS fast)\n",
        );
        assert_eq!((files.project(), files.version().as_deref()), (Some("Fast-Sim"), Some("1.2.0")));
        let library = |name: &str, has_device_code| Library { name: name.to_owned(), has_device_code, is_shared: true };
        assert_eq!(files.libraries(), [library("fastsim", true), library("host", false)]);
        assert_eq!(files.cuda().as_deref(), Some("project(... LANGUAGES CUDA)"));
        assert!(files.has_soversion() && files.has_tests());
        assert_eq!(files.oldest_cmake(), Some((3, 2)));
        let entry = |name: &str, default: &str| CacheEntry { name: name.to_owned(), default: default.to_owned() };
        assert_eq!(
            files.cache(),
            [entry("FAST_CUDA", "OFF"), entry("FAST_ARCH", "native"), entry("FAST_MODE", "native")]
        );
        assert!(files.sets("MODE", &["fast"]) && !files.sets("MODE", &["slow"]));
    }

    #[test]
    fn half_a_file_is_read_to_its_end() {
        for text in ["project(", "project(x", "project(\"x", "((((", "a b c", "set(x # y", "é(x)", "project(x) )"] {
            calls(text);
        }
    }
}
