//! One question to many pieces, on all cores.

use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// More threads would only hold more memory: each has a piece of its own.
const MOST_THREADS: usize = 8;
/// Work over fewer bytes is done before a thread has started.
const WORTH_A_THREAD: u64 = 1 << 19;

thread_local! {
    /// Whether this thread is one of many already.
    static IS_WORKER: Cell<bool> = const { Cell::new(false) };
}

/// Calls `work` with every number below `count`, and gives the answers in this order. Each thread has what `own` makes;
/// `bytes` is how much there is to look at.
pub(super) fn in_parallel<S, R: Send>(
    count: usize,
    bytes: u64,
    own: impl Fn() -> S + Sync,
    work: impl Fn(&mut S, usize) -> R + Sync,
) -> Vec<R> {
    let useful = count.min(usize::try_from(bytes / WORTH_A_THREAD).unwrap_or(MOST_THREADS)).min(MOST_THREADS);
    let threads = match useful > 1 && !IS_WORKER.get() {
        true => std::thread::available_parallelism().map_or(1, usize::from).min(useful),
        false => 1,
    };
    if threads < 2 {
        let mut state = own();
        return (0..count).map(|index| work(&mut state, index)).collect();
    }
    let next = AtomicUsize::new(0);
    let found = Mutex::new(Vec::with_capacity(count));
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                IS_WORKER.set(true);
                let (mut state, mut answers) = (own(), Vec::new());
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    if index >= count {
                        break;
                    }
                    answers.push((index, work(&mut state, index)));
                }
                found.lock().unwrap_or_else(PoisonError::into_inner).append(&mut answers);
            });
        }
    });
    let mut found = found.into_inner().unwrap_or_else(PoisonError::into_inner);
    found.sort_by_key(|(index, _)| *index);
    found.into_iter().map(|(_, answer)| answer).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_come_in_order_from_any_number_of_threads() {
        for bytes in [0, u64::MAX] {
            let answers = in_parallel(100, bytes, || 0, |_, index| index * 2);
            assert_eq!(answers, (0..100).map(|index| index * 2).collect::<Vec<_>>());
        }
        assert!(in_parallel(0, u64::MAX, || (), |(), index| index).is_empty());
        // Work that is shared out already is not shared out again.
        let inner = in_parallel(
            2,
            u64::MAX,
            || (),
            |(), _| in_parallel(2, u64::MAX, || (), |(), _| std::thread::current().id()),
        );
        assert!(inner.iter().all(|ids| ids[0] == ids[1]));
    }
}
