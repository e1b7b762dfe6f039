//! Packages side by side on a few threads.

use std::num::NonZeroUsize;

use super::spec::PackageSpec;
use crate::error::Result;
use crate::parallel::until_failure;

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
    until_failure(specs, workers, |spec| work(spec, threads))
}
