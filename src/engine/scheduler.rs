//! Runs steps on the machine's cores: cache first, then what is missing, the longest first; the first
//! failure told whole.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use indicatif::ProgressBar;
use schemars::JsonSchema;
use serde::Serialize;

use super::cache::{Cache, CacheEntry, StepKind};
use super::diagnose::Cause;
use super::expected::waiting;
use super::headers::HeaderStore;
use super::history::History;
use super::isolation::StepIsolation;
use super::memory;
use super::shared::NotShareable;
use super::slots::{Next, Slots};
use super::step::{Share, StepFailure, StepRun};
use super::tokens::Tokens;
use super::toolset::Toolset;
use crate::error::{Error, ErrorKind, Result};
use crate::fs::Digest;
use crate::manifest::MemoryModel;
use crate::plan::{Action, BuildPlan, Step};
use crate::process::{InterruptGuard, interrupted};
use crate::ui::Ui;

/// How to run.
#[derive(Debug, Clone)]
pub struct BuildOptions {
    /// Simulator's name.
    pub name: String,
    /// Directory with the source, as it was when the plan was made.
    pub source: PathBuf,
    /// Every file of the source with its digest, as the plan was made of them.
    pub sources: BTreeMap<String, Digest>,
    /// How steps are kept from what they do not declare.
    pub isolation: StepIsolation,
    /// Which headers earlier compilations read; this run's are added.
    pub headers: HeaderStore,
    /// Directory for logs and intermediate files.
    pub work: PathBuf,
    /// Steps at a time, at most; memory may allow fewer.
    pub jobs: usize,
    /// Go on after a failure with what does not need it.
    pub keep_going: bool,
    /// Time that one call of a compiler or build system may take; none for any.
    pub step_timeout: Option<Duration>,
    /// What steps are expected to take that were never measured.
    pub memory: MemoryModel,
}

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
}

/// Directory of the cache for what steps took.
const HISTORY: &str = ".history";

/// Entries by index of their step, and whether each came from the cache.
type Finished = BTreeMap<usize, (CacheEntry, bool)>;

/// Runs `steps` of a plan to their end.
///
/// # Errors
/// A step failed: its command, the end of its output, its log. What finished stays in the cache. Or the
/// run was interrupted.
pub fn run(plan: &BuildPlan, tools: &Toolset, cache: &Cache, options: &BuildOptions, ui: &Ui) -> Result<BuildOutcome> {
    let _guard = InterruptGuard::new();
    let logs = options.work.join("logs");
    fs_err::create_dir_all(&logs)?;
    let bar = ui.steps("build", plan.steps.len() as u64);
    let found = look_up(plan, cache, options.jobs)?;
    bar.set_position(found.len() as u64);
    let mut history = History::read(&cache.own_dir(HISTORY)?, &plan.simulator);
    let missing: Vec<usize> = (0..plan.steps.len()).filter(|index| !found.contains_key(index)).collect();
    let waiting = waiting(plan, &missing, &history, options);
    let to_run = missing.iter().map(|index| &plan.steps[*index]);
    let crew = Scheduler {
        plan,
        cache,
        ui,
        bar: &bar,
        jobs: options.jobs.max(1),
        tokens: Tokens::new(&options.work, options.jobs.max(1), plan)?,
        keep_going: options.keep_going,
        run: StepRun::new((tools, cache, options, &logs), to_run)?,
        // Without any word from the system, jobs are the only bound.
        state: Mutex::new(State::new(
            Slots::new(options.jobs, memory::available().unwrap_or(u64::MAX), waiting),
            found,
        )),
        changed: Condvar::new(),
    };
    let state = crew.work();
    bar.finish_and_clear();
    for note in cache.notes() {
        ui.note(format!("  cache      {note}"));
    }
    for (entry, _) in state.done.values() {
        history.note(&entry.made);
    }
    // What steps took is a help, not a result.
    if let Err(error) = history.write() {
        ui.note(format!("  cache      what the steps took is not remembered: {error}"));
    }
    finish(plan, state, &logs)
}

/// The outcome, or the first failure.
fn finish(plan: &BuildPlan, state: State, logs: &Path) -> Result<BuildOutcome> {
    let kept = format!("{} finished steps are kept; `simpack build` continues from here", state.done.len());
    if let Some(signal) = interrupted() {
        return Err(Error::new(ErrorKind::Interrupted, format!("interrupted by {signal}")).detail(kept));
    }
    let failed = state.failures.len();
    if let Some((_, first)) = state.failures.into_iter().next() {
        let mut error = first.detail(kept);
        if failed > 1 {
            error = error.detail(format!("{} more steps failed; their logs are in {}", failed - 1, logs.display()));
        }
        return Err(error);
    }
    let mut outcome = BuildOutcome { entries: BTreeMap::new(), steps: Vec::new() };
    for (index, (entry, cached)) in state.done {
        let id = plan.steps[index].id.clone();
        outcome.steps.push(StepReport { id: id.clone(), cached, seconds: entry.made.seconds });
        outcome.entries.insert(id, entry);
    }
    Ok(outcome)
}

/// Everything that the cache has, by index.
fn look_up(plan: &BuildPlan, cache: &Cache, jobs: usize) -> Result<Finished> {
    let next = AtomicUsize::new(0);
    let stop = AtomicBool::new(false);
    let look = || -> Result<Finished> {
        let mut found = BTreeMap::new();
        while !stop.load(Ordering::Relaxed) && interrupted().is_none() {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(step) = plan.steps.get(index) else { break };
            match cache.get(step.key) {
                Ok(Some(entry)) => _ = found.insert(index, (entry, true)),
                Ok(None) => {}
                Err(error) => {
                    stop.store(true, Ordering::Relaxed);
                    return Err(error);
                }
            }
        }
        Ok(found)
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..jobs.clamp(1, plan.steps.len().max(1))).map(|_| scope.spawn(look)).collect();
        let mut all = BTreeMap::new();
        for thread in threads {
            all.append(&mut thread.join().map_err(|_| Error::bug("looking into the cache ended in a panic"))??);
        }
        Ok(all)
    })
}

/// What the threads share.
struct Scheduler<'a> {
    plan: &'a BuildPlan,
    cache: &'a Cache,
    ui: &'a Ui,
    bar: &'a ProgressBar,
    jobs: usize,
    tokens: Tokens,
    keep_going: bool,
    run: StepRun<'a>,
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    slots: Slots,
    done: Finished,
    failures: BTreeMap<usize, Error>,
    /// Steps that run for the second time because memory was not enough.
    again: BTreeMap<usize, Error>,
    /// Processes that a step had at a time when it was started, by index.
    jobs: BTreeMap<usize, usize>,
    /// Tokens that running steps hold, by index.
    held: BTreeMap<usize, usize>,
    /// Running steps whose build system takes tokens itself.
    clients: BTreeSet<usize>,
    stop: bool,
}

/// A step whose turn it is.
struct Assignment {
    index: usize,
    /// Others that the same call takes.
    with: Vec<usize>,
    /// For the second time, because memory was not enough.
    again: bool,
    /// Processes that it may have at a time.
    jobs: usize,
    /// Its build system takes more of the tokens itself.
    client: bool,
}

/// How long one who ends a step leaves its token to build systems that wait for one, and how often
/// somebody who found none looks again.
const TICK: Duration = Duration::from_millis(5);

impl State {
    fn new(slots: Slots, done: Finished) -> Self {
        Self {
            slots,
            done,
            failures: BTreeMap::new(),
            again: BTreeMap::new(),
            jobs: BTreeMap::new(),
            held: BTreeMap::new(),
            clients: BTreeSet::new(),
            stop: false,
        }
    }
}

impl Scheduler<'_> {
    fn work(self) -> State {
        let missing = self.plan.steps.len() - self.lock().done.len();
        std::thread::scope(|scope| {
            for _ in 0..self.jobs.min(missing) {
                scope.spawn(|| {
                    while let Some(turn) = self.next() {
                        self.bar.set_message(self.plan.steps[turn.index].id.clone());
                        match turn.with.is_empty() {
                            true => self.take(&turn),
                            false => self.take_together(&turn),
                        }
                    }
                    // Whoever waits may be done, too.
                    self.changed.notify_all();
                });
            }
        });
        self.state.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs one step.
    fn take(&self, turn: &Assignment) {
        let step = &self.plan.steps[turn.index];
        let share = Share { jobs: turn.jobs, tokens: turn.client.then_some(&self.tokens) };
        let end = match self.cache.get(step.key) {
            // Another run was faster.
            Ok(Some(entry)) => Ok((entry, true)),
            Ok(None) => self.run.run(step, share).map(|entry| (entry, false)),
            Err(error) => Err(error.into()),
        };
        self.ended(turn.index, end);
    }

    /// Runs several steps by one call. When that does not do, they wait again, each for a call of its own.
    fn take_together(&self, turn: &Assignment) {
        let all = || std::iter::once(turn.index).chain(turn.with.iter().copied());
        let steps: Vec<&Step> = all().map(|index| &self.plan.steps[index]).collect();
        let end = self.run.run_together(&steps);
        let mut state = self.lock();
        self.put_back(&mut state, turn.index);
        match end {
            Ok(entries) => {
                state.slots.ended(turn.index);
                all().zip(entries).for_each(|(index, entry)| self.done(&mut state, index, entry, false));
            }
            Err(NotShareable { why, slow }) => {
                self.ui.detail(format!("  build      {} and {} more one by one: {why}", steps[0].id, turn.with.len()));
                state.slots.apart(turn.index);
                if slow {
                    state.slots.share_no_more();
                }
            }
        }
        drop(state);
        self.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next step to run; none when there is nothing to do any more.
    fn next(&self) -> Option<Assignment> {
        let mut state = self.lock();
        if !state.clients.is_empty() {
            // The longest steps are those of build systems: they come first.
            drop(state);
            std::thread::sleep(TICK);
            state = self.lock();
        }
        loop {
            if state.stop || interrupted().is_some() || state.slots.is_done() {
                return None;
            }
            if self.tokens.take(1) == 0 {
                state = self.wait(state, TICK);
                continue;
            }
            match state.slots.next(memory::available().unwrap_or(u64::MAX)) {
                Next::Start { index, with, too_large } => {
                    return Some(self.start(&mut state, index, with, too_large));
                }
                Next::Done => {
                    self.tokens.put(1);
                    return None;
                }
                // Memory that others give back tells nobody.
                Next::Wait => {
                    self.tokens.put(1);
                    state = self.wait(state, Duration::from_millis(500));
                }
            }
        }
    }

    fn wait<'s>(&self, state: MutexGuard<'s, State>, time: Duration) -> MutexGuard<'s, State> {
        self.changed.wait_timeout(state, time).unwrap_or_else(PoisonError::into_inner).0
    }

    /// Says how many processes a step may have; one token is taken for it.
    fn start(&self, state: &mut State, index: usize, with: Vec<usize>, too_large: bool) -> Assignment {
        let step = &self.plan.steps[index];
        if too_large && self.jobs > 1 {
            self.ui.note(format!("  memory     {} is expected to need more than is free: it runs alone", step.id));
        }
        let again = state.again.contains_key(&index);
        let mut turn = Assignment { index, with, again, jobs: 1, client: false };
        let mut held = 1;
        match &step.action {
            Action::Kernel { .. } => {}
            // Memory was not enough. Half as many make it smaller, and nothing runs beside it.
            Action::Host { .. } if turn.again => {
                turn.jobs = state.jobs.get(&index).map_or(1, |jobs| (jobs / 2).max(1));
            }
            Action::Host { driver, .. } if self.tokens.is_shared_with(*driver) => {
                (turn.jobs, turn.client) = (self.jobs, true);
                state.clients.insert(index);
            }
            // Nobody knows how many processes a script has: up to half of the jobs are its own.
            Action::Host { .. } => {
                held += self.tokens.take(self.jobs.div_ceil(2) - 1);
                turn.jobs = held;
            }
        }
        state.jobs.insert(index, turn.jobs);
        state.held.insert(index, held);
        turn
    }

    /// Puts back what a step held.
    fn put_back(&self, state: &mut State, index: usize) {
        self.tokens.put(state.held.remove(&index).unwrap_or(0));
        if state.clients.remove(&index) && state.clients.is_empty() {
            // One that was stopped has kept what it took.
            let held: usize = state.held.values().sum();
            self.tokens.settle(self.jobs.saturating_sub(held));
        }
    }

    /// Notes what came of a step, and tells it.
    fn done(&self, state: &mut State, index: usize, entry: CacheEntry, cached: bool) {
        state.done.insert(index, (entry, cached));
        let done = state.done.len();
        self.bar.set_position(done as u64);
        if !self.ui.is_interactive() && !cached {
            self.ui.note(format!("  build      {done}/{}  {}", self.plan.steps.len(), self.plan.steps[index].id));
        }
    }

    fn ended(&self, index: usize, end: Result<(CacheEntry, bool), StepFailure>) {
        let step = &self.plan.steps[index];
        let mut state = self.lock();
        self.put_back(&mut state, index);
        match end {
            Ok((entry, cached)) => {
                state.slots.ended(index);
                self.done(&mut state, index, entry, cached);
            }
            Err(StepFailure { error, cause: Cause::Memory(why), peak }) if !state.again.contains_key(&index) => {
                self.ui.note(format!("  memory     {}: {why}; once more, alone and with fewer jobs", step.id));
                state.again.insert(index, *error);
                state.slots.again_alone(index, peak);
            }
            Err(StepFailure { error, .. }) => {
                let mut error = *error;
                if state.again.contains_key(&index) {
                    error = error.detail("this was the second try, alone and with fewer jobs");
                }
                state.slots.ended(index);
                state.failures.insert(index, error);
                state.stop |= !self.keep_going;
            }
        }
        drop(state);
        self.changed.notify_all();
    }
}

/// The kind of a step, as the cache counts it.
pub(super) fn kind_of(step: &Step) -> StepKind {
    match step.action {
        Action::Host { .. } => StepKind::Host,
        Action::Kernel { .. } => StepKind::Kernel,
    }
}
