//! Runs the steps of a plan: cache first, then what is missing; the first failure told whole.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::Path;
use std::sync::Mutex;

use schemars::JsonSchema;
use serde::Serialize;

use super::cache::{Cache, CacheEntry, StepKind};
use super::executor::{Event, Executor, drive};
use super::expected::{waiting, weights};
use super::history::{Accuracy, HISTORY, History};
use super::local::{Made, Site};
use super::options::BuildOptions;
use super::scheduler::{Processes, Scheduler};
use super::step::explain::diagnose::Cause;
use super::step::sandbox::launcher::LauncherUse;
use super::step::sandbox::toolset::Toolset;
use super::step::{StepRun, kind_of};
use super::tokens::Tokens;
use super::trees::{BuildTrees, TreeStat};
use crate::amount::count;
use crate::error::{Error, ErrorKind, Result};
use crate::parallel::until_failure;
use crate::plan::{Action, BuildPlan, Step};
use crate::process::{InterruptGuard, IsolationKind, interrupted};
use crate::ui::{RunningSteps, Ui, size};

/// What happened to a step.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct StepReport {
    /// The step's id.
    pub id: String,
    /// Whether it came from the cache.
    pub cached: bool,
    /// Seconds it took (or had taken when it was compiled).
    pub seconds: f64,
}

/// What a run left.
#[derive(Debug)]
pub struct BuildOutcome {
    /// Artifacts by step id.
    pub entries: BTreeMap<String, CacheEntry>,
    /// Reports in the plan's order.
    pub steps: Vec<StepReport>,
    /// How often the launcher of host compilers helped, where there was one.
    pub launched: Option<LauncherUse>,
}

/// What a clean build says of what was made incrementally under the same key.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Proof {
    step: String,
    /// Paths of what was otherwise.
    differing: Vec<String>,
}

impl BuildOutcome {
    /// How many artifacts are not in the cache any more: somebody removed them.
    pub fn lost(&self) -> usize {
        self.entries.values().filter(|entry| !entry.is_here()).count()
    }

    /// Ids of the steps that were made incrementally, now or by an earlier build, in the plan's order.
    pub fn incremental(&self) -> Vec<String> {
        let is_incremental = |step: &&StepReport| self.entries.get(&step.id).is_some_and(|it| it.made.incremental);
        self.steps.iter().filter(is_incremental).map(|step| step.id.clone()).collect()
    }

    /// How its steps were isolated, those from the cache, too: as the least isolated one was.
    pub fn isolation(&self) -> IsolationKind {
        self.entries.values().map(|entry| entry.made.isolation).min().unwrap_or_default()
    }
}

/// Entries by index of their step, and whether each came from the cache.
type Finished = BTreeMap<usize, Made>;

/// Runs `steps` of a plan to their end.
///
/// # Errors
/// A step failed: its command, the end of its output, its log. What finished stays in the cache. Or the
/// run was interrupted.
pub fn run(plan: &BuildPlan, tools: &Toolset, cache: &Cache, options: &BuildOptions, ui: &Ui) -> Result<BuildOutcome> {
    let _guard = InterruptGuard::new();
    let logs = options.work.join("logs");
    fs_err::create_dir_all(&logs)?;
    let trees = BuildTrees::at(&options.work, &options.isolation, options.incremental)?;
    let found = look_up(plan, cache, options.jobs)?;
    let found = with_incremental(plan, found, &trees)?;
    let missing: Vec<usize> = (0..plan.steps.len()).filter(|index| !found.contains_key(index)).collect();
    let links = |index: &usize| kind_of(&plan.steps[*index]) == StepKind::Host;
    if let Some(runtime) = tools.runtime.as_ref().filter(|_| missing.iter().any(links)) {
        runtime.make(ui)?;
    }
    let mut history = History::read(&cache.own_dir(HISTORY)?, &plan.simulator);
    let jobs = options.jobs.max(1);
    let tokens = Tokens::new(&options.work, jobs, plan)?;
    let to_run = missing.iter().map(|index| &plan.steps[*index]);
    let run = StepRun::new((tools, cache, &trees), (options, &logs, ui), to_run)?;
    let after = missing.iter().map(|&index| (index, taken_by(plan, index, &missing))).collect();
    let site = Site { plan, cache, tokens: &tokens, run, found: Mutex::new(taken(plan, &found)) };
    let steps = waiting(plan, &missing, &history, options).into_iter();
    let steps = steps.map(|step| (step, processes(&plan.steps[step.index], &tokens))).collect();
    let expected = match missing.is_empty() {
        true => Vec::new(),
        false => weights(plan, Some(cache), &options.source, &options.time).0,
    };
    let known = missing.iter().filter_map(|&index| Some((index, history.of(&plan.steps[index].id)?.seconds)));
    let shown = ui.running("build", (found.len(), plan.steps.len()), jobs, known.collect());
    let told = options.made.as_deref().map(|file| fs_err::OpenOptions::new().create(true).append(true).open(file));
    let told = told.transpose()?;
    let mut progress = Progress { plan, ui, shown, jobs, done: found, failures: BTreeMap::new(), told };
    progress.tell(&(0..plan.steps.len()).filter(|index| progress.done.contains_key(index)).collect::<Vec<_>>());
    site.with_threads(jobs.min(missing.len()), |local| {
        let mut scheduler = Scheduler::new((jobs, local.memory(), options.keep_going), steps, after);
        drive(&mut scheduler, local, || interrupted().is_some(), |event| progress.note(event))
    })?;
    let Progress { done, failures, .. } = progress;
    for note in cache.notes() {
        ui.note(format!("  cache      {note}"));
    }
    proofs(plan, &done, &trees)?.iter().for_each(|proof| proof.tell(ui));
    tell_trimmed(trees.trim(options.trees_limit)?, ui);
    // What was left to do in a tree says nothing of the step.
    let is_whole = |entry: &CacheEntry| !entry.made.incremental;
    let judged = done.iter().filter(|(_, (entry, is_cached))| !is_cached && is_whole(entry));
    let judged = judged.map(|(&index, (entry, _))| (expected[index].micros as f64 / 1e6, entry.made.seconds));
    if let Some(accuracy) = Accuracy::of(&judged.collect::<Vec<_>>()) {
        let Accuracy { expected, took, each, .. } = accuracy;
        let each = each * 100.0;
        ui.detail(format!("expected   {expected:.1} s of steps, which took {took:.1} s; a step is off by {each:.0} %"));
        history.judge(accuracy);
    }
    for (entry, _) in done.values().filter(|(entry, _)| is_whole(entry)) {
        history.note(entry);
    }
    // What steps took is a help, not a result.
    if let Err(error) = history.write() {
        ui.note(format!("  cache      what the steps took is not remembered: {error}"));
    }
    finish(plan, (done, failures), site.run.launched(), &logs)
}

/// Those of the steps that are to run that a step takes something of.
fn taken_by(plan: &BuildPlan, index: usize, missing: &[usize]) -> BTreeSet<usize> {
    let takes: BTreeSet<&str> = plan.steps[index].takes().collect();
    missing.iter().copied().filter(|&other| takes.contains(plan.steps[other].id.as_str())).collect()
}

/// What others take of what the cache has, by the ids of its steps.
fn taken(plan: &BuildPlan, found: &Finished) -> BTreeMap<String, CacheEntry> {
    let taken: BTreeSet<&str> = plan.steps.iter().flat_map(Step::takes).collect();
    let entries = found.iter().map(|(index, (entry, _))| (&plan.steps[*index].id, entry));
    entries.filter(|(id, _)| taken.contains(id.as_str())).map(|(id, entry)| (id.clone(), entry.clone())).collect()
}

/// What the cache has, and of host steps that it lacks what was made incrementally.
fn with_incremental(plan: &BuildPlan, mut found: Finished, trees: &BuildTrees) -> Result<Finished> {
    for (index, step) in plan.steps.iter().enumerate() {
        if kind_of(step) == StepKind::Host
            && !found.contains_key(&index)
            && let Some(entry) = trees.get(step.key)?
        {
            found.insert(index, (entry, true));
        }
    }
    Ok(found)
}

/// Compares what was made incrementally with what is clean now.
fn proofs(plan: &BuildPlan, done: &Finished, trees: &BuildTrees) -> Result<Vec<Proof>> {
    let clean = done.iter().filter(|(_, (entry, _))| !entry.made.incremental);
    let mut found = Vec::new();
    for (&index, (entry, _)) in clean.filter(|(index, _)| kind_of(&plan.steps[**index]) == StepKind::Host) {
        let step = &plan.steps[index];
        let differing = trees.proven_by(step.key, entry)?;
        found.extend(differing.map(|differing| Proof { step: step.id.clone(), differing }));
    }
    Ok(found)
}

impl Proof {
    /// Files that are named.
    const MOST: usize = 5;

    fn tell(&self, ui: &Ui) {
        let Self { step, differing } = self;
        if differing.is_empty() {
            ui.note(format!("  clean      {step}: what was built incrementally was the same, byte for byte"));
            return;
        }
        let named = differing.iter().take(Self::MOST).map(String::as_str).collect::<Vec<_>>().join(", ");
        let more = differing.len().saturating_sub(Self::MOST);
        let more = if more == 0 { String::new() } else { format!(" and {more} more") };
        ui.warning(format!("{step}: what was built incrementally was not what a clean build gives: {named}{more}"));
    }
}

fn tell_trimmed(stat: TreeStat, ui: &Ui) {
    if stat.removed.entries > 0 {
        let trees = count(stat.removed.entries, "build tree");
        ui.note(format!("  cache      {trees} removed ({}), least recently used", size(stat.removed.bytes)));
    }
}

/// How many processes a step has.
fn processes(step: &Step, tokens: &Tokens) -> Processes {
    match &step.action {
        Action::Kernel { .. } | Action::Generate { .. } | Action::Structures { .. } => Processes::One,
        Action::Host { driver, .. } if tokens.is_shared_with(*driver) => Processes::Shared,
        Action::Host { .. } => Processes::Unknown,
    }
}

/// The outcome, or the first failure.
fn finish(
    plan: &BuildPlan,
    (done, failures): (Finished, BTreeMap<usize, Error>),
    launched: Option<LauncherUse>,
    logs: &Path,
) -> Result<BuildOutcome> {
    if let Some(signal) = interrupted() {
        let error = Error::new(ErrorKind::Interrupted, format!("interrupted by {signal}"));
        return Err(kept(error, &done));
    }
    let failed = failures.len();
    if let Some((_, first)) = failures.into_iter().next() {
        let error = kept(first, &done);
        let others = if failed == 2 { "1 more step".to_owned() } else { format!("{} more steps", failed - 1) };
        return Err(match failed {
            1 => error,
            _ => error.detail(format!("{others} failed; the logs are in {}", logs.display())),
        });
    }
    let mut outcome = BuildOutcome { entries: BTreeMap::new(), steps: Vec::new(), launched };
    for (index, (entry, cached)) in done {
        let id = plan.steps[index].id.clone();
        outcome.steps.push(StepReport { id: id.clone(), cached, seconds: entry.made.seconds });
        outcome.entries.insert(id, entry);
    }
    Ok(outcome)
}

/// Says what the next build need not do again.
fn kept(error: Error, done: &Finished) -> Error {
    let here = done.values().filter(|(entry, _)| entry.is_here()).count();
    let lost = done.len() - here;
    let error = match here {
        0 => error,
        1 => error.detail("1 finished step is kept; `simpack build` continues from here"),
        _ => error.detail(format!("{here} finished steps are kept; `simpack build` continues from here")),
    };
    match lost {
        0 => error,
        _ => error.detail(format!("{lost} finished steps are lost: the cache was removed while the build ran")),
    }
}

/// Indices of the steps that the cache does not have, or whose keys only compilers can complete.
///
/// # Errors
/// The cache cannot be read.
pub fn missing(plan: &BuildPlan, cache: &Cache, jobs: usize) -> Result<Vec<usize>> {
    let found = look_up(plan, cache, jobs)?;
    Ok((0..plan.steps.len()).filter(|index| !found.contains_key(index)).collect())
}

/// Everything that the cache has, by index.
fn look_up(plan: &BuildPlan, cache: &Cache, jobs: usize) -> Result<Finished> {
    let found = until_failure(&plan.steps, jobs, |step| cache.get(step.key))?;
    let found = found.into_iter().enumerate();
    Ok(found.filter_map(|(index, entry)| Some((index, (entry?, true)))).collect())
}

/// What is done, and how the user hears of it.
struct Progress<'a> {
    plan: &'a BuildPlan,
    ui: &'a Ui,
    shown: RunningSteps,
    jobs: usize,
    done: Finished,
    failures: BTreeMap<usize, Error>,
    /// Where somebody else reads what is done.
    told: Option<fs_err::File>,
}

impl Progress<'_> {
    fn id(&self, index: usize) -> &str {
        &self.plan.steps[index].id
    }

    fn note(&mut self, event: Event<'_, Made>) {
        match event {
            Event::Started(call) => {
                let others = match call.with.len() {
                    0 => String::new(),
                    others => format!(" and {others} more"),
                };
                self.shown.started(call.index, &format!("{}{others}", self.id(call.index)));
                if call.too_large && self.jobs > 1 {
                    let id = self.id(call.index);
                    self.ui.note(format!("  memory     {id} is expected to need more than is free: it runs alone"));
                }
            }
            Event::Made(made) => made.into_iter().for_each(|(index, made)| self.made(index, made)),
            Event::Apart(call, why) => {
                let (id, others) = (self.id(call.index), call.with.len());
                self.shown.ended(call.index);
                self.ui.detail(format!("  build      {id} and {others} more one by one: {why}"));
            }
            Event::OnceMore(index, failure) => {
                let why = if let Cause::Memory(why) = &failure.cause { why } else { "memory was not enough" };
                let id = self.id(index);
                self.shown.ended(index);
                self.ui.note(format!("  memory     {id}: {why}; once more, alone and with fewer jobs"));
            }
            Event::Failed(call, error) => {
                let second = "this was the second try, alone and with fewer jobs";
                let error = if call.again { error.detail(second) } else { error };
                self.shown.ended(call.index);
                self.failures.insert(call.index, error);
            }
        }
    }

    /// Adds steps to the file of those that are done.
    fn tell(&self, steps: &[usize]) {
        let Some(mut file) = self.told.as_ref() else { return };
        let lines: String = steps.iter().map(|&index| format!("{}\n", self.id(index))).collect();
        // Whoever watches hears of it later: the steps are in the cache.
        let _ = file.write_all(lines.as_bytes());
    }

    fn made(&mut self, index: usize, made: Made) {
        let is_cached = made.1;
        self.done.insert(index, made);
        self.tell(&[index]);
        let (done, all) = (self.done.len(), self.plan.steps.len());
        self.shown.done(index, done);
        if !self.ui.is_interactive() && !is_cached {
            self.ui.note(format!("  build      {done}/{all}  {}", self.id(index)));
        }
    }
}
