//! The executor of this machine: a thread for each job, each of which watches one call at a time.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use super::cache::{Cache, CacheEntry};
use super::executor::{End, Executor};
use super::memory;
use super::scheduler::{Assignment, Release};
use super::step::{Share, StepFailure, StepRun};
use super::tokens::Tokens;
use crate::error::{Error, Result};
use crate::plan::{BuildPlan, Step};

/// Where calls run, and with what.
pub(super) struct Site<'a> {
    pub plan: &'a BuildPlan,
    pub cache: &'a Cache,
    pub tokens: &'a Tokens,
    pub run: StepRun<'a>,
    /// What steps take, as far as it is made, by the ids of the steps that make it.
    pub found: Mutex<BTreeMap<String, CacheEntry>>,
}

/// A step's artifact, and whether it came from the cache.
pub(super) type Made = (CacheEntry, bool);

/// Threads that take calls, and what they have answered.
pub(super) struct Local<'a> {
    tokens: &'a Tokens,
    calls: Sender<Assignment>,
    ended: Receiver<(usize, End<Made>)>,
    collected: BTreeMap<usize, End<Made>>,
}

impl Site<'_> {
    /// Calls `work` with an executor of so many threads; they end with it.
    pub(super) fn with_threads<T>(&self, threads: usize, work: impl FnOnce(&mut Local<'_>) -> T) -> T {
        let (calls, waiting) = channel::<Assignment>();
        let (answers, ended) = channel();
        let waiting = Mutex::new(waiting);
        let thread = |answers: Sender<(usize, End<Made>)>| {
            loop {
                let next = waiting.lock().unwrap_or_else(PoisonError::into_inner).recv();
                let Ok(call) = next else { return };
                let end = catch_unwind(AssertUnwindSafe(|| self.end_of(&call)));
                let panicked = |_| End::Failed(Error::bug("a step ended in a panic").into());
                if answers.send((call.index, end.unwrap_or_else(panicked))).is_err() {
                    return;
                }
            }
        };
        std::thread::scope(|scope| {
            for _ in 0..threads {
                let answers = answers.clone();
                scope.spawn(|| thread(answers));
            }
            work(&mut Local { tokens: self.tokens, calls, ended, collected: BTreeMap::new() })
        })
    }

    fn end_of(&self, call: &Assignment) -> End<Made> {
        let steps: Vec<&Step> = call.steps().map(|index| &self.plan.steps[index]).collect();
        match steps.as_slice() {
            [step] => match self.one(step, call) {
                Ok(made) => {
                    self.keep(step, &made.0);
                    End::Made(vec![(call.index, made)])
                }
                Err(failure) => End::Failed(failure),
            },
            steps => match self.run.run_together(steps) {
                Ok(entries) => {
                    steps.iter().zip(&entries).for_each(|(step, entry)| self.keep(step, entry));
                    End::Made(call.steps().zip(entries.into_iter().map(|entry| (entry, false))).collect())
                }
                Err(why) => End::Apart(why),
            },
        }
    }

    /// Keeps what another step takes.
    fn keep(&self, step: &Step, entry: &CacheEntry) {
        if self.plan.steps.iter().any(|other| other.takes().any(|id| id == step.id)) {
            self.found.lock().unwrap_or_else(PoisonError::into_inner).insert(step.id.clone(), entry.clone());
        }
    }

    /// What a step takes, with the steps that made it.
    fn taken(&self, step: &Step) -> Result<Vec<(&Step, CacheEntry)>> {
        let found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        let of = |id: &str| {
            let maker = self.plan.steps.iter().find(|other| other.id == id);
            let entry = maker.zip(found.get(id).cloned());
            entry.ok_or_else(|| Error::bug(format!("{} begins before {id} is made", step.id)))
        };
        step.takes().map(of).collect()
    }

    fn one(&self, step: &Step, call: &Assignment) -> Result<Made, StepFailure> {
        let share = Share { jobs: call.jobs, tokens: call.shared.then_some(self.tokens) };
        let taken = self.taken(step)?;
        let key = |id: &str| taken.iter().find(|(maker, _)| maker.id == id).map(|(_, entry)| entry.key);
        // Its key was not known before these were made.
        let settled = step.taking(key);
        let step = settled.as_ref().unwrap_or(step);
        match self.cache.get(step.key)? {
            // Another run was faster.
            Some(entry) => Ok((entry, true)),
            None => self.run.run(step, &taken, share).map(|entry| (entry, false)),
        }
    }
}

impl Executor for Local<'_> {
    type Made = Made;

    fn memory(&self) -> u64 {
        // Without any word from the system, jobs are the only bound.
        memory::available().unwrap_or(u64::MAX)
    }

    fn take(&mut self, most: usize) -> usize {
        self.tokens.take(most)
    }

    fn release(&mut self, release: Release) {
        match release {
            Release::Put(count) => self.tokens.put(count),
            Release::Settle(free) => self.tokens.settle(free),
        }
    }

    fn start(&mut self, call: &Assignment) -> Result<()> {
        self.calls.send(call.clone()).map_err(|_| Error::bug("no thread is left that runs steps"))
    }

    fn wait(&mut self, time: Duration) -> Option<usize> {
        let (index, end) = self.ended.recv_timeout(time).ok()?;
        self.collected.insert(index, end);
        Some(index)
    }

    fn collect(&mut self, call: usize) -> End<Made> {
        let end = self.collected.remove(&call);
        end.unwrap_or_else(|| End::Failed(Error::bug("a step was collected before its end").into()))
    }

    /// An interruption reaches each call by itself (`process::watched`).
    fn cancel(&mut self) {}
}
