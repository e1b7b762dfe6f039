//! Finding, Incomplete, Report, Verdict: plain values that print as JSON.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Subject;

/// How much a finding weighs. Ordered: the last is the worst.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// Not reported.
    Allow,
    /// Good to know; nothing need be done.
    Note,
    /// Reported; the run goes on.
    Warn,
    /// Reported; packing does not start.
    Deny,
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Allow => "allow",
            Self::Note => "note",
            Self::Warn => "warn",
            Self::Deny => "deny",
        })
    }
}

/// A line of a file that people write: a recipe, a kernel table.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Place {
    /// File, as it is named to the user.
    pub path: String,
    /// Line, from one.
    pub line: usize,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.path, self.line)
    }
}

/// A statement about a subject (file, package, machine), or about several with one cause.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// Id of the lint.
    pub lint: String,
    /// Its level in this run.
    pub level: Level,
    /// What it is about: a package, or a file as `package: path`.
    #[schemars(with = "String")]
    pub subject: Subject,
    /// Further subjects of which the same is true, for the same reason; sorted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Vec<String>")]
    pub also: Vec<Subject>,
    /// One sentence in plain words.
    pub message: String,
    /// What was seen, line by line.
    pub evidence: Vec<String>,
    /// What to do.
    pub fix: Option<String>,
    /// Where it is written what this follows from, if that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Place>,
}

impl Finding {
    /// Everything that it is about.
    pub fn subjects(&self) -> impl Iterator<Item = &Subject> {
        std::iter::once(&self.subject).chain(&self.also)
    }

    /// The subject; with how many more there are.
    pub fn about(&self) -> String {
        match self.also.len() {
            0 => self.subject.to_string(),
            1 => format!("{} and 1 other", self.subject),
            more => format!("{} and {more} others", self.subject),
        }
    }

    /// The same about those subjects that are wanted.
    fn narrowed(&self, wanted: impl Fn(&Subject) -> bool) -> Option<Self> {
        let mut subjects = self.subjects().filter(|subject| wanted(subject)).cloned();
        Some(Self { subject: subjects.next()?, also: subjects.collect(), ..self.clone() })
    }

    /// What two findings have in common that are one.
    fn cause(&self) -> (Level, &str, &str, &[String], &Option<String>, &Option<Place>) {
        (self.level, &self.lint, &self.message, &self.evidence, &self.fix, &self.at)
    }
}

/// Findings that differ in their subject alone as one.
fn merged(mut findings: Vec<Finding>) -> Vec<Finding> {
    findings.sort_by(|a, b| (a.cause(), &a.subject).cmp(&(b.cause(), &b.subject)));
    let mut kept: Vec<Finding> = Vec::new();
    for finding in findings {
        match kept.last_mut().filter(|last| last.cause() == finding.cause()) {
            Some(last) => last.also.extend(finding.subjects().filter(|it| **it != last.subject).cloned()),
            None => kept.push(finding),
        }
    }
    for finding in &mut kept {
        finding.also.sort();
        finding.also.dedup();
    }
    kept
}

/// Something that could not be examined: never a pass.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct Incomplete {
    /// What could not be examined.
    #[schemars(with = "String")]
    pub subject: Subject,
    /// Which examination did not happen: a lint's id, or what was to be read (`elf`, `device-code`).
    pub topic: String,
    /// Why.
    pub reason: String,
}

/// A lint that did not run over some subjects, because nothing tells it what would be right: no gap, but no pass either.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct NotRun {
    /// Id of the lint.
    pub lint: String,
    /// Why.
    pub reason: String,
    /// What it did not look at, sorted; empty when that is everything.
    #[schemars(with = "Vec<String>")]
    pub subjects: Vec<Subject>,
}

/// A finding that somebody accepts, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Waived {
    /// The finding.
    pub finding: Finding,
    /// Why it is accepted.
    pub reason: String,
}

/// What a report can say about one of its lints.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rule {
    /// Id of the lint.
    pub id: String,
    /// Ids that it had in earlier versions.
    pub aliases: Vec<String>,
    /// Level unless somebody says otherwise.
    pub level: Level,
    /// One line.
    pub title: String,
    /// Why it matters.
    pub text: String,
    /// What to do.
    pub fix: String,
    /// Documents and sections that the rule comes from.
    pub link: Vec<String>,
}

impl NotRun {
    /// The same about those subjects that are wanted.
    fn narrowed(&self, wanted: impl Fn(&Subject) -> bool) -> Option<Self> {
        let subjects: Vec<Subject> = self.subjects.iter().filter(|subject| wanted(subject)).cloned().collect();
        (self.subjects.is_empty() || !subjects.is_empty()).then(|| Self { subjects, ..self.clone() })
    }
}

/// The answer over everything that was looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// Everything was examined and nothing was found.
    Pass,
    /// Something was found.
    Findings,
    /// Something could not be examined.
    Incomplete,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Pass => "pass",
            Self::Findings => "findings",
            Self::Incomplete => "incomplete",
        })
    }
}

/// All findings of one examination, worst first.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Report {
    /// Findings, sorted by level (deny first), lint, subject, message.
    pub findings: Vec<Finding>,
    /// What could not be examined, sorted.
    pub incomplete: Vec<Incomplete>,
    /// Names of the subjects that were examined, sorted.
    pub examined: Vec<String>,
    /// Findings that somebody accepts, sorted like findings. They do not count.
    #[serde(default)]
    waived: Vec<Waived>,
    /// Lints that did not run, sorted; those with one reason are one.
    #[serde(default)]
    not_run: Vec<NotRun>,
}

/// Order of findings: worst first, then by lint and subject.
fn order(a: &Finding, b: &Finding) -> std::cmp::Ordering {
    (b.level, &a.lint, &a.subject, &a.message).cmp(&(a.level, &b.lint, &b.subject, &b.message))
}

impl Report {
    /// A report in its canonical order; findings at level `allow` are dropped, those with one cause become one.
    pub fn new(mut findings: Vec<Finding>, mut incomplete: Vec<Incomplete>, mut examined: Vec<String>) -> Self {
        findings.retain(|finding| finding.level != Level::Allow);
        let mut findings = merged(findings);
        findings.sort_by(order);
        incomplete.sort();
        incomplete.dedup();
        examined.sort();
        examined.dedup();
        Self { findings, incomplete, examined, waived: Vec::new(), not_run: Vec::new() }
    }

    /// Findings that somebody accepts.
    pub fn waived(&self) -> &[Waived] {
        &self.waived
    }

    /// Sets the findings that somebody accepts.
    pub fn set_waived(&mut self, mut waived: Vec<Waived>) {
        waived.sort_by(|a, b| order(&a.finding, &b.finding));
        waived.dedup();
        self.waived = waived;
    }

    /// Lints that did not run.
    pub fn not_run(&self) -> &[NotRun] {
        &self.not_run
    }

    /// Adds lints that did not run; those with one reason become one.
    pub fn add_not_run(&mut self, not_run: impl IntoIterator<Item = NotRun>) {
        self.not_run.extend(not_run);
        self.not_run.sort();
        self.not_run.dedup_by(|next, kept| {
            let same = (&next.lint, &next.reason) == (&kept.lint, &kept.reason);
            if same {
                kept.subjects.append(&mut next.subjects);
            }
            same
        });
        for one in &mut self.not_run {
            one.subjects.sort();
            one.subjects.dedup();
        }
    }

    /// Adds what somebody else could not examine.
    pub fn add_incomplete(&mut self, incomplete: impl IntoIterator<Item = Incomplete>) {
        self.incomplete.extend(incomplete);
        self.incomplete.sort();
        self.incomplete.dedup();
    }

    /// The part about one package, or another subject that was examined: itself and its files.
    #[must_use]
    pub fn about(&self, name: &str) -> Self {
        self.filtered(|subject| subject.package() == name)
    }

    /// The part about subjects that are wanted.
    #[must_use]
    pub fn filtered(&self, wanted: impl Fn(&Subject) -> bool) -> Self {
        Self {
            findings: self.findings.iter().filter_map(|finding| finding.narrowed(&wanted)).collect(),
            incomplete: self.incomplete.iter().filter(|incomplete| wanted(&incomplete.subject)).cloned().collect(),
            examined: self.examined.iter().filter(|name| wanted(&name.as_str().into())).cloned().collect(),
            waived: self.waived.iter().filter(|waived| wanted(&waived.finding.subject)).cloned().collect(),
            not_run: self.not_run.iter().filter_map(|one| one.narrowed(&wanted)).collect(),
        }
    }

    /// How many findings have this level.
    pub fn count(&self, level: Level) -> usize {
        self.findings.iter().filter(|finding| finding.level == level).count()
    }

    /// Denied findings stop what comes next.
    pub fn is_denied(&self) -> bool {
        self.count(Level::Deny) > 0
    }

    /// The verdict: `incomplete` outweighs everything, because what was not seen may be worse.
    pub fn verdict(&self) -> Verdict {
        match (self.incomplete.is_empty(), self.findings.is_empty()) {
            (false, _) => Verdict::Incomplete,
            (true, false) => Verdict::Findings,
            (true, true) => Verdict::Pass,
        }
    }
}
