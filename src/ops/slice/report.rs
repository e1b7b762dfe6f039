//! What slicing did, per slice and in all: as values for `--json`, as words.

use std::fmt;
use std::path::Path;

use schemars::JsonSchema;
use serde::Serialize;

use crate::elf::demangled;
use crate::error::{Error, ErrorKind};
use crate::gpu::slice::{ContainerSlice, Loss, SlicePlan, SliceSpec, TargetBytes};
use crate::ui::size;

/// Kernels that are named in words; `--json` names all.
const NAMED: usize = 8;

/// What a call did.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SliceReport {
    schema: u32,
    /// Slices in the order of the call.
    pub slices: Vec<FileReport>,
}

/// What happened to one slice.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct FileReport {
    /// The fat file.
    pub file: String,
    /// The slice.
    pub output: String,
    /// What was asked.
    pub ask: SliceSpec,
    /// How it ended.
    pub outcome: Outcome,
    /// Why it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What to do about a failure.
    #[schemars(default)]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hints: Vec<String>,
    /// What permits to pass on a package with slices of a vendor's libraries.
    #[schemars(default)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub permission: Option<String>,
    /// What the slice holds, loses and weighs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plan: Option<PlanReport>,
    #[serde(skip)]
    error: Option<Error>,
}

/// A plan without the bytes themselves.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct PlanReport {
    /// Bytes of the fat file.
    pub size_before: u64,
    /// Bytes of the slice.
    pub size_after: u64,
    /// Code by target.
    pub targets: Vec<TargetBytes>,
    /// Gaps in the address space: address and bytes.
    pub gaps: Vec<(u64, u64)>,
    /// Whether the kept containers stand together.
    pub together: bool,
    /// Kernels without code for an asked capability.
    pub losses: Vec<Loss>,
    /// Containers.
    pub containers: Vec<ContainerSlice>,
    /// What the user should know.
    pub notes: Vec<String>,
    /// What may not work.
    #[schemars(default)]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// How a slice ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// Written and read back.
    Written,
    /// Would be written without `--dry-run`.
    WouldWrite,
    /// Kernels would lose their code.
    Refused,
    /// Not done.
    Failed,
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Written => "written",
            Self::WouldWrite => "would write",
            Self::Refused => "refused",
            Self::Failed => "failed",
        })
    }
}

impl SliceReport {
    pub(super) fn new(slices: Vec<FileReport>) -> Self {
        Self { schema: 1, slices }
    }

    /// The failures.
    pub(super) fn errors(&self) -> impl Iterator<Item = &Error> {
        self.slices.iter().filter_map(|slice| slice.error.as_ref())
    }

    pub(super) fn exit_code(&self) -> u8 {
        let any = |outcome| self.slices.iter().any(|slice| slice.outcome == outcome);
        match self.errors().next() {
            Some(error) => error.kind().exit_code(),
            None if any(Outcome::Refused) => 1,
            None if any(Outcome::Failed) => ErrorKind::File.exit_code(),
            None => 0,
        }
    }

    /// How the slices ended: what they hold was said before.
    pub(super) fn text(&self) -> String {
        let mut lines: Vec<String> = Vec::new();
        for slice in &self.slices {
            let line = slice.end();
            // The files of a package end together.
            if lines.last() != Some(&line) {
                lines.push(line);
            }
        }
        let refused = || self.slices.iter().filter(|slice| slice.outcome == Outcome::Refused);
        let plans = refused().filter_map(|slice| slice.plan.as_ref());
        if plans.clone().flat_map(|plan| &plan.losses).any(|loss| loss.in_fat) {
            lines.push("hint         the fat file has code for them, which `--ptx` or `--lto` drops".to_owned());
        } else if plans.count() > 0 {
            lines.push(
                "hint         the fat file has no code for that either: ask for capabilities that it serves".to_owned(),
            );
        }
        if refused().next().is_some() {
            lines.push("hint         `--allow-missing` writes a slice all the same".to_owned());
        }
        lines.join("\n")
    }
}

impl FileReport {
    pub(super) fn new(path: &Path, output: &Path, ask: &SliceSpec) -> Self {
        Self {
            file: path.display().to_string(),
            output: output.display().to_string(),
            ask: ask.clone(),
            outcome: Outcome::Failed,
            reason: None,
            hints: Vec::new(),
            permission: None,
            plan: None,
            error: None,
        }
    }

    pub(super) fn fail(&mut self, error: Error) {
        self.outcome = Outcome::Failed;
        self.reason = Some(error.to_string());
        self.hints = error.hints().to_vec();
        self.error = Some(error);
    }

    pub(super) fn plan(&mut self, plan: &SlicePlan) {
        self.plan = Some(PlanReport {
            size_before: plan.length,
            size_after: plan.new_length,
            targets: plan.targets.clone(),
            gaps: plan.gaps.clone(),
            together: plan.together,
            losses: plan.losses.clone(),
            containers: plan.containers.clone(),
            notes: plan.notes.clone(),
            warnings: plan.warnings.clone(),
        });
    }

    fn asked(&self) -> String {
        let capabilities: Vec<String> = self.ask.capabilities.iter().map(ToString::to_string).collect();
        capabilities.join(", ")
    }

    fn end(&self) -> String {
        format!("{:<11}  {} for {}", self.outcome.to_string(), self.output, self.asked())
    }

    /// What the slice will hold, lose and weigh.
    pub(super) fn plan_text(&self) -> String {
        let mut lines = vec![format!("{} for {}", self.file, self.asked())];
        let Some(plan) = &self.plan else { return lines.concat() };
        lines.push(format!("  size      {} -> {}", size(plan.size_before), size(plan.size_after)));
        let kept = plan.targets.iter().map(|it| ("keeps", &it.target, it.kept, it.kept_bytes));
        let dropped = plan.targets.iter().map(|it| ("drops", &it.target, it.dropped, it.dropped_bytes));
        for (what, target, count, room) in kept.chain(dropped).filter(|(_, _, count, _)| *count > 0) {
            lines.push(format!("  {what:<9} {target:<12} {count:>6} x  {:>9}", size(room)));
        }
        lines.extend(self.loss_lines(plan));
        lines.extend(plan.notes.iter().map(|note| format!("  note      {note}")));
        lines.extend(plan.warnings.iter().map(|warning| format!("  warning   {warning}")));
        lines.join("\n")
    }

    fn loss_lines(&self, plan: &PlanReport) -> Vec<String> {
        let mut lines = Vec::new();
        let asked = self.ask.capabilities.iter();
        for (capability, in_fat) in asked.flat_map(|capability| [(capability, true), (capability, false)]) {
            let mut kernels: Vec<&str> = plan
                .losses
                .iter()
                .filter(|loss| loss.capability == *capability && loss.in_fat == in_fat)
                .flat_map(|loss| loss.kernels.iter().map(String::as_str))
                .collect();
            kernels.sort_unstable();
            kernels.dedup();
            if kernels.is_empty() {
                continue;
            }
            let what = match kernels.len() {
                1 => "a kernel".to_owned(),
                count => format!("{count} kernels"),
            };
            let has = if kernels.len() == 1 { "has" } else { "have" };
            if !in_fat {
                // Nothing is lost: the names are the fat file's matter, and `--json` has them.
                lines.push(format!("  note      {what} {has} no code for {capability} in the fat file either"));
                continue;
            }
            let verb = if kernels.len() == 1 { "loses its" } else { "lose their" };
            lines.push(format!("  loses     {what} {verb} code for {capability}:"));
            let shown = |name: &&str| demangled(name).unwrap_or_else(|| (*name).to_owned());
            lines.extend(kernels.iter().take(NAMED).map(|name| format!("            {}", shown(name))));
            if kernels.len() > NAMED {
                lines.push(format!("            and {} more, which `--json` names", kernels.len() - NAMED));
            }
        }
        lines
    }
}

/// Says what a slice will hold, lose and weigh, before it is written.
pub(super) type Announce<'a> = dyn Fn(&FileReport) + 'a;
