//! What a reader may spend on its input: memory and work in proportion to the bytes that it was given.
//!
//! Tables in foreign files may overlap and name the same long text again and again, so that a small file asks for
//! all of a machine. A [`Budget`] is made where bytes come in and handed down to whatever reads them. A reader asks
//! before it keeps or walks something; what is refused once stays refused, and the reader of the whole file ends with
//! [`Budget::finish`], so that what was left out is never taken for nothing.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};

use crate::config::LIMITS;

/// Bytes that any input may make a reader keep.
const MEMORY: u64 = 32 << 20;
/// Bytes that a reader may keep for each byte of its input. Libraries with nothing but short symbols take about 4.
const MEMORY_PER_BYTE: u64 = 6;
/// Steps that any input may cost: one is about a nanosecond.
const WORK: u64 = 400_000_000;
/// Steps for each byte of the input. Device code unpacks to at most 30 times its size.
const WORK_PER_BYTE: u64 = 40;
/// Files inside files inside files: deeper than this nobody means it.
const NESTING: u32 = 8;

/// How many times the usual limits are, as the user said for this process.
static FACTOR: AtomicU64 = AtomicU64::new(1);

/// Raises the limits of every budget that is made from now on.
pub fn raise_limits(factor: u64) {
    FACTOR.store(factor.max(1), Relaxed);
}

/// How many times the usual limits are.
pub fn factor() -> u64 {
    FACTOR.load(Relaxed)
}

/// What a reader may spend. Clones share it.
#[derive(Debug, Clone)]
pub struct Budget(Arc<Account>);

#[derive(Debug)]
struct Account {
    memory: AtomicU64,
    work: AtomicU64,
    depth: u32,
    /// Where more comes from when this is spent: what all parts of an input have in common.
    common: Option<Budget>,
    exceeded: OnceLock<OverBudget>,
}

/// Why a reader stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum OverBudget {
    /// What it names would take too much room.
    #[error("what its tables name takes too much memory for its size; {}=8 allows eight times as much", LIMITS.variable())]
    Memory,
    /// Its tables lead to too many steps.
    #[error("its tables take too much work for its size; {}=8 allows eight times as much", LIMITS.variable())]
    Work,
    /// Files are inside of each other too often.
    #[error("what is in it is nested too deeply")]
    Nesting,
}

impl Budget {
    /// What may be spent on `bytes`.
    pub fn of(bytes: &[u8]) -> Self {
        Self::for_size(bytes.len() as u64)
    }

    /// What may be spent on an input of `size` bytes.
    pub fn for_size(size: u64) -> Self {
        let limit = |base: u64, each: u64| base.saturating_add(size.saturating_mul(each));
        Self::with(limit(MEMORY, MEMORY_PER_BYTE), limit(WORK, WORK_PER_BYTE), 0, None)
    }

    fn with(memory: u64, work: u64, depth: u32, common: Option<Self>) -> Self {
        let factor = factor();
        Self(Arc::new(Account {
            memory: AtomicU64::new(memory.saturating_mul(factor)),
            work: AtomicU64::new(work.saturating_mul(factor)),
            depth,
            common,
            exceeded: OnceLock::new(),
        }))
    }

    /// What may be spent on one of many files that are examined together: its own share, and beyond that what all
    /// have in common. One file that spends all of the latter leaves the others their shares.
    #[must_use]
    pub fn share(&self, size: u64) -> Self {
        let each = |each: u64| size.saturating_mul(each);
        Self::with(each(MEMORY_PER_BYTE), each(WORK_PER_BYTE), self.0.depth, Some(self.clone()))
    }

    /// The same budget, for what is kept only while `size` bytes are read: as much memory as reading them honestly takes,
    /// `each` for each byte, costs nothing, because it is given back before the next bytes are read.
    #[must_use]
    pub fn passing(&self, size: u64, each: u64) -> Self {
        Self::with(size.saturating_mul(each), 0, self.0.depth, Some(self.clone()))
    }

    /// The same budget, for what is inside of what it was made for.
    pub fn nested(&self) -> Option<Self> {
        let depth = self.0.depth + 1;
        if depth > NESTING {
            return self.refuse(OverBudget::Nesting);
        }
        Some(Self::with(0, 0, depth, Some(self.clone())))
    }

    /// Asks to keep `bytes` more; `None` when there is no room.
    pub fn keep(&self, bytes: u64) -> Option<()> {
        if self.spend(|account| &account.memory, bytes) { Some(()) } else { self.refuse(OverBudget::Memory) }
    }

    /// Asks to keep a text or bytes of this length, with what their allocation costs.
    pub fn keep_text(&self, length: usize) -> Option<()> {
        self.keep(length as u64 + 32)
    }

    /// Asks to keep `count` values of a type.
    pub fn keep_many<T>(&self, count: usize) -> Option<()> {
        self.keep((count as u64).saturating_mul(size_of::<T>() as u64))
    }

    /// Asks for `steps` more; `None` when there was enough work.
    pub fn work(&self, steps: u64) -> Option<()> {
        if self.spend(|account| &account.work, steps) { Some(()) } else { self.refuse(OverBudget::Work) }
    }

    /// Says whether all that was asked for was granted.
    ///
    /// # Errors
    /// Something was refused: what was read is not whole.
    pub fn finish(&self) -> Result<(), OverBudget> {
        self.0.exceeded.get().map_or(Ok(()), |over| Err(*over))
    }

    fn spend(&self, left: fn(&Account) -> &AtomicU64, amount: u64) -> bool {
        let take = |value: u64| value.checked_sub(amount);
        left(&self.0).fetch_update(Relaxed, Relaxed, take).is_ok()
            || self.0.common.as_ref().is_some_and(|common| common.spend(left, amount))
    }

    fn refuse<T>(&self, over: OverBudget) -> Option<T> {
        self.0.exceeded.get_or_init(|| over);
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_refused_stays_known() {
        let budget = Budget::for_size(10);
        assert_eq!(budget.keep(MEMORY), Some(()));
        assert_eq!(budget.clone().keep(10 * MEMORY_PER_BYTE), Some(()));
        assert_eq!(budget.finish(), Ok(()));
        assert_eq!(budget.clone().keep(1), None);
        assert_eq!(budget.finish(), Err(OverBudget::Memory));
        assert_eq!(budget.work(WORK), Some(()), "the other resource is still there");
        assert_eq!(budget.work(u64::MAX), None);
        assert_eq!(budget.finish(), Err(OverBudget::Memory), "the first reason stays");
    }

    #[test]
    fn one_file_leaves_the_others_their_shares() {
        let all = Budget::for_size(0);
        let (greedy, modest) = (all.share(100), all.share(100));
        assert_eq!(greedy.keep(MEMORY), Some(()));
        assert_eq!(greedy.keep(MEMORY), None);
        assert_eq!(modest.keep(100 * MEMORY_PER_BYTE), Some(()));
        assert_eq!((all.finish(), modest.finish()), (Ok(()), Ok(())));
        assert_eq!(modest.keep(1), None, "the common part is spent");
    }

    #[test]
    fn what_is_given_back_is_not_spent() {
        let all = Budget::for_size(0);
        for _ in 0..10 {
            assert_eq!(all.passing(MEMORY, 1).keep(MEMORY), Some(()));
        }
        assert_eq!(all.passing(100, 1).keep(MEMORY), Some(()), "beyond that it is");
        assert_eq!((all.passing(100, 1).keep(101), all.keep(1)), (None, None));
    }

    #[test]
    fn nesting_ends() {
        let mut inner = Budget::for_size(1);
        for _ in 0..NESTING {
            inner = inner.nested().unwrap();
        }
        assert_eq!(inner.keep(1), Some(()));
        assert!(inner.nested().is_none());
        assert_eq!(inner.finish(), Err(OverBudget::Nesting));
    }
}
