//! What a call did, per file and in all: as values for `--json`, as words.

use std::fmt;
use std::path::Path;

use serde::Serialize;

use super::intent::PatchRequest;
use crate::elf::edit::{Change, PatchPlan, State};
use crate::error::Error;
use crate::patch::{DriverUse, Lost};

/// What a call did.
#[derive(Debug, Serialize)]
pub struct PatchReport {
    schema: u32,
    /// Files in the order of the call.
    pub files: Vec<FileReport>,
    /// How many of what.
    pub totals: Totals,
    #[serde(skip)]
    print: bool,
}

/// How many files ended how.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "kebab-case")]
#[allow(missing_docs)]
pub struct Totals {
    pub changed: usize,
    pub would_change: usize,
    pub unchanged: usize,
    pub shown: usize,
    pub left_out: usize,
    pub failed: usize,
}

/// What happened to one file.
#[derive(Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct FileReport {
    /// Path as the user would write it.
    pub file: String,
    /// How it ended.
    pub outcome: Outcome,
    /// Why it was left out or failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What to do about a failure.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hints: Vec<String>,
    /// How the file comes to the driver, where that was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub driver: Option<DriverUse>,
    /// What the file says, where that was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<State>,
    /// What changes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plan: Option<PlanReport>,
    /// Needed libraries that the loader of this machine found before, and does not find with the new search path.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub lost: Vec<Lost>,
    #[serde(skip)]
    error: Option<Error>,
}

/// A plan without the bytes themselves.
#[derive(Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct PlanReport {
    /// Texts that change.
    pub changes: Vec<Change>,
    /// Places that are written.
    pub writes: Vec<WriteReport>,
    /// Bytes of the file before.
    pub size_before: u64,
    /// Bytes of the file after.
    pub size_after: u64,
}

/// One place that is written.
#[derive(Debug, Serialize)]
pub struct WriteReport {
    /// File offset.
    pub at: u64,
    /// Bytes.
    pub bytes: u64,
}

/// How a file ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// Written.
    Changed,
    /// Would be written without `--check`.
    WouldChange,
    /// Right already.
    Unchanged,
    /// Only looked at.
    Shown,
    /// Not concerned.
    LeftOut,
    /// Not done; it has its old content.
    Failed,
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Changed => "changed",
            Self::WouldChange => "would change",
            Self::Unchanged => "unchanged",
            Self::Shown => "shown",
            Self::LeftOut => "left out",
            Self::Failed => "failed",
        })
    }
}

impl PatchReport {
    pub(super) fn new(request: &PatchRequest, files: Vec<FileReport>) -> Self {
        let count = |outcome| files.iter().filter(|file| file.outcome == outcome).count();
        let totals = Totals {
            changed: count(Outcome::Changed),
            would_change: count(Outcome::WouldChange),
            unchanged: count(Outcome::Unchanged),
            shown: count(Outcome::Shown),
            left_out: count(Outcome::LeftOut),
            failed: count(Outcome::Failed),
        };
        Self { schema: 1, files, totals, print: request.print }
    }

    /// The failures.
    pub(super) fn errors(&self) -> impl Iterator<Item = &Error> {
        self.files.iter().filter_map(|file| file.error.as_ref())
    }

    /// For people; with `--print`, for scripts: blocks of `key: value` and nothing else.
    pub(super) fn text(&self) -> String {
        if self.print {
            let blocks: Vec<String> = self.files.iter().filter_map(FileReport::block).collect();
            return blocks.join("\n");
        }
        let width = self.files.iter().map(|file| file.outcome.to_string().len()).max().unwrap_or(0);
        let mut lines: Vec<String> = self.files.iter().flat_map(|file| file.lines(width)).collect();
        lines.push(self.totals.to_string());
        lines.join("\n")
    }
}

impl fmt::Display for Totals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counts = [
            (self.changed, Outcome::Changed),
            (self.would_change, Outcome::WouldChange),
            (self.unchanged, Outcome::Unchanged),
            (self.shown, Outcome::Shown),
            (self.left_out, Outcome::LeftOut),
            (self.failed, Outcome::Failed),
        ];
        let parts: Vec<String> =
            counts.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}")).collect();
        f.write_str(if parts.is_empty() { "no ELF files" } else { "" })?;
        f.write_str(&parts.join(", "))
    }
}

impl FileReport {
    pub(super) fn new(path: &Path) -> Self {
        Self {
            file: path.display().to_string(),
            outcome: Outcome::Unchanged,
            reason: None,
            hints: Vec::new(),
            driver: None,
            state: None,
            plan: None,
            lost: Vec::new(),
            error: None,
        }
    }

    pub(super) fn fail(&mut self, error: Error) {
        self.outcome = Outcome::Failed;
        self.reason = Some(error.to_string());
        self.hints = error.hints().to_vec();
        self.plan = None;
        self.error = Some(error);
    }

    pub(super) fn plan(&mut self, plan: &PatchPlan) {
        let mut writes: Vec<WriteReport> =
            plan.writes.iter().map(|write| WriteReport { at: write.at, bytes: write.bytes.len() as u64 }).collect();
        if !plan.tail.is_empty() {
            writes.push(WriteReport { at: plan.tail_at, bytes: plan.tail.len() as u64 });
        }
        self.plan = Some(PlanReport {
            changes: plan.changes.clone(),
            writes,
            size_before: plan.length,
            size_after: plan.new_length(),
        });
    }

    fn lines(&self, width: usize) -> Vec<String> {
        let outcome = self.outcome.to_string();
        let mut lines = vec![format!("{outcome:<width$}  {}", self.file)];
        match (&self.driver, &self.reason) {
            (Some(driver), _) => lines[0].push_str(&format!(": {driver}")),
            (None, Some(reason)) if self.outcome == Outcome::LeftOut => lines[0].push_str(&format!(": {reason}")),
            _ => {}
        }
        let Some(plan) = self.plan.as_ref().filter(|plan| !plan.changes.is_empty()) else { return lines };
        for change in &plan.changes {
            let text = |text: &Option<String>| text.clone().unwrap_or_else(|| "(none)".to_owned());
            lines.push(format!("  {:<11} {} -> {}", change.what, text(&change.from), text(&change.to)));
        }
        for Lost { name, was } in &self.lost {
            lines
                .push(format!("  {:<11} {name}, which was {was}: no directory of the new search path has it", "loses"));
        }
        if self.outcome == Outcome::WouldChange {
            let places = plan.writes.iter().map(|write| format!("{} at {:#x}", write.bytes, write.at));
            let total: u64 = plan.writes.iter().map(|write| write.bytes).sum();
            lines.push(format!("  {:<11} {total} bytes: {}", "writes", places.collect::<Vec<_>>().join(", ")));
            lines.push(format!("  {:<11} {} -> {} bytes", "size", plan.size_before, plan.size_after));
        }
        lines
    }

    /// `key: value` lines; keys without a value do not appear, lists repeat their key.
    fn block(&self) -> Option<String> {
        let state = self.state.as_ref()?;
        let mut text = format!("file: {}\n", self.file);
        let mut line = |key: &str, value: &str| text.push_str(&format!("{key}: {value}\n"));
        let mut maybe = |key: &str, value: &Option<String>| value.iter().for_each(|value| line(key, value));
        maybe("interpreter", &state.interpreter);
        maybe("soname", &state.soname);
        maybe("rpath", &state.rpath);
        maybe("runpath", &state.runpath);
        state.needed.iter().for_each(|name| line("needed", name));
        self.driver.iter().for_each(|driver| line("driver", &driver.to_string()));
        Some(text)
    }
}
