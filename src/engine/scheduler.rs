//! Decides which call starts next, with how many processes and tokens, which steps run once more, and when nothing
//! more begins. It sees numbers only: an executor (`executor`) does the work and says how it ended.

use std::collections::{BTreeMap, BTreeSet};

use super::slots::{Next, Slots, Waiting};

/// How many processes a step has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Processes {
    /// One.
    One,
    /// Its build system takes a token for each beyond the first.
    Shared,
    /// Nobody knows: up to half of the jobs are its own.
    Unknown,
}

/// A call whose turn it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Assignment {
    /// The step by which the call is known.
    pub index: usize,
    /// Others that the same call takes.
    pub with: Vec<usize>,
    /// Processes that it may have at a time.
    pub jobs: usize,
    /// Its build system takes more of the tokens itself.
    pub shared: bool,
    /// For the second time, because memory was not enough.
    pub again: bool,
    /// Nothing runs beside it, because it is expected to need more than there is.
    pub too_large: bool,
    /// Tokens that it holds.
    held: usize,
}

impl Assignment {
    /// All steps of the call.
    pub(super) fn steps(&self) -> impl Iterator<Item = usize> {
        std::iter::once(self.index).chain(self.with.iter().copied())
    }
}

/// How a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    /// All its steps are made.
    Made,
    /// Its steps need calls of their own.
    Apart {
        /// They take too long to wait for one another, and others will, too.
        slow: bool,
    },
    /// Memory was not enough.
    OutOfMemory {
        /// Bytes that it had.
        peak: u64,
    },
    /// It failed.
    Failed,
}

/// What happens with the tokens of a call that ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Release {
    /// So many come back.
    Put(usize),
    /// So many must be free now: build systems that were stopped have kept what they took.
    Settle(usize),
}

/// What follows from the end of a call.
#[derive(Debug)]
pub(super) struct Ended {
    /// The call.
    pub call: Assignment,
    /// Its tokens.
    pub release: Release,
    /// Its step runs once more, alone and with fewer processes.
    pub once_more: bool,
}

/// What waits, what runs, and what ran out of memory.
#[derive(Debug)]
pub(super) struct Scheduler {
    slots: Slots,
    jobs: usize,
    keep_going: bool,
    /// Of steps that have more than one.
    processes: BTreeMap<usize, Processes>,
    running: BTreeMap<usize, Assignment>,
    /// Processes that steps had for which memory was not enough.
    again: BTreeMap<usize, usize>,
    /// Steps that take what others make, with those of these that are not made yet.
    held: BTreeMap<usize, (Waiting, BTreeSet<usize>)>,
    is_stopped: bool,
}

impl Scheduler {
    /// `jobs` calls at a time at most, within `memory` bytes; after a failure nothing more starts, unless the build is
    /// to `keep_going`. A step in `after` starts when those with these indices are made, and never if one of them fails.
    pub(super) fn new(
        (jobs, memory, keep_going): (usize, u64, bool),
        steps: Vec<(Waiting, Processes)>,
        mut after: BTreeMap<usize, BTreeSet<usize>>,
    ) -> Self {
        let processes = steps.iter().filter(|(_, processes)| *processes != Processes::One);
        let processes = processes.map(|(step, processes)| (step.index, *processes)).collect();
        after.retain(|_, others| !others.is_empty());
        let (held, free): (Vec<Waiting>, Vec<Waiting>) =
            steps.into_iter().map(|(step, _)| step).partition(|step| after.contains_key(&step.index));
        let held = held.into_iter().filter_map(|step| Some((step.index, (step, after.remove(&step.index)?))));
        Self {
            jobs: jobs.max(1),
            keep_going,
            processes,
            held: held.collect(),
            slots: Slots::new(jobs, memory, free),
            running: BTreeMap::new(),
            again: BTreeMap::new(),
            is_stopped: false,
        }
    }

    /// Lets those start that waited for nothing but these.
    fn made(&mut self, steps: &[usize]) {
        for (_, others) in self.held.values_mut() {
            others.retain(|other| !steps.contains(other));
        }
        let ready = self.held.extract_if(.., |_, (_, others)| others.is_empty());
        ready.for_each(|(_, (step, _))| self.slots.insert(step));
    }

    /// Nothing more starts; what runs comes to its end.
    pub(super) fn stop(&mut self) {
        self.is_stopped = true;
    }

    /// Whether nothing runs and nothing will.
    pub(super) fn is_done(&self) -> bool {
        self.running.is_empty() && (self.is_stopped || self.slots.is_done())
    }

    /// Whether a call may start when there are memory and a token for it.
    pub(super) fn may_start(&self) -> bool {
        !self.is_stopped && self.slots.may_start()
    }

    /// Whether a build system runs that takes tokens itself.
    pub(super) fn is_shared(&self) -> bool {
        self.running.values().any(|call| call.shared)
    }

    /// The next call, when `available` bytes are free and a token was taken for it; and how many tokens more it can use.
    pub(super) fn next(&mut self, available: u64) -> Option<(usize, usize)> {
        let Next::Start { index, with, too_large } = self.slots.next(available) else { return None };
        let again = self.again.get(&index);
        let (jobs, shared, wanted) = match (self.processes.get(&index).unwrap_or(&Processes::One), again) {
            (Processes::One, _) => (1, false, 0),
            // Half as many make it smaller, and nothing runs beside it.
            (_, Some(had)) => ((had / 2).max(1), false, 0),
            (Processes::Shared, None) => (self.jobs, true, 0),
            (Processes::Unknown, None) => (1, false, self.jobs.div_ceil(2) - 1),
        };
        let again = again.is_some();
        self.running.insert(index, Assignment { index, with, jobs, shared, again, too_large, held: 1 });
        Some((index, wanted))
    }

    /// Gives a call that [`Self::next`] has named the tokens beyond its first.
    pub(super) fn grant(&mut self, index: usize, tokens: usize) -> Option<&Assignment> {
        let call = self.running.get_mut(&index)?;
        call.jobs += tokens;
        call.held += tokens;
        Some(call)
    }

    /// Notes how a call ended. None for one that does not run.
    pub(super) fn ended(&mut self, index: usize, fate: Fate) -> Option<Ended> {
        let call = self.running.remove(&index)?;
        let mut once_more = false;
        match fate {
            Fate::Made => {
                self.slots.ended(index);
                self.made(&call.steps().collect::<Vec<_>>());
            }
            Fate::Apart { slow } => {
                self.slots.apart(index);
                if slow {
                    self.slots.share_no_more();
                }
            }
            Fate::OutOfMemory { peak } if !call.again => {
                once_more = true;
                self.again.insert(index, call.jobs);
                self.slots.again_alone(index, peak);
            }
            Fate::OutOfMemory { .. } | Fate::Failed => {
                self.slots.ended(index);
                self.is_stopped |= !self.keep_going;
            }
        }
        let release = match call.shared && !self.is_shared() {
            true => {
                let held: usize = self.running.values().map(|other| other.held).sum();
                Release::Settle(self.jobs.saturating_sub(held))
            }
            false => Release::Put(call.held),
        };
        Some(Ended { call, release, once_more })
    }
}
