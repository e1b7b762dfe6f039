//! What steps are expected to take, and which of them one call may take: by which the engine arranges them.

use std::collections::BTreeMap;

use super::history::History;
use super::run::BuildOptions;
use super::slots::Waiting;
use super::step::kernel::{InCommon, shareable};
use super::step::shared::LONG;
use crate::plan::{Action, BuildPlan, Step};

/// No compiler takes less: entries of old hold what bubblewrap itself took, where it ran below that.
const SMALLEST: u64 = 8 << 20;

/// Seconds of a kernel that was never compiled: it may be the longest.
const UNKNOWN: f64 = 1e9;

/// The steps of a plan that are `missing`, by their indices.
pub(super) fn waiting(plan: &BuildPlan, missing: &[usize], history: &History, options: &BuildOptions) -> Vec<Waiting> {
    let mut families: BTreeMap<InCommon<'_>, usize> = BTreeMap::new();
    let missing = missing.iter().map(|&index| {
        let step = &plan.steps[index];
        let expected = expect(index, step, history, options);
        // What is known to take long gains nothing.
        let is_short = expected.seconds < LONG.as_secs_f64() || expected.seconds == UNKNOWN;
        let family = shareable(step).filter(|_| is_short).map(|(common, _)| {
            let next = families.len();
            *families.entry(common).or_insert(next)
        });
        Waiting { family, ..expected }
    });
    missing.collect()
}

/// What a step is expected to take: what it took the last time, else what the model says.
fn expect(index: usize, step: &Step, history: &History, options: &BuildOptions) -> Waiting {
    let took = history.of(&step.id).unwrap_or_default();
    let (tool, source, processes) = match &step.action {
        Action::Kernel { source, .. } => ("nvcc", Some(options.source.join(source)), 1),
        Action::Host { .. } => ("host", None, options.jobs.max(1) as u64),
    };
    let peak = match took.peak {
        0..SMALLEST => {
            let bytes = source.and_then(|path| std::fs::metadata(path).ok()).map_or(0, |data| data.len());
            options.memory.expected(tool, bytes)
        }
        // Inputs have changed since; a tenth more is cheap.
        peak => peak.saturating_add(peak / 10),
    };
    // A step that nobody knows may be the longest: host builds before kernels, and both before the known.
    let unknown = if matches!(step.action, Action::Host { .. }) { f64::MAX } else { UNKNOWN };
    let seconds = if took.seconds > 0.0 { took.seconds } else { unknown };
    Waiting { index, memory: peak.saturating_mul(processes), seconds, alone: false, family: None }
}
