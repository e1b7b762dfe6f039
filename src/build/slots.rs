//! Which step starts next: as many at a time as there are jobs, and only what memory holds. A plain
//! state machine: it sees numbers only.

use std::collections::BTreeMap;

/// How often a step that does not fit yet is overtaken before everybody waits for it.
const PATIENCE: u32 = 16;

/// A step that waits.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Waiting {
    /// Its index.
    pub index: usize,
    /// Bytes that it is expected to take at its peak.
    pub memory: u64,
    /// Seconds that it is expected to take; longer ones start first, so that none is left over at the end.
    pub seconds: f64,
    /// Nothing may run beside it.
    pub alone: bool,
}

/// What to do next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    /// Start this step.
    Start {
        /// Its index.
        index: usize,
        /// Nothing runs beside it, because it is expected to need more than there is.
        too_large: bool,
    },
    /// Nothing until a step ends.
    Wait,
    /// All have ended.
    Done,
}

/// Steps that wait and steps that run.
#[derive(Debug)]
pub(super) struct Slots {
    jobs: usize,
    budget: u64,
    /// In the order in which they should start, with how often each was overtaken.
    waiting: Vec<(Waiting, u32)>,
    /// Expected bytes by index.
    running: BTreeMap<usize, u64>,
    /// The one that runs alone.
    alone: Option<usize>,
}

impl Slots {
    /// `jobs` at a time at most, within `budget` bytes.
    pub(super) fn new(jobs: usize, budget: u64, steps: Vec<Waiting>) -> Self {
        let mut waiting: Vec<(Waiting, u32)> = steps.into_iter().map(|step| (step, 0)).collect();
        waiting.sort_by(|(a, _), (b, _)| b.seconds.total_cmp(&a.seconds).then(a.index.cmp(&b.index)));
        Self { jobs: jobs.max(1), budget, waiting, running: BTreeMap::new(), alone: None }
    }

    /// Whether all have ended.
    pub(super) fn is_done(&self) -> bool {
        self.waiting.is_empty() && self.running.is_empty()
    }

    /// The next step, when `available` bytes are free on the machine now.
    pub(super) fn next(&mut self, available: u64) -> Next {
        if self.is_done() {
            return Next::Done;
        }
        if self.alone.is_some() || self.running.len() >= self.jobs {
            return Next::Wait;
        }
        let reserved = self.running.values().fold(0_u64, |sum, bytes| sum.saturating_add(*bytes));
        let free = self.budget.saturating_sub(reserved).min(available);
        let is_idle = self.running.is_empty();
        let mut chosen = None;
        for (place, (step, overtaken)) in self.waiting.iter().enumerate() {
            let fits = step.memory <= free && !step.alone;
            if fits || is_idle {
                chosen = Some((place, !fits));
                break;
            }
            if *overtaken >= PATIENCE {
                break;
            }
        }
        let Some((place, alone)) = chosen else { return Next::Wait };
        for (_, overtaken) in &mut self.waiting[..place] {
            *overtaken += 1;
        }
        let (step, _) = self.waiting.remove(place);
        self.running.insert(step.index, step.memory);
        self.alone = alone.then_some(step.index);
        Next::Start { index: step.index, too_large: alone && !step.alone }
    }

    /// A step has ended.
    pub(super) fn ended(&mut self, index: usize) {
        self.running.remove(&index);
        if self.alone == Some(index) {
            self.alone = None;
        }
    }

    /// A step that has ended is to run once more, with nothing beside it.
    pub(super) fn again_alone(&mut self, index: usize, memory: u64) {
        self.ended(index);
        self.waiting.push((Waiting { index, memory, seconds: 0.0, alone: true }, 0));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn step(index: usize, memory: u64, seconds: f64) -> Waiting {
        Waiting { index, memory, seconds, alone: false }
    }

    fn start(index: usize) -> Next {
        Next::Start { index, too_large: false }
    }

    #[test]
    fn the_longest_first_and_as_many_as_there_are_jobs() {
        let mut slots = Slots::new(2, 100, vec![step(0, 1, 1.0), step(1, 1, 9.0), step(2, 1, 5.0)]);
        assert_eq!([slots.next(100), slots.next(100), slots.next(100)], [start(1), start(2), Next::Wait]);
        slots.ended(2);
        assert_eq!(slots.next(100), start(0));
        slots.ended(0);
        slots.ended(1);
        assert_eq!(slots.next(100), Next::Done);
    }

    #[test]
    fn what_does_not_fit_waits_and_what_is_larger_than_everything_runs_alone() {
        let mut slots =
            Slots::new(4, 100, vec![step(0, 60, 9.0), step(1, 60, 8.0), step(2, 30, 7.0), step(3, 400, 6.0)]);
        assert_eq!([slots.next(100), slots.next(100), slots.next(100)], [start(0), start(2), Next::Wait]);
        slots.ended(0);
        assert_eq!([slots.next(100), slots.next(100)], [start(1), Next::Wait]);
        slots.ended(1);
        assert_eq!(slots.next(100), Next::Wait);
        slots.ended(2);
        assert_eq!(slots.next(100), Next::Start { index: 3, too_large: true });
        assert_eq!(slots.next(100), Next::Wait);
        slots.ended(3);
        assert_eq!(slots.next(100), Next::Done);
    }

    #[test]
    fn what_others_on_the_machine_took_is_not_given_away() {
        let mut slots = Slots::new(4, 100, vec![step(0, 40, 2.0), step(1, 40, 1.0)]);
        assert_eq!(slots.next(100), start(0));
        assert_eq!(slots.next(39), Next::Wait);
        assert_eq!(slots.next(40), start(1));
    }

    #[test]
    fn once_more_means_alone() {
        let mut slots = Slots::new(4, 100, vec![step(0, 10, 2.0), step(1, 10, 1.0)]);
        assert_eq!([slots.next(100), slots.next(100)], [start(0), start(1)]);
        slots.again_alone(0, 10);
        assert_eq!(slots.next(100), Next::Wait);
        slots.ended(1);
        assert_eq!(slots.next(100), start(0));
    }

    proptest! {
        /// Never more than jobs or memory allow, every step starts once, and none is overtaken for ever.
        #[test]
        fn never_too_much_and_never_too_late(
            jobs in 1_usize..9,
            budget in 1_u64..2_000,
            steps in prop::collection::vec((0_u64..2_500, 0.0_f64..100.0), 0..120),
            ends in prop::collection::vec((any::<prop::sample::Index>(), 0_u64..3_000), 400),
        ) {
            let count = steps.len();
            let memory: Vec<u64> = steps.iter().map(|(memory, _)| *memory).collect();
            let steps: Vec<Waiting> =
                steps.into_iter().enumerate().map(|(index, (memory, seconds))| step(index, memory, seconds)).collect();
            let order: Vec<usize> = Slots::new(jobs, budget, steps.clone()).waiting.iter().map(|(step, _)| step.index).collect();
            let rank = |index: usize| order.iter().position(|found| *found == index).unwrap();
            let mut slots = Slots::new(jobs, budget, steps);
            let mut running: Vec<usize> = Vec::new();
            let mut started: Vec<usize> = Vec::new();
            let mut ends = ends.into_iter().cycle();
            loop {
                let (which, available) = ends.next().unwrap();
                match slots.next(available) {
                    Next::Start { index, too_large } => {
                        prop_assert!(!started.contains(&index));
                        let overtaken = order[..rank(index)].iter().filter(|first| !started.contains(first)).count();
                        prop_assert!(overtaken <= count);
                        started.push(index);
                        running.push(index);
                        let sum: u64 = running.iter().map(|index| memory[*index]).sum();
                        prop_assert!(running.len() <= jobs);
                        prop_assert!(running.len() == 1 || sum <= budget, "{sum} of {budget}");
                        prop_assert!(!too_large || running.len() == 1);
                        prop_assert!(running.len() == 1 || memory[index] <= available);
                    }
                    Next::Wait => {
                        prop_assert!(!running.is_empty(), "nothing runs and nothing starts");
                        let index = running.swap_remove(which.index(running.len()));
                        slots.ended(index);
                    }
                    Next::Done => break,
                }
            }
            prop_assert_eq!(started.len(), count);
            // Nobody was overtaken more often than patience allows: once it is used up, nothing later starts.
            for (place, index) in started.iter().enumerate() {
                let later = started[..place].iter().filter(|other| rank(**other) > rank(*index)).count();
                prop_assert!(later <= PATIENCE as usize, "{index} was overtaken {later} times");
            }
        }
    }
}
