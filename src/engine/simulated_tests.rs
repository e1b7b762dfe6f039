//! The scheduler before an executor that does nothing but count: time is a number, and steps end as they are told to.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::executor::{End, Event, Executor, drive};
use super::scheduler::{Assignment, Processes, Release, Scheduler};
use super::slots::Waiting;
use super::step::StepFailure;
use super::step::explain::diagnose::Cause;
use super::step::shared::NotShareable;
use crate::error::{Error, Result};

/// A step, and how it ends.
#[derive(Debug, Clone)]
struct Work {
    millis: u64,
    memory: u64,
    family: Option<usize>,
    processes: Processes,
    /// How often memory is not enough.
    too_small: u32,
    fails: bool,
    /// It cannot share a call.
    apart: bool,
    /// Steps whose results it takes.
    takes: Vec<usize>,
}

impl Work {
    fn waiting(&self, index: usize) -> Waiting {
        let seconds = self.millis as f64 / 1000.0;
        Waiting { index, memory: self.memory, seconds, alone: false, family: self.family, whole: false }
    }
}

struct Running {
    call: Assignment,
    until: Duration,
    /// Tokens that its build system took.
    taken: usize,
}

/// An executor with a clock of its own, which checks what it is told to do.
struct Simulated<'a> {
    works: &'a [Work],
    jobs: usize,
    memory: u64,
    keep_going: bool,
    tokens: usize,
    now: Duration,
    running: BTreeMap<usize, Running>,
    tries: BTreeMap<usize, u32>,
    /// Processes of the first try of those that ran out of memory.
    had: BTreeMap<usize, usize>,
    made: BTreeSet<usize>,
    has_failed: bool,
    is_cancelled: bool,
}

impl<'a> Simulated<'a> {
    fn new(works: &'a [Work], jobs: usize, memory: u64, keep_going: bool) -> Self {
        Self {
            works,
            jobs,
            memory,
            keep_going,
            tokens: jobs,
            now: Duration::ZERO,
            running: BTreeMap::new(),
            tries: BTreeMap::new(),
            had: BTreeMap::new(),
            made: BTreeSet::new(),
            has_failed: false,
            is_cancelled: false,
        }
    }

    fn peak(&self, call: &Assignment) -> u64 {
        call.steps().map(|index| self.works[index].memory).max().unwrap()
    }

    fn failure(&mut self, cause: Cause) -> End<()> {
        self.has_failed |= cause == Cause::Told;
        End::Failed(StepFailure { error: Box::new(Error::build("told to fail")), cause, peak: 1, ended: true })
    }
}

impl Executor for Simulated<'_> {
    type Made = ();

    fn memory(&self) -> u64 {
        self.memory
    }

    fn take(&mut self, most: usize) -> usize {
        let taken = most.min(self.tokens);
        self.tokens -= taken;
        taken
    }

    fn release(&mut self, release: Release) {
        self.tokens = match release {
            Release::Put(count) => self.tokens + count,
            Release::Settle(free) => free,
        };
        assert!(self.tokens <= self.jobs, "more tokens than jobs");
    }

    fn start(&mut self, call: &Assignment) -> Result<()> {
        assert!(!self.is_cancelled && (self.keep_going || !self.has_failed), "{call:?} starts too late");
        assert!(self.running.len() < self.jobs, "more calls than jobs");
        let running: Vec<&Assignment> = self.running.values().map(|running| &running.call).collect();
        assert!(running.iter().all(|other| !other.again && !other.too_large), "{call:?} runs beside one that is alone");
        assert!(running.is_empty() || !(call.again || call.too_large), "{call:?} is not alone");
        let memory: u64 = running.iter().map(|other| self.peak(other)).chain([self.peak(call)]).sum();
        assert!(running.is_empty() || memory <= self.memory, "{memory} bytes of {}", self.memory);
        for index in call.steps() {
            let takes = &self.works[index].takes;
            assert!(takes.iter().all(|other| self.made.contains(other)), "{call:?} starts before {takes:?} are made");
            *self.tries.entry(index).or_default() += 1;
        }
        if let Some(had) = self.had.get(&call.index) {
            assert!(call.again && (call.jobs < *had || call.jobs == 1), "{call:?} is no smaller than before: {had}");
        }
        // A build system takes what is there.
        let taken = if call.shared { self.take(self.jobs) } else { 0 };
        let millis = call.steps().map(|index| self.works[index].millis).sum();
        let until = self.now + Duration::from_millis(millis);
        self.running.insert(call.index, Running { call: call.clone(), until, taken });
        Ok(())
    }

    fn wait(&mut self, time: Duration) -> Option<usize> {
        let (index, running) = self.running.iter().min_by_key(|(_, running)| running.until).expect("somebody runs");
        let ends = running.until <= self.now + time;
        self.now = if ends { running.until.max(self.now) } else { self.now + time };
        ends.then_some(*index)
    }

    fn collect(&mut self, call: usize) -> End<()> {
        let end = self.end_of(call);
        if let End::Made(made) = &end {
            self.made.extend(made.iter().map(|(index, ())| *index));
        }
        end
    }

    fn cancel(&mut self) {
        self.is_cancelled = true;
        self.running.values_mut().for_each(|running| running.until = self.now);
    }
}

impl Simulated<'_> {
    fn end_of(&mut self, call: usize) -> End<()> {
        let Running { call, taken, .. } = self.running.remove(&call).unwrap();
        let steps: Vec<usize> = call.steps().collect();
        let works = self.works;
        if self.is_cancelled {
            return self.failure(Cause::Told);
        }
        let work = &works[call.index];
        let is_too_small = work.too_small >= self.tries[&call.index];
        // One that is killed keeps what it took.
        if !is_too_small {
            self.tokens += taken;
        }
        match steps.as_slice() {
            [_] if is_too_small => {
                self.had.insert(call.index, call.jobs);
                self.has_failed |= call.again;
                self.failure(Cause::Memory("told to".to_owned()))
            }
            [_] if work.fails => self.failure(Cause::Told),
            [index] => End::Made(vec![(*index, ())]),
            steps
                if steps
                    .iter()
                    .any(|index| works[*index].apart || works[*index].fails || works[*index].too_small > 0) =>
            {
                steps.iter().for_each(|index| _ = self.tries.remove(index));
                End::Apart(NotShareable { why: String::new(), slow: work.apart })
            }
            steps => End::Made(steps.iter().map(|index| (*index, ())).collect()),
        }
    }
}

/// What came of the steps.
#[derive(Default)]
struct Came {
    made: Vec<usize>,
    failed: BTreeSet<usize>,
    calls: usize,
}

fn simulate(executor: &mut Simulated<'_>, is_interrupted: impl Fn(usize) -> bool) -> Came {
    let works = executor.works.iter().enumerate();
    let steps = works.map(|(index, work)| (work.waiting(index), work.processes)).collect();
    let takes = executor.works.iter().enumerate().map(|(index, work)| (index, work.takes.iter().copied().collect()));
    let mut scheduler = Scheduler::new((executor.jobs, executor.memory, executor.keep_going), steps, takes.collect());
    let mut came = Came::default();
    let looks = std::cell::Cell::new(0);
    let is_interrupted = || is_interrupted(looks.replace(looks.get() + 1));
    let tell = |event: Event<'_, ()>| match event {
        Event::Started(_) => came.calls += 1,
        Event::Made(made) => came.made.extend(made.into_iter().map(|(index, ())| index)),
        Event::Failed(call, _) => _ = came.failed.insert(call.index),
        Event::Apart(..) | Event::OnceMore(..) => {}
    };
    drive(&mut scheduler, executor, is_interrupted, tell).unwrap();
    assert!(executor.running.is_empty(), "something still runs");
    assert_eq!(executor.tokens, executor.jobs, "tokens are lost");
    came
}

fn work() -> impl Strategy<Value = Work> {
    let processes = prop_oneof![5 => Just(Processes::One), 1 => Just(Processes::Shared), 1 => Just(Processes::Unknown)];
    let ends = (prop_oneof![8 => Just(0_u32), 1 => 1..3_u32], prop::bool::weighted(0.1), prop::bool::weighted(0.1));
    (0..2_000_u64, 0..1_500_u64, prop::option::of(0..6_usize), processes, ends).prop_map(
        |(millis, memory, family, processes, (too_small, fails, apart))| {
            // Only calls of a compiler are shared.
            let family = family.filter(|_| processes == Processes::One);
            Work { millis, memory, family, processes, too_small, fails, apart, takes: Vec::new() }
        },
    )
}

proptest! {
    /// Whatever fails is told, everything else is made, once.
    #[test]
    fn every_step_is_made_once_or_fails(works in prop::collection::vec(work(), 0..80), jobs in 1..9_usize) {
        let came = simulate(&mut Simulated::new(&works, jobs, 1_000, true), |_| false);
        let fails = |work: &Work| work.too_small > 1 || work.fails;
        let expected: BTreeSet<usize> = (0..works.len()).filter(|index| fails(&works[*index])).collect();
        prop_assert_eq!(&came.failed, &expected);
        let made: BTreeSet<usize> = came.made.iter().copied().collect();
        prop_assert_eq!(made.len(), came.made.len(), "made twice");
        prop_assert_eq!(made, (0..works.len()).filter(|index| !expected.contains(index)).collect());
    }

    /// What takes the results of others begins after them, and never where one of them fails.
    #[test]
    fn what_embeds_others_begins_after_them(
        works in prop::collection::vec(work(), 1..60),
        takes in prop::collection::vec(any::<prop::sample::Index>(), 0..20),
        jobs in 1..9_usize,
        keep_going in any::<bool>(),
    ) {
        let takes: Vec<usize> = takes.iter().map(|index| index.index(works.len())).collect();
        let last = Work { too_small: 0, fails: false, family: None, takes: takes.clone(), ..works[0].clone() };
        let works = [works, vec![last]].concat();
        let mut executor = Simulated::new(&works, jobs, 1_000, keep_going);
        let came = simulate(&mut executor, |_| false);
        let fails = |index: &usize| works[*index].too_small > 1 || works[*index].fails;
        let is_made = came.made.contains(&(works.len() - 1));
        prop_assert!(!is_made || !takes.iter().any(fails));
        prop_assert!(is_made || takes.iter().any(fails) || !keep_going);
    }

    /// The executor refuses what starts after a failure.
    #[test]
    fn after_a_failure_nothing_starts(works in prop::collection::vec(work(), 0..80), jobs in 1..9_usize) {
        let came = simulate(&mut Simulated::new(&works, jobs, 1_000, false), |_| false);
        let fails = works.iter().any(|work| work.too_small > 1 || work.fails);
        prop_assert_eq!(fails, !came.failed.is_empty());
        prop_assert!(fails || came.made.len() == works.len());
    }

    /// The executor refuses what starts after an interruption, and all that ran has ended.
    #[test]
    fn an_interruption_ends_everything(
        works in prop::collection::vec(work(), 1..80),
        jobs in 1..9_usize,
        after in 0..60_usize,
    ) {
        let mut executor = Simulated::new(&works, jobs, 1_000, true);
        let came = simulate(&mut executor, |looks| looks >= after);
        prop_assert!(executor.is_cancelled || came.made.len() + came.failed.len() == works.len());
    }
}

/// Two and a half seconds of work for each of two jobs take no longer than that.
#[test]
fn all_jobs_are_busy_to_the_end() {
    let step = |millis| Work {
        millis,
        memory: 1,
        family: None,
        processes: Processes::One,
        too_small: 0,
        fails: false,
        apart: false,
        takes: Vec::new(),
    };
    let works: Vec<Work> = [1_000, 500, 2_000, 500, 1_000].map(step).to_vec();
    let mut executor = Simulated::new(&works, 2, 1_000, false);
    assert_eq!(simulate(&mut executor, |_| false).calls, 5);
    assert_eq!(executor.now, Duration::from_millis(2_500));
}

/// What the scheduler itself takes for a step, printed: `tests/bench/engine --only schedule`.
#[test]
#[ignore = "a measurement"]
fn overhead() {
    for (name, each) in [("a call each", 1_usize), ("calls of up to six", 6)] {
        let work = |index: usize| Work {
            millis: 100 + index as u64 % 700,
            memory: 10,
            family: (each > 1).then_some(index / each),
            processes: Processes::One,
            too_small: 0,
            fails: false,
            apart: false,
            takes: Vec::new(),
        };
        let works: Vec<Work> = (0..50_000).map(work).collect();
        let mut executor = Simulated::new(&works, 16, 1_000, false);
        let started = Instant::now();
        let came = simulate(&mut executor, |_| false);
        let micros = started.elapsed().as_secs_f64() * 1e6 / works.len() as f64;
        let mut out = std::io::stdout();
        writeln!(out, "50,000 steps, {name}: {} calls, {micros:.1} us a step", came.calls).unwrap();
        assert_eq!(came.made.len(), works.len());
    }
}
