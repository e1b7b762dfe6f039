//! Packages side by side on a few threads.

use std::num::NonZeroUsize;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use super::spec::PackageSpec;
use crate::error::{Error, Result};
use crate::process::go_on;

/// Does `work` for every package on up to `jobs` threads, and answers in the order of `specs`.
/// `work` is told how many threads it may compress with. The first failure stops what has not
/// begun; of several, that of the first package is reported.
pub(super) fn run<T: Send>(
    specs: &[PackageSpec],
    jobs: NonZeroUsize,
    work: impl Fn(&PackageSpec, u32) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    let workers = jobs.get().min(specs.len()).max(1);
    let threads = u32::try_from((jobs.get() / workers).max(1)).unwrap_or(1);
    let (next, failed) = (AtomicUsize::new(0), AtomicBool::new(false));
    let done = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                while !failed.load(Ordering::Relaxed) {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(spec) = specs.get(index) else { break };
                    let result = go_on().and_then(|()| work(spec, threads));
                    failed.fetch_or(result.is_err(), Ordering::Relaxed);
                    done.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).push((index, result));
                }
            });
        }
    });
    let mut done = done.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
    done.sort_by_key(|&(index, _)| index);
    let results = done.into_iter().map(|(_, result)| result).collect::<Result<Vec<T>>>()?;
    if results.len() != specs.len() {
        return Err(Error::bug("a package was left out"));
    }
    Ok(results)
}
