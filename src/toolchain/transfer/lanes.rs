//! A few threads that share a list of work and stop at the first error.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::error::{Error, Result};
use crate::process::check_interrupted;

/// Transfers and unpackings at the same time.
const LANES: usize = 3;

/// Does `count` pieces of work on a few threads. After the first error `stop` is called, no new
/// piece begins, and that error is the answer.
pub(crate) fn in_lanes(count: usize, stop: impl Fn() + Sync, work: impl Fn(usize) -> Result<()> + Sync) -> Result<()> {
    let next = AtomicUsize::new(0);
    let failure: Mutex<Option<Error>> = Mutex::new(None);
    std::thread::scope(|scope| {
        for _ in 0..LANES.min(count) {
            scope.spawn(|| {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    if index >= count {
                        return;
                    }
                    if let Err(error) = check_interrupted().and_then(|()| work(index)) {
                        next.store(count, Ordering::Relaxed);
                        if let Ok(mut failure) = failure.lock() {
                            failure.get_or_insert(error);
                        }
                        stop();
                    }
                }
            });
        }
    });
    match failure.into_inner() {
        Ok(None) => Ok(()),
        Ok(Some(error)) => Err(error),
        Err(_) => Err(Error::bug("a thread of the toolchain store panicked")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_is_done_once_or_it_stops() {
        let done: Vec<AtomicUsize> = (0..50).map(|_| AtomicUsize::new(0)).collect();
        let work = |index: usize| {
            done[index].fetch_add(1, Ordering::Relaxed);
            Ok(())
        };
        in_lanes(50, || (), work).unwrap();
        assert!(done.iter().all(|count| count.load(Ordering::Relaxed) == 1));
        in_lanes(0, || (), |_| Err(Error::toolchain("never called"))).unwrap();

        let (begun, stopped) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let fail = |index| {
            begun.fetch_add(1, Ordering::Relaxed);
            Err(Error::toolchain(format!("work {index}")))
        };
        let stop = || {
            stopped.fetch_add(1, Ordering::Relaxed);
        };
        assert!(in_lanes(50, stop, fail).is_err());
        assert!(begun.load(Ordering::Relaxed) <= LANES && stopped.load(Ordering::Relaxed) >= 1);
    }
}
