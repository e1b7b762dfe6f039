//! The same work for many items, side by side on a few threads.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::error::{Error, Result};
use crate::process::check_interrupted;

/// Threads that this process may use: its cores, or what is left of them by affinity and control group.
pub fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// What `work` answers for every item, in the items' order, on at most `threads` threads of which the caller's is
/// one. Each thread makes itself a `worker` to work with. Items are begun in their order.
pub fn side_by_side<I: Sync, W, T: Send>(
    items: &[I],
    threads: usize,
    worker: impl Fn() -> W + Sync,
    work: impl Fn(&mut W, &I) -> T + Sync,
) -> Vec<T> {
    let next = AtomicUsize::new(0);
    let done: Mutex<Vec<(usize, T)>> = Mutex::new(Vec::with_capacity(items.len()));
    let thread = || {
        let mut worker = worker();
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(index) else { return };
            let answer = work(&mut worker, item);
            done.lock().unwrap_or_else(PoisonError::into_inner).push((index, answer));
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..threads.min(items.len()) {
            scope.spawn(thread);
        }
        thread();
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_unstable_by_key(|(index, _)| *index);
    done.into_iter().map(|(_, answer)| answer).collect()
}

/// As [`side_by_side`], for work that may fail. After a failure nothing more is begun.
///
/// # Errors
/// Of several failures, that of the first item. Or the run was interrupted.
pub fn until_failure<I: Sync, T: Send>(
    items: &[I],
    threads: usize,
    work: impl Fn(&I) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    let failed = AtomicBool::new(false);
    let one = |(): &mut (), item: &I| -> Option<Result<T>> {
        if failed.load(Ordering::Relaxed) {
            return None;
        }
        let answer = check_interrupted().and_then(|()| work(item));
        failed.fetch_or(answer.is_err(), Ordering::Relaxed);
        Some(answer)
    };
    let done = side_by_side(items, threads, || (), one).into_iter().flatten().collect::<Result<Vec<T>>>()?;
    if done.len() != items.len() {
        return Err(Error::bug("work was left out"));
    }
    Ok(done)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_come_in_the_order_of_the_items_however_many_threads_there_are() {
        let items: Vec<usize> = (0..100).collect();
        let slow = |(): &mut (), item: &usize| {
            std::thread::sleep(std::time::Duration::from_micros(((100 - item) % 7) as u64 * 50));
            item * 2
        };
        let wanted: Vec<usize> = items.iter().map(|item| item * 2).collect();
        for threads in [0, 1, 3, 200] {
            assert_eq!(side_by_side(&items, threads, || (), slow), wanted);
        }
        assert!(side_by_side(&[], 4, || (), slow).is_empty());
    }

    #[test]
    fn the_first_items_failure_is_told_and_nothing_more_is_begun() {
        let items: Vec<usize> = (0..1000).collect();
        let begun = AtomicUsize::new(0);
        let work = |item: &usize| {
            begun.fetch_add(1, Ordering::Relaxed);
            if *item < 3 { Err(Error::bug(format!("item {item}"))) } else { Ok(*item) }
        };
        assert_eq!(until_failure(&items, 1, work).unwrap_err().to_string(), Error::bug("item 0").to_string());
        assert_eq!(begun.load(Ordering::Relaxed), 1);
        assert_eq!(until_failure(&items[3..], 4, work).unwrap(), &items[3..]);
    }
}
