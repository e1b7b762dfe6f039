//! Names what a failed step looked for in vain: files that it does not declare or does not search for, and libraries.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::engine::step::sandbox::isolation::{StepIsolation, plain};
use crate::error::Error;
use crate::fs::Digest;
use crate::manifest::Vendor;
use crate::process::IsolationKind;
use crate::recipe::ComponentKind;

/// What programs say when they cannot read a file.
const COMPLAINTS: [&str; 9] = [
    "no such file",
    "cannot open",
    "can't open",
    "could not open",
    "does not exist",
    "not found",
    "cannot find",
    "no rule to make target",
    "permission denied",
];
/// What programs say when they cannot reach a network.
const UNREACHABLE: [&str; 6] = [
    "network is unreachable",
    "could not resolve host",
    "name or service not known",
    "temporary failure in name resolution",
    "connection refused",
    "couldn't connect to server",
];
/// Lines after a complaint that may hold the name: CMake writes it apart.
const AFTER: usize = 4;

/// Where a failed step worked.
pub(in crate::engine) struct Scene<'a> {
    /// Directory that it took for its source.
    pub seen_as: &'a Path,
    /// The source directory that this stands for.
    pub source: &'a Path,
    /// Whether a file below the source directory, by its name there, is declared.
    pub declared: &'a dyn Fn(&Path) -> bool,
    /// Every file of the source, relative to its root, and the step's source directory there.
    pub files: &'a BTreeMap<String, Digest>,
    pub below: &'a str,
    /// Where the recipe says what the step reads, or what its compiler is called with.
    pub keys: Keys,
    /// The vendor's libraries.
    pub vendor: &'a Vendor,
    /// What all steps see.
    pub isolation: &'a StepIsolation,
    /// The prefix of packages that this one sees, too.
    pub given: Option<&'a Path>,
    /// The step's own directory.
    pub work: &'a Path,
}

/// Keys of the recipe that a failed step is repaired by.
#[derive(Clone, Copy)]
pub(in crate::engine) enum Keys {
    /// `inputs` and `options` of a component's build.
    Build(ComponentKind),
    /// `flags` of a kernel group.
    Kernels,
    /// `inputs` of a kernel group's generator.
    Generator,
    /// `inputs` of what says its structures.
    Structures,
}

/// Adds to the error of a failed step which undeclared files its output names, and that it has no network.
pub(in crate::engine) fn explain(mut error: Error, text: &str, scene: &Scene<'_>) -> Error {
    let found = files(text, scene);
    for file in &found {
        error = error.detail(format!("undeclared read: {} is there, but the step does not declare it", file.display()));
    }
    match found.first() {
        Some(first) => {
            error = error.hint(match (first.strip_prefix(scene.source), scene.keys) {
                (Ok(below), Keys::Build(kind)) => declare(&below.display().to_string(), kind),
                (Ok(below), Keys::Kernels) => format!("add {} to the source", below.display()),
                (Ok(below), Keys::Generator | Keys::Structures) => to_inputs(&below.display().to_string(), scene.keys),
                (Err(_), _) => format!("copy {} into the source: what lies outside is in no key", first.display()),
            });
        }
        None => error = sought_elsewhere(error, text, scene),
    }
    if let Some(library) = missing_library(text) {
        error = error.hint(about_library(library, scene));
    }
    let lower = text.to_lowercase();
    if scene.isolation.kind() != IsolationKind::None && UNREACHABLE.iter().any(|words| lower.contains(words)) {
        error = error.detail("steps have no network");
    }
    error
}

fn declare(file: &str, kind: ComponentKind) -> String {
    let all = file.rsplit_once('/').map(|(dir, _)| format!(", or \"{dir}/**\"")).unwrap_or_default();
    format!("add \"{file}\"{all} to `inputs` of [component.{kind}.build]; `simpack check` lists what counts")
}

fn to_inputs(file: &str, keys: Keys) -> String {
    let of = if matches!(keys, Keys::Structures) { "the structures" } else { "the generator" };
    format!("add \"{file}\" to `inputs` of {of} of the kernel group")
}

/// Files of the source that end in a name that was not found: compilers tell what an `#include` says, not where they
/// looked.
fn sought_elsewhere(mut error: Error, text: &str, scene: &Scene<'_>) -> Error {
    let below = scene.below.trim_start_matches("./").trim_matches('/');
    let prefix = if ["", "."].contains(&below) { String::new() } else { format!("{below}/") };
    for line in text.lines().filter(|line| complains(line)).take(MOST_LINES) {
        // What stands before the complaint names the file that asks.
        for word in words(line).skip(1) {
            let word = word.trim_start_matches("./");
            let is_it = |file: &&str| file.strip_suffix(word).is_some_and(|dir| dir.is_empty() || dir.ends_with('/'));
            let Some(file) = scene.files.keys().filter_map(|file| file.strip_prefix(&prefix)).find(is_it) else {
                continue;
            };
            let dir = file.strip_suffix(word).unwrap_or_default().trim_end_matches('/');
            let search = if dir.is_empty() { "-I.".to_owned() } else { format!("-I{dir}") };
            error = match (scene.keys, (scene.declared)(Path::new(file))) {
                (Keys::Build(kind), false) => error
                    .detail(format!("{file} is in the source, but not among the `inputs` of this build"))
                    .hint(declare(file, kind)),
                (Keys::Build(_), true) => error
                    .detail(format!(
                        "{file} is in the source and among the `inputs`, but the compiler does not search there"
                    ))
                    .hint(format!("compile with {search}, seen from the source directory")),
                (Keys::Structures, true) => error
                    .detail(format!(
                        "{file} is in the source and among the `inputs`, but the compiler does not search there"
                    ))
                    .hint(format!("add \"{search}\" to `flags` of the structures of the kernel group")),
                (Keys::Generator | Keys::Structures, _) => {
                    error.detail(format!("{file} is in the source")).hint(to_inputs(file, scene.keys))
                }
                (Keys::Kernels, _) => error
                    .detail(format!("{file} is in the source, but the compiler does not search there"))
                    .hint(format!("add \"{search}\" to `flags` of the kernel group")),
            };
            return error;
        }
    }
    error
}

/// The library that a linker did not find: `cuda` of `-lcuda`.
fn missing_library(text: &str) -> Option<&str> {
    // GNU ld and gold; LLVM's; zig's.
    let before = ["cannot find -l", "unable to find library -l", "unable to find dynamic system library \""];
    let rest = text.lines().find_map(|line| {
        let start = before.iter().find_map(|words| Some(line.find(words)? + words.len()))?;
        Some(&line[start..])
    })?;
    let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || "_-+.".contains(c))).unwrap_or(rest.len());
    Some(&rest[..end]).filter(|name| !name.is_empty())
}

/// What to do about a library that is not there to be linked.
fn about_library(name: &str, scene: &Scene<'_>) -> String {
    if scene.vendor.driver(&format!("lib{name}.so.1")).is_some() {
        return format!(
            "lib{name} belongs to the driver and is on users' machines only: do not link it, open lib{name}.so.1 with \
             dlopen (the sample of `simpack init` shows how)"
        );
    }
    match scene.vendor.library(&format!("lib{name}.so")).or_else(|| scene.vendor.by_name(name)) {
        Some(library) => format!(
            "lib{name} is a library of the CUDA toolkit: host code opens it at run time, device code that needs it goes \
             into kernels with `form = \"library\"`; packages get it by uses = [\"{}\"]",
            library.name
        ),
        None => format!(
            "lib{name} is neither in the source nor in the toolchain: build it with the simulator, or take the machine's \
             compiler and libraries (host = \"system\")"
        ),
    }
}

/// Lines of an output that are searched for names.
const MOST_LINES: usize = 64;

fn complains(line: &str) -> bool {
    let lower = line.to_lowercase();
    COMPLAINTS.iter().any(|words| lower.contains(words))
}

/// Undeclared files that the output complains of.
fn files(text: &str, scene: &Scene<'_>) -> BTreeSet<PathBuf> {
    let lines: Vec<&str> = text.lines().collect();
    let mut found = BTreeSet::new();
    for (index, line) in lines.iter().enumerate() {
        if !complains(line) {
            continue;
        }
        // Compilers begin the line with the file that asks: names in it are relative to that, too.
        let asking = line.split(':').next().map(Path::new).and_then(Path::parent).unwrap_or(Path::new(""));
        let bases = [scene.seen_as.join(asking), scene.seen_as.to_owned()];
        for line in lines.iter().skip(index).take(1 + AFTER) {
            for word in words(line) {
                found.extend(bases.iter().filter_map(|base| undeclared(&base.join(word), scene)));
            }
        }
    }
    found
}

/// Words of a line that may be names of files.
fn words(line: &str) -> impl Iterator<Item = &str> {
    let apart = |c: char| c.is_whitespace() || "'\"`()[]<>:,;=".contains(c) || !c.is_ascii();
    line.split(apart).map(|word| word.trim_end_matches('.')).filter(|word| word.contains(['/', '.']))
}

/// The file that the name stands for, if it is there and the step does not see it.
fn undeclared(path: &Path, scene: &Scene<'_>) -> Option<PathBuf> {
    let path = plain(path);
    let path = match path.strip_prefix(scene.seen_as) {
        Ok(below) if below.components().next().is_some() && !below_work(&path, scene) => scene.source.join(below),
        _ if path.starts_with(scene.work) => beside(&path, scene)?,
        _ => path,
    };
    let hidden = match path.strip_prefix(scene.source) {
        Ok(below) => !(scene.declared)(below),
        Err(_) => {
            let is_given = scene.given.is_some_and(|prefix| path.starts_with(prefix));
            !is_given && !scene.isolation.is_of_tools(&path)
        }
    };
    (hidden && path.is_file() && !path.starts_with("/proc") && !path.starts_with("/dev")).then_some(path)
}

/// Whether a path lies in the step's own directory and not in its copy of the source.
fn below_work(path: &Path, scene: &Scene<'_>) -> bool {
    path.starts_with(scene.work) && !scene.seen_as.starts_with(scene.work)
}

/// A name that climbs out of the source directory leads into the step's own directory, where nothing
/// of the kind is: what was meant lies beside the real source directory.
fn beside(path: &Path, scene: &Scene<'_>) -> Option<PathBuf> {
    let (seen_above, above) = (scene.seen_as.parent()?, scene.source.parent()?);
    Some(above.join(path.strip_prefix(seen_above).ok()?))
}

#[cfg(test)]
mod tests {
    use super::missing_library;

    #[test]
    fn linkers_name_what_they_miss() {
        for line in [
            "/usr/bin/ld: cannot find -lcuda: No such file or directory",
            "/usr/bin/ld: cannot find -lcuda",
            "ld.lld: error: unable to find library -lcuda",
            "error: unable to find dynamic system library \"cuda\" using strategy paths_first. searched paths: none",
        ] {
            assert_eq!(missing_library(&format!("x.cc: warning\n{line}\n")), Some("cuda"), "{line}");
        }
        assert_eq!(missing_library("cannot find -l"), None);
        assert_eq!(missing_library("cannot find x.h"), None);
    }
}
