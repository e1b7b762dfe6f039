//! Names the files that a failed step looked for and did not declare: they are there, but it saw none.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::isolation::{StepIsolation, plain};
use crate::error::Error;
use crate::process::IsolationKind;

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
    /// What all steps see.
    pub isolation: &'a StepIsolation,
    /// The step's own directory.
    pub work: &'a Path,
}

/// Adds to the error of a failed step which undeclared files its output names, and that it has no network.
pub(in crate::engine) fn explain(mut error: Error, text: &str, scene: &Scene<'_>) -> Error {
    let files = files(text, scene);
    for file in &files {
        error = error.detail(format!("undeclared read: {} is there, but the step does not declare it", file.display()));
    }
    if let Some(first) = files.first() {
        error = error.hint(match first.strip_prefix(scene.source) {
            Ok(below) => format!(
                "add `{}` to the `inputs` of the build; where it has none, hidden and ignored files do not count, and \
                 `simpack check` lists what does",
                below.display()
            ),
            Err(_) => format!("copy {} into the source: what lies outside is in no key", first.display()),
        });
    }
    let lower = text.to_lowercase();
    if scene.isolation.kind() != IsolationKind::None && UNREACHABLE.iter().any(|words| lower.contains(words)) {
        error = error.detail("steps have no network");
    }
    error
}

/// Undeclared files that the output complains of.
fn files(text: &str, scene: &Scene<'_>) -> BTreeSet<PathBuf> {
    let lines: Vec<&str> = text.lines().collect();
    let mut found = BTreeSet::new();
    for (index, line) in lines.iter().enumerate() {
        let lower = line.to_lowercase();
        if !COMPLAINTS.iter().any(|words| lower.contains(words)) {
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
        Err(_) => !scene.isolation.is_of_tools(&path),
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
