//! `simpack abi diff`: what changed, what it means for the version.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Serialize;

use super::second::{self, SecondOpinion};
use super::subject::{Subject, is_baseline, read_baseline};
use crate::abi::{Advice, Baseline, Change, Depth, Verdict, Weight, advise, compare, compare_files};
use crate::arch::Version;
use crate::arch::VersionPolicy;
use crate::error::{Error, Result};
use crate::ui::Ui;

/// What to compare.
#[derive(Debug, Clone)]
pub struct DiffRequest {
    /// What was promised: a baseline, a file, a tree, packages.
    pub old: PathBuf,
    /// What is there now.
    pub new: PathBuf,
    /// Release of the old one, when it does not say it itself.
    pub old_release: Option<Version>,
    /// Release of the new one.
    pub new_release: Option<Version>,
    /// What the version promises; what the packages say, else `major`.
    pub policy: Option<VersionPolicy>,
    /// Ask `abidiff` too.
    pub second_opinion: bool,
    /// Show every change, however many there are of a kind.
    pub all: bool,
}

/// The answer as JSON.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) struct DiffAnswer<'a> {
    schema: u32,
    depth: Depth,
    old: Side<'a>,
    new: Side<'a>,
    policy: VersionPolicy,
    #[serde(flatten)]
    advice: &'a Advice,
    changes: &'a [Change],
    unreadable: &'a [(String, String)],
    second_opinion: &'a [SecondOpinion],
}

#[derive(Serialize, JsonSchema)]
struct Side<'a> {
    subject: &'a str,
    release: Option<&'a Version>,
}

/// One side of the comparison: a recorded baseline, or one that is taken now.
struct Opened {
    baseline: Baseline,
    subject: Option<Subject>,
}

/// Compares; answers 0 when the new release may carry its number, 1 when it may not, 7 when
/// something could not be read.
///
/// # Errors
/// A side does not exist or is no baseline, or `abidiff` was asked for and cannot be run.
pub fn diff(request: &DiffRequest, ui: &Ui) -> Result<u8> {
    let old = open(&request.old, request.old_release)?;
    let new = open(&request.new, request.new_release)?;
    let said = |side: &Opened| {
        side.subject.as_ref().and_then(|subject| subject.libraries().find_map(|library| library.package.as_ref()?.1))
    };
    let policy = request.policy.or_else(|| said(&new)).or_else(|| said(&old)).unwrap_or(VersionPolicy::Major);
    let named = |side: &Opened| side.subject.as_ref().and_then(Subject::named).map(|file| file.facts.soname.clone());
    let changes = match (named(&old), named(&new)) {
        // Two files are meant for each other whatever they are called.
        (Some(before), Some(after)) => compare_files(&old.baseline, &new.baseline, before.is_some() && after.is_some()),
        _ => compare(&old.baseline, &new.baseline),
    };
    let advice = advise(&changes, policy, old.baseline.release.as_ref(), new.baseline.release.as_ref());
    let unreadable: Vec<(String, String)> = [&old, &new]
        .iter()
        .filter_map(|side| side.subject.as_ref())
        .flat_map(|subject| subject.unreadable.clone())
        .collect();
    let second = match (request.second_opinion, &old.subject, &new.subject) {
        (false, ..) => Vec::new(),
        (true, Some(old), Some(new)) => second::ask(old, new)?,
        (true, ..) => {
            return Err(Error::usage("abidiff compares files, not a recorded baseline")
                .hint("give the old release's package or tree, or leave out --second-opinion"));
        }
    };
    let side = |opened: &'_ Opened| (opened.baseline.subject.clone(), opened.baseline.release);
    let ((old_name, old_release), (new_name, new_release)) = (side(&old), side(&new));
    let answer = DiffAnswer {
        schema: 1,
        depth: Depth::Symbols,
        old: Side { subject: &old_name, release: old_release.as_ref() },
        new: Side { subject: &new_name, release: new_release.as_ref() },
        policy,
        advice: &advice,
        changes: &changes,
        unreadable: &unreadable,
        second_opinion: &second,
    };
    if !ui.json(&answer)? {
        ui.say(page(&answer, deeper(&old, &new), request.all));
    }
    Ok(match (&advice, unreadable.is_empty()) {
        (Advice { verdict: Verdict::Incompatible, fits, .. }, _) if *fits != Some(true) => 1,
        (_, false) => 7,
        _ => 0,
    })
}

fn open(path: &Path, release: Option<Version>) -> Result<Opened> {
    if is_baseline(path) {
        let mut baseline = read_baseline(path)?;
        baseline.release = release.or(baseline.release);
        return Ok(Opened { baseline, subject: None });
    }
    let subject = Subject::open(path)?;
    Ok(Opened { baseline: subject.baseline(release), subject: Some(subject) })
}

/// Whether both sides carry debug information, which this comparison does not read.
fn deeper(old: &Opened, new: &Opened) -> bool {
    let has = |side: &Opened| side.baseline.libraries.values().any(|library| library.debug_info);
    has(old) && has(new)
}

/// Changes of one kind that are shown unless all are asked for.
const SHOWN: usize = 8;

fn page(answer: &DiffAnswer<'_>, deeper: bool, all: bool) -> String {
    let mut text = String::new();
    let named = |side: &Side<'_>| match side.release {
        Some(release) => format!("{} {release}", side.subject),
        None => side.subject.to_owned(),
    };
    let _ = writeln!(text, "{} -> {}: {}", named(&answer.old), named(&answer.new), answer.advice.verdict);
    for (weight, title) in [
        (Weight::Breaking, "breaks programs that are linked already"),
        (Weight::Addition, "new: programs that use it need the new release"),
        (Weight::Harmless, "no consumer notices"),
    ] {
        let changes: Vec<&Change> = answer.changes.iter().filter(|change| change.weight == weight).collect();
        if changes.is_empty() {
            continue;
        }
        let _ = writeln!(text, "\n{title} ({})", changes.len());
        let mut groups: Vec<(&str, &str, Vec<&Change>)> = Vec::new();
        for change in changes {
            let key = (change.library.as_str(), change.kind.words());
            match groups.iter_mut().find(|(library, words, _)| (*library, *words) == key) {
                Some((.., group)) => group.push(change),
                None => groups.push((key.0, key.1, vec![change])),
            }
        }
        for (library, words, group) in groups {
            let shown = if all { group.len() } else { SHOWN };
            for change in group.iter().take(shown) {
                let about = if change.symbol.is_some() { format!("  {}", change.shown()) } else { String::new() };
                let detail = change.detail.as_ref().map(|detail| format!(": {detail}")).unwrap_or_default();
                let _ = writeln!(text, "  {library}  {words}{about}{detail}");
            }
            if group.len() > shown {
                let _ = writeln!(text, "  {library}  {words}: {} more, --all shows them", group.len() - shown);
            }
        }
    }
    for (file, reason) in answer.unreadable {
        let _ = writeln!(text, "\nnot examined  {file}: {reason}");
    }
    let advice = answer.advice;
    if let Some(lowest) = &advice.lowest {
        let fits = match (advice.fits, answer.new.release) {
            (Some(true), Some(new)) => format!("; {new} is right"),
            (Some(false), Some(new)) => format!("; {new} is too low"),
            _ => String::new(),
        };
        let _ = writeln!(text, "\nversion  {lowest} or higher under policy {}{fits}", answer.policy);
    }
    for opinion in answer.second_opinion {
        let _ = writeln!(text, "abidiff  {}: {}", opinion.library, opinion.verdict);
    }
    let hint = if deeper { "; --second-opinion asks abidiff, which reads the debug information here" } else { "" };
    let _ = writeln!(text, "depth    {}: types of parameters and members are not compared{hint}", answer.depth);
    text
}
