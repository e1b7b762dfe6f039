//! The answer in words, as a tree, and as JSON.

use std::collections::BTreeSet;
use std::fmt::Write;

use schemars::JsonSchema;
use serde::Serialize;

use super::machine::Asked;
use crate::elf::resolve::{Candidate, End, Environment, Libc, Link, LoadedObject, Outcome, Resolution};
use crate::report::{Report, ReportJson};

/// Version of what `--json` prints.
const SCHEMA: u32 = 1;

/// The answer for one file.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Answer<'a> {
    pub(super) file: &'a str,
    pub(super) loader: LoaderJson<'a>,
    pub(super) environment: &'a Environment,
    #[serde(flatten)]
    pub(super) resolution: &'a Resolution,
    pub(super) report: ReportJson<'a>,
}

/// The loader, as far as it explains the answer.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct LoaderJson<'a> {
    path: &'a str,
    libc: Libc,
    version: Option<String>,
    directories: &'a [String],
    lib: &'a str,
    platform: &'a str,
    level: u32,
    cache: Option<&'a str>,
}

/// What `--json` prints.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Answers<'a> {
    pub(super) schema: u32,
    pub(super) files: Vec<Answer<'a>>,
}

impl<'a> Answers<'a> {
    pub(super) fn new(files: Vec<Answer<'a>>) -> Self {
        Self { schema: SCHEMA, files }
    }
}

impl<'a> Answer<'a> {
    pub(super) fn new(asked: &'a Asked, resolution: &'a Resolution, report: &'a Report) -> Self {
        let loader = &asked.loader;
        let loader = LoaderJson {
            path: &loader.path,
            libc: loader.libc,
            version: loader.version.map(|version| version.to_string()),
            directories: &loader.directories,
            lib: &loader.lib,
            platform: &loader.cpu.platform,
            level: loader.cpu.level,
            cache: loader.cache_path.as_deref().filter(|_| loader.cache.is_some()),
        };
        Self { file: &asked.file, loader, environment: &asked.environment, resolution, report: report.json() }
    }
}

/// What became of a candidate, in words.
pub(super) fn why(candidate: &Candidate) -> String {
    match &candidate.outcome {
        Outcome::Wins => format!("wins by {}", candidate.rule),
        Outcome::Shadowed => format!("not reached: {}", candidate.rule),
        Outcome::Same => format!("the same file: {}", candidate.rule),
        Outcome::WrongClass => format!("passed over, a 32-bit file: {}", candidate.rule),
        Outcome::WrongMachine => format!("passed over, for another processor: {}", candidate.rule),
        Outcome::Denied => format!("passed over, may not be read: {}", candidate.rule),
        Outcome::NotSetuid => format!("passed over, not set-user-ID: {}", candidate.rule),
        Outcome::NoDefault => format!("passed over, the asking file forbids default directories: {}", candidate.rule),
        Outcome::Unreadable(reason) => format!("passed over, {reason}: {}", candidate.rule),
        Outcome::Fatal(reason) => format!("ends the process, {reason}: {}", candidate.rule),
        Outcome::ShadowedFatal(reason) => format!("not reached, and {reason}: {}", candidate.rule),
    }
}

/// Every asking once, with what else could have answered.
pub(super) fn text(asked: &Asked, resolution: &Resolution) -> String {
    let loader = &asked.loader;
    let libc = match (loader.libc, loader.version) {
        (Libc::Glibc, Some(version)) => format!("glibc {version}"),
        (Libc::Glibc, None) => "glibc".to_owned(),
        (Libc::Musl, _) => "musl".to_owned(),
    };
    let cpu = &loader.cpu;
    let mut text = format!("{}\n  loader {} ({libc}, {} level {})\n", asked.file, loader.path, cpu.platform, cpu.level);
    if let Some(path) = &asked.environment.library_path {
        let _ = writeln!(text, "  LD_LIBRARY_PATH {path}");
    }
    if asked.environment.secure {
        text.push_str("  raised rights: LD_LIBRARY_PATH does not count\n");
    }
    let shown: Vec<&Link> = resolution.links.iter().filter(|link| is_news(link)).collect();
    let width = shown.iter().map(|link| link.name.chars().count()).max().unwrap_or(0).min(40);
    let mut from = None;
    for link in shown {
        if from != Some(link.from) {
            let _ = writeln!(text, "{}", resolution.objects[link.from].path);
            from = Some(link.from);
        }
        let _ = writeln!(text, "  {:<width$}  {}", link.name, end(asked, resolution, link));
        let others = link.candidates.iter().filter(|it| !matches!(it.outcome, Outcome::Wins | Outcome::Same));
        for candidate in others {
            let _ = writeln!(text, "  {:<width$}    {}: {}", "", candidate.path, why(candidate));
        }
    }
    let count = resolution.objects.iter().filter(|object| object.id.is_some()).count();
    let missing = resolution.links.iter().filter(|link| !matches!(link.end, End::Found { .. })).count();
    let _ = writeln!(text, "{}, {missing} not found", crate::amount::count(count, "file"));
    text
}

/// Askings that brought a file, or failed: the others repeat an answer.
fn is_news(link: &Link) -> bool {
    !matches!(link.end, End::Found { new: false, .. }) || !link.candidates.is_empty()
}

fn end(asked: &Asked, resolution: &Resolution, link: &Link) -> String {
    let by = link.by.as_ref().map(|rule| format!("  {rule}")).unwrap_or_default();
    match &link.end {
        End::Found { object, new } => {
            let path = &resolution.objects[*object].path;
            let assumed = if asked.tree.is_assumed(path) { "  (assumed)" } else { "" };
            let same = if *new { "" } else { "  (loaded already, the same file)" };
            format!("{path}{by}{same}{assumed}")
        }
        End::Missing => "not found".to_owned(),
        End::Fatal { reason } => format!("ends the process: {reason}"),
    }
}

/// As `lddtree` prints: each library below the first that asks for it.
pub(super) fn tree(resolution: &Resolution) -> String {
    let mut text = String::new();
    let Some(program) = resolution.objects.first() else { return text };
    let interpreter = resolution.objects.get(1).map_or("none", |object| &object.path);
    let _ = writeln!(text, "{} (interpreter => {interpreter})", program.path);
    // The interpreter stands in the first line.
    let mut shown = BTreeSet::from([0, 1]);
    branch(resolution, 0, 1, &mut shown, &mut text);
    text
}

fn branch(resolution: &Resolution, from: usize, depth: usize, shown: &mut BTreeSet<usize>, text: &mut String) {
    let asked: Vec<&Link> = resolution.links.iter().filter(|link| link.from == from).collect();
    // Mark first: a library belongs below the first that asks for it, breadth first as it is loaded.
    let mut below = Vec::new();
    for link in asked {
        let indent = "    ".repeat(depth);
        match &link.end {
            End::Found { object, .. } => {
                let path = resolution.objects.get(*object).map_or("", |object: &LoadedObject| &object.path);
                if shown.insert(*object) {
                    below.push((Some(*object), format!("{indent}{} => {path}", link.name)));
                }
            }
            End::Missing => below.push((None, format!("{indent}{} => not found", link.name))),
            End::Fatal { reason } => below.push((None, format!("{indent}{} => {reason}", link.name))),
        }
    }
    for (object, line) in below {
        let _ = writeln!(text, "{line}");
        if let Some(object) = object {
            branch(resolution, object, depth + 1, shown, text);
        }
    }
}
