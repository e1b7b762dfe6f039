//! What steps are expected to take, and which of them one call may take: by which the engine arranges them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::cache::Cache;
use super::history::{Accuracy, HISTORY, History};
use super::options::BuildOptions;
use super::slots::Waiting;
use super::step::kernel::{InCommon, shareable};
use super::step::shared::LONG;
use crate::build_system::BuildDriver;
use crate::manifest::{MemoryModel, TimeModel};
use crate::plan::{Action, BuildPlan, Step, Weight};

/// No compiler takes less: entries of old hold what bubblewrap itself took, where it ran below that.
const SMALLEST: u64 = 8 << 20;

/// Calls that a job makes of shaders, at least, so that all jobs come to an end together.
const CALLS_FOR_EACH_JOB: usize = 2;
/// Shaders that a call takes, where there are so many: it takes as long to start as twenty small ones.
const FEWEST_SHADERS: usize = 8;

/// Seconds of a kernel that was never compiled: it may be the longest.
const UNKNOWN: f64 = 1e9;

/// The steps of a plan that are `missing`, by their indices.
pub(super) fn waiting(plan: &BuildPlan, missing: &[usize], history: &History, options: &BuildOptions) -> Vec<Waiting> {
    let common = |step| shareable(step).map(|common| (common, matches!(common, InCommon::Arguments(_))));
    let of_arguments =
        missing.iter().filter_map(|&index| common(&plan.steps[index])).filter(|(_, whole)| *whole).count();
    let most = of_arguments.div_ceil(CALLS_FOR_EACH_JOB * options.jobs.max(1)).max(FEWEST_SHADERS);
    let mut families: BTreeMap<(InCommon<'_>, usize), usize> = BTreeMap::new();
    let mut counts: BTreeMap<InCommon<'_>, usize> = BTreeMap::new();
    let missing = missing.iter().map(|&index| {
        let step = &plan.steps[index];
        let expected = expect(index, step, history, options);
        // What is known to take long gains nothing.
        let is_short = expected.seconds < LONG.as_secs_f64() || expected.seconds == UNKNOWN;
        let Some((common, whole)) = common(step).filter(|_| is_short) else { return expected };
        let before = counts.entry(common).or_default();
        let part = if whole { *before / most } else { 0 };
        *before += 1;
        let next = families.len();
        Waiting { family: Some(*families.entry((common, part)).or_insert(next)), whole, ..expected }
    });
    missing.collect()
}

/// What a step is expected to take: what it took the last time, else what the model says.
fn expect(index: usize, step: &Step, history: &History, options: &BuildOptions) -> Waiting {
    let took = history.of(&step.id).unwrap_or_default();
    let (tool, source, processes) = match &step.action {
        Action::Kernel { source, .. } => ("nvcc", Some(options.source.join(source)), 1),
        Action::Host { .. } => ("host", None, options.jobs.max(1) as u64),
        Action::Generate { .. } | Action::Structures { .. } => ("host", None, 1),
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
    Waiting { index, memory: peak.saturating_mul(processes), seconds, alone: false, family: None, whole: false }
}

/// What a step is expected to take and to leave.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Expectation {
    /// Seconds.
    pub seconds: f64,
    /// Seconds of processors.
    pub cpu: f64,
    /// Bytes of its largest process.
    pub memory: u64,
    /// Bytes of its files; none where nothing like it was ever made here.
    pub bytes: Option<u64>,
    /// Whether it was made before, so that this is what it took then.
    pub measured: bool,
}

/// What the steps of a plan are expected to take and to leave, in the plan's order, by what the cache `known` remembers;
/// and how well that was known in the last build.
pub fn expectations(
    plan: &BuildPlan,
    known: &Cache,
    source: &Path,
    (time, memory): (&TimeModel, &MemoryModel),
) -> (Vec<Expectation>, Option<Accuracy>) {
    let history = History::read(&known.root().join(HISTORY), &plan.simulator);
    let (weights, _) = weights(plan, Some(known), source, time);
    let unit = |step: &Step| match &step.action {
        Action::Kernel { source, .. } => Some(source.clone()),
        Action::Host { .. } | Action::Generate { .. } | Action::Structures { .. } => None,
    };
    // What a unit left for other capabilities is the best guess for this one.
    let mut units: BTreeMap<String, (u64, u64)> = BTreeMap::new();
    for step in &plan.steps {
        if let (Some(unit), Some(took)) = (unit(step), history.of(&step.id).filter(|took| took.bytes > 0)) {
            let (sum, count) = units.entry(unit).or_default();
            (*sum, *count) = (sum.saturating_add(took.bytes), *count + 1);
        }
    }
    let bytes = |path: &str| std::fs::metadata(source.join(path)).map_or(0, |data| data.len());
    let of = |(step, weight): (&Step, &Weight)| {
        let took = history.of(&step.id);
        let (seconds, had) = (weight.micros as f64 / 1e6, took.unwrap_or_default());
        let model = match &step.action {
            Action::Kernel { source, .. } => memory.expected("nvcc", bytes(source)),
            Action::Host { .. } | Action::Generate { .. } | Action::Structures { .. } => memory.expected("host", 0),
        };
        let like = unit(step).and_then(|unit| units.get(&unit)).map(|(sum, count)| sum / count);
        Expectation {
            seconds,
            cpu: if had.cpu > 0.0 { had.cpu } else { seconds },
            memory: if had.peak >= SMALLEST { had.peak } else { model },
            bytes: Some(had.bytes).filter(|bytes| *bytes > 0).or(like),
            measured: took.is_some(),
        }
    };
    (plan.steps.iter().zip(&weights).map(of).collect(), history.accuracy)
}

/// What the steps of a whole plan are expected to take, by which they are divided among machines, and of how many that was
/// measured: in the cache `known`, if one is given. A unit that was compiled for other capabilities is expected to take
/// what these took, and what was never compiled what the model says of its bytes below `source`.
pub fn weights(plan: &BuildPlan, known: Option<&Cache>, source: &Path, model: &TimeModel) -> (Vec<Weight>, usize) {
    let history = known.map(|cache| History::read(&cache.root().join(HISTORY), &plan.simulator)).unwrap_or_default();
    let measured = |step: &Step| history.of(&step.id).map(|took| took.seconds).filter(|seconds| *seconds > 0.0);
    let mut units: BTreeMap<&str, (f64, f64)> = BTreeMap::new();
    for step in &plan.steps {
        if let (Action::Kernel { source, .. }, Some(seconds)) = (&step.action, measured(step)) {
            let (sum, count) = units.entry(source).or_default();
            (*sum, *count) = (*sum + seconds, *count + 1.0);
        }
    }
    let bytes = |path: &str| std::fs::metadata(source.join(path)).map_or(0, |data| data.len());
    let micros = |seconds: f64| (seconds * 1e6) as u64;
    let expected = |step: &Step| match (&step.action, measured(step)) {
        (_, Some(seconds)) => micros(seconds),
        (Action::Kernel { source, .. }, None) => match units.get(source.as_str()) {
            Some((sum, count)) => micros(sum / count),
            None => model.expected("nvcc", bytes(source)),
        },
        (Action::Host { driver: BuildDriver::Copy, .. }, None) => 0,
        (Action::Host { .. } | Action::Generate { .. } | Action::Structures { .. }, None) => {
            model.expected("host", step.inputs().map(|(path, _)| bytes(path)).fold(0, u64::saturating_add))
        }
    };
    // What is taken, and what takes it, is one family: the first.
    let taken: BTreeSet<&str> = plan.steps.iter().flat_map(Step::takes).collect();
    let is_bound = |step: &Step| step.takes().next().is_some() || taken.contains(step.id.as_str());
    let mut families: BTreeMap<InCommon<'_>, usize> = BTreeMap::new();
    let weight = |step| {
        let bound = is_bound(step);
        let of_call = shareable(step).filter(|_| !bound).map(|common| {
            let next = families.len() + 1;
            *families.entry(common).or_insert(next)
        });
        let family = if bound { Some(0) } else { of_call };
        Weight { micros: expected(step), family, bound }
    };
    let found = plan.steps.iter().map(weight).collect();
    (found, plan.steps.iter().filter(|step| measured(step).is_some()).count())
}
