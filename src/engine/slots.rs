//! Which step starts next, and which others its call takes along: as many calls at a time as there are jobs, and only
//! what memory holds. A plain state machine: it sees numbers only.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

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
    /// Steps of one family can be taken by one call, one after the other.
    pub family: Option<usize>,
    /// To start a call takes longer than the step itself: it takes along all of the family that wait.
    pub whole: bool,
}

/// What to do next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Next {
    /// Start this step.
    Start {
        /// Its index.
        index: usize,
        /// Others of its family that the same call takes. All of them run and end under this step's index.
        with: Vec<usize>,
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
    waiting: BTreeMap<Rank, (Waiting, u32)>,
    /// Those of each family.
    families: BTreeMap<usize, BTreeSet<Rank>>,
    /// Seconds of all that have a family.
    shared: f64,
    /// What each call that runs has taken, by the index of the step it was started for.
    running: BTreeMap<usize, Vec<Waiting>>,
    /// The one that runs alone.
    alone: Option<usize>,
}

impl Slots {
    /// `jobs` at a time at most, within `budget` bytes.
    pub(super) fn new(jobs: usize, budget: u64, steps: Vec<Waiting>) -> Self {
        let mut slots = Self {
            jobs: jobs.max(1),
            budget,
            waiting: BTreeMap::new(),
            families: BTreeMap::new(),
            shared: 0.0,
            running: BTreeMap::new(),
            alone: None,
        };
        steps.into_iter().for_each(|step| slots.insert(step));
        slots
    }

    /// One more that waits.
    pub(super) fn insert(&mut self, step: Waiting) {
        let rank = Rank::of(&step);
        if let Some(family) = step.family {
            self.families.entry(family).or_default().insert(rank);
            self.shared += step.seconds;
        }
        self.waiting.insert(rank, (step, 0));
    }

    fn remove(&mut self, rank: Rank) -> Option<Waiting> {
        let (step, _) = self.waiting.remove(&rank)?;
        if let Some(ranks) = step.family.and_then(|family| self.families.get_mut(&family)) {
            ranks.remove(&rank);
            self.shared -= step.seconds;
        }
        Some(step)
    }

    /// Whether all have ended.
    pub(super) fn is_done(&self) -> bool {
        self.waiting.is_empty() && self.running.is_empty()
    }

    /// Whether a step may start when there is memory for it.
    pub(super) fn may_start(&self) -> bool {
        !self.waiting.is_empty() && self.alone.is_none() && self.running.len() < self.jobs
    }

    /// The next step, when `available` bytes are free on the machine now.
    pub(super) fn next(&mut self, available: u64) -> Next {
        if self.is_done() {
            return Next::Done;
        }
        if !self.may_start() {
            return Next::Wait;
        }
        let reserved = self.running.values().map(|steps| peak(steps)).fold(0_u64, u64::saturating_add);
        let free = self.budget.saturating_sub(reserved).min(available);
        let is_idle = self.running.is_empty();
        let mut chosen = None;
        for (rank, (step, overtaken)) in &self.waiting {
            let fits = step.memory <= free && !step.alone;
            if fits || is_idle {
                chosen = Some((*rank, !fits));
                break;
            }
            if *overtaken >= PATIENCE {
                break;
            }
        }
        let Some((rank, alone)) = chosen else { return Next::Wait };
        for (_, overtaken) in self.waiting.range_mut(..rank).map(|(_, waiting)| waiting) {
            *overtaken += 1;
        }
        let Some(step) = self.remove(rank) else { return Next::Wait };
        self.alone = alone.then_some(step.index);
        let companions = if alone { Vec::new() } else { self.companions(&step, free) };
        let with = companions.iter().map(|step| step.index).collect();
        self.running.insert(step.index, std::iter::once(step).chain(companions).collect());
        Next::Start { index: step.index, with, too_large: alone && !step.alone }
    }

    /// Takes out of those that wait what the call for `first` takes along. While much is left that is the whole
    /// family; towards the end ever less, so that all jobs come to an end together: a call takes half of what is one
    /// job's part of the work that is left, at most (guided self-scheduling).
    fn companions(&mut self, first: &Waiting, free: u64) -> Vec<Waiting> {
        let Some(ranks) = first.family.and_then(|family| self.families.get(&family)) else { return Vec::new() };
        let share = (self.shared + first.seconds) / (2 * self.jobs) as f64;
        let most = if first.whole { f64::INFINITY } else { share };
        let (mut taken, mut seconds) = (Vec::new(), first.seconds);
        for rank in ranks.iter().copied().collect::<Vec<_>>() {
            let fits = |step: &Waiting| step.memory <= free && seconds + step.seconds <= most;
            if self.waiting.get(&rank).is_some_and(|(step, _)| fits(step))
                && let Some(step) = self.remove(rank)
            {
                seconds += step.seconds;
                taken.push(step);
            }
        }
        taken
    }

    /// A call has ended, and with it all steps that it took.
    pub(super) fn ended(&mut self, index: usize) {
        self.running.remove(&index);
        if self.alone == Some(index) {
            self.alone = None;
        }
    }

    /// A call of several steps has ended without them: they wait again, each for a call of its own.
    pub(super) fn apart(&mut self, index: usize) {
        for step in self.running.remove(&index).unwrap_or_default() {
            self.insert(Waiting { family: None, ..step });
        }
    }

    /// From now on every step has a call of its own.
    pub(super) fn share_no_more(&mut self) {
        self.waiting.values_mut().for_each(|(step, _)| step.family = None);
        self.families.clear();
        self.shared = 0.0;
    }

    /// A step that has ended is to run once more, with nothing beside it.
    pub(super) fn again_alone(&mut self, index: usize, memory: u64) {
        self.ended(index);
        self.insert(Waiting { index, memory, seconds: 0.0, alone: true, family: None, whole: false });
    }
}

/// The place of a step in the order: the longest first, and what runs alone when nothing else waits.
#[derive(Debug, Clone, Copy)]
struct Rank {
    alone: bool,
    seconds: f64,
    index: usize,
}

impl Rank {
    fn of(step: &Waiting) -> Self {
        Self { alone: step.alone, seconds: step.seconds, index: step.index }
    }
}

impl Ord for Rank {
    fn cmp(&self, other: &Self) -> Ordering {
        let longest = || other.seconds.total_cmp(&self.seconds);
        self.alone.cmp(&other.alone).then_with(longest).then(self.index.cmp(&other.index))
    }
}

impl PartialOrd for Rank {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Rank {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Rank {}

/// Bytes of a call that takes these steps one after the other.
fn peak(steps: &[Waiting]) -> u64 {
    steps.iter().map(|step| step.memory).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn step(index: usize, memory: u64, seconds: f64) -> Waiting {
        Waiting { index, memory, seconds, alone: false, family: None, whole: false }
    }

    fn start(index: usize) -> Next {
        Next::Start { index, with: Vec::new(), too_large: false }
    }

    /// Units of so many steps each, a second and a byte a step.
    fn units(count: usize, each: usize) -> Vec<Waiting> {
        (0..count * each).map(|index| Waiting { family: Some(index / each), ..step(index, 1, 1.0) }).collect()
    }

    /// How many steps each call takes, when calls end in the order in which they were started.
    fn sizes(slots: &mut Slots) -> Vec<usize> {
        let (mut sizes, mut running) = (Vec::new(), std::collections::VecDeque::new());
        loop {
            match slots.next(u64::MAX) {
                Next::Start { index, with, .. } => {
                    sizes.push(1 + with.len());
                    running.push_back(index);
                }
                Next::Wait => slots.ended(running.pop_front().unwrap()),
                Next::Done => return sizes,
            }
        }
    }

    #[test]
    fn calls_take_whole_families_while_much_is_left_and_single_steps_at_the_end() {
        let cases: [(usize, usize, usize, &[usize]); 6] = [
            (1, 2, 6, &[6, 3, 1, 1, 1]),
            (2, 5, 6, &[6, 6, 4, 2, 3, 2, 1, 1, 1, 1, 1, 1, 1]),
            (2, 1, 6, &[1, 1, 1, 1, 1, 1]),
            (4, 3, 4, &[1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]),
            (4, 3, 1, &[1, 1, 1]),
            (64, 2, 3, &[1, 1, 1, 1, 1, 1]),
        ];
        for (jobs, count, each, expected) in cases {
            let found = sizes(&mut Slots::new(jobs, 1000, units(count, each)));
            assert_eq!(found, expected, "{count} units of {each} on {jobs} jobs");
        }
        let found = sizes(&mut Slots::new(2, 1000, units(24, 6)));
        assert!(found.iter().sum::<usize>() == 144 && found.len() < 45 && found.ends_with(&[1, 1, 1]), "{found:?}");
    }

    #[test]
    fn what_takes_longer_to_start_than_to_do_goes_by_whole_families() {
        let whole = units(6, 30).into_iter().map(|step| Waiting { whole: true, ..step }).collect();
        assert_eq!(sizes(&mut Slots::new(2, 1000, whole)), [30; 6]);
    }

    #[test]
    fn a_call_takes_along_what_memory_holds_and_counts_for_its_largest_step() {
        let mut steps = units(2, 6);
        steps[1].memory = 60;
        steps[2].memory = 101;
        let mut slots = Slots::new(1, 100, steps.clone());
        assert_eq!(slots.next(100), Next::Start { index: 0, with: vec![1, 3, 4, 5], too_large: false });
        slots.ended(0);
        let mut slots = Slots::new(1, 100, steps.clone());
        assert_eq!(slots.next(59), Next::Start { index: 0, with: vec![3, 4, 5], too_large: false });
        steps.push(step(12, 50, 0.5));
        let mut slots =
            Slots::new(2, 100, steps.iter().copied().filter(|step| step.index < 2 || step.index > 5).collect());
        assert_eq!(slots.next(100), Next::Start { index: 0, with: vec![1], too_large: false });
        assert_eq!(slots.next(100), Next::Start { index: 6, with: vec![], too_large: false });
        slots.ended(6);
        for index in 7..12 {
            assert_eq!(slots.next(100), Next::Start { index, with: vec![], too_large: false });
            slots.ended(index);
        }
        assert_eq!(slots.next(100), Next::Wait, "50 beside 60");
    }

    #[test]
    fn what_a_shared_call_did_not_make_is_made_step_by_step() {
        let mut slots = Slots::new(1, 100, units(2, 2));
        assert_eq!(slots.next(100), Next::Start { index: 0, with: vec![1], too_large: false });
        slots.apart(0);
        assert_eq!(sizes(&mut slots), [1, 1, 1, 1]);
        let mut slots = Slots::new(1, 100, units(2, 6));
        slots.share_no_more();
        assert_eq!(sizes(&mut slots), [1; 12]);
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
        assert_eq!(slots.next(100), Next::Start { index: 3, with: vec![], too_large: true });
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
            steps in prop::collection::vec((0_u64..2_500, 0.0_f64..100.0, prop::option::of(0_usize..9)), 0..120),
            ends in prop::collection::vec((any::<prop::sample::Index>(), 0_u64..3_000), 400),
        ) {
            let count = steps.len();
            let memory: Vec<u64> = steps.iter().map(|(memory, ..)| *memory).collect();
            let steps = steps.into_iter().enumerate();
            let steps: Vec<Waiting> =
                steps.map(|(index, (memory, seconds, family))| Waiting { family, ..step(index, memory, seconds) }).collect();
            let order: Vec<usize> = Slots::new(jobs, budget, steps.clone()).waiting.values().map(|(step, _)| step.index).collect();
            let rank = |index: usize| order.iter().position(|found| *found == index).unwrap();
            let mut slots = Slots::new(jobs, budget, steps);
            let mut running: Vec<usize> = Vec::new();
            let mut started: Vec<usize> = Vec::new();
            let mut taken: Vec<usize> = Vec::new();
            let mut largest: BTreeMap<usize, u64> = BTreeMap::new();
            let mut ends = ends.into_iter().cycle();
            loop {
                let (which, available) = ends.next().unwrap();
                match slots.next(available) {
                    Next::Start { index, with, too_large } => {
                        for index in with.iter().chain([&index]) {
                            prop_assert!(!started.contains(index) && !taken.contains(index));
                        }
                        prop_assert!(with.is_empty() || !too_large);
                        largest.insert(index, with.iter().chain([&index]).map(|index| memory[*index]).max().unwrap());
                        taken.extend(with);
                        let overtaken = order[..rank(index)].iter().filter(|first| !started.contains(first)).count();
                        prop_assert!(overtaken <= count);
                        started.push(index);
                        running.push(index);
                        let sum: u64 = running.iter().map(|index| largest[index]).sum();
                        prop_assert!(running.len() <= jobs);
                        prop_assert!(running.len() == 1 || sum <= budget, "{sum} of {budget}");
                        prop_assert!(!too_large || running.len() == 1);
                        prop_assert!(running.len() == 1 || largest[&index] <= available);
                    }
                    Next::Wait => {
                        prop_assert!(!running.is_empty(), "nothing runs and nothing starts");
                        let index = running.swap_remove(which.index(running.len()));
                        slots.ended(index);
                    }
                    Next::Done => break,
                }
            }
            prop_assert_eq!(started.len() + taken.len(), count);
            // Nobody was overtaken more often than patience allows: once it is used up, nothing later starts.
            for (place, index) in started.iter().enumerate() {
                let later = started[..place].iter().filter(|other| rank(**other) > rank(*index)).count();
                prop_assert!(later <= PATIENCE as usize, "{index} was overtaken {later} times");
            }
        }
    }
}
