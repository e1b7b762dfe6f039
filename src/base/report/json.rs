//! The report as JSON. [`REPORT_SCHEMA`] rises when a field changes its meaning or goes away; new
//! fields may appear at any time.

use schemars::JsonSchema;
use serde::Serialize;

use super::{Finding, Incomplete, Level, NotRun, Report, Verdict, Waived};

/// Version of the report's schema.
pub const REPORT_SCHEMA: u32 = 1;

/// What `--json` prints.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ReportJson<'a> {
    /// Always [`REPORT_SCHEMA`].
    pub schema: u32,
    /// Version of the simpack that examined.
    pub simpack: &'static str,
    /// `pass`, `findings` or `incomplete`.
    pub verdict: Verdict,
    /// How many of each.
    pub counts: Counts,
    /// Names of the packages (or files, or machines) that were examined, sorted.
    pub examined: &'a [String],
    /// Findings, worst first.
    pub findings: &'a [Finding],
    /// What could not be examined.
    pub incomplete: &'a [Incomplete],
    /// Findings that somebody accepts, with the reason.
    pub waived: &'a [Waived],
    /// Lints that did not run, because nothing tells them what would be right; absent in the first files of this form.
    #[schemars(default)]
    #[serde(rename = "not-run")]
    pub not_run: &'a [NotRun],
}

/// How many of each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Counts {
    /// Findings that stop what comes next.
    pub deny: usize,
    /// Findings that do not.
    pub warn: usize,
    /// Findings that are good to know; absent in the first files of this form.
    #[schemars(default)]
    pub note: usize,
    /// What could not be examined.
    pub incomplete: usize,
    /// Accepted findings.
    pub waived: usize,
}

impl Report {
    /// How many of each.
    pub fn counts(&self) -> Counts {
        Counts {
            deny: self.count(Level::Deny),
            warn: self.count(Level::Warn),
            note: self.count(Level::Note),
            incomplete: self.incomplete.len(),
            waived: self.waived().len(),
        }
    }

    /// The report as `--json` prints it.
    pub fn json(&self) -> ReportJson<'_> {
        ReportJson {
            schema: REPORT_SCHEMA,
            simpack: env!("CARGO_PKG_VERSION"),
            verdict: self.verdict(),
            counts: self.counts(),
            examined: &self.examined,
            findings: &self.findings,
            incomplete: &self.incomplete,
            waived: self.waived(),
            not_run: self.not_run(),
        }
    }
}
