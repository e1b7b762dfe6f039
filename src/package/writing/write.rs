//! A package in conda's words, after which plain archives are called, too; and how several are written at a time.

use std::num::NonZeroUsize;

use super::writer::Named;
use crate::error::Result;
use crate::package::Package;
use crate::parallel::until_failure;

/// A package in conda's words.
#[derive(Debug, Clone)]
pub struct Rendered<'a> {
    /// The package.
    pub package: &'a Package,
    /// Its version, as conda spells it.
    pub version: String,
    /// What tells its builds apart: conda's build string.
    pub build: String,
    /// Where it runs: conda's `linux-64` or `noarch`.
    pub subdir: String,
    /// Dependencies, sorted.
    pub depends: Vec<String>,
    /// Conditions on packages that need not be there, sorted.
    pub constrains: Vec<String>,
    /// What packages that are built against this one get as dependencies.
    pub run_exports: Vec<String>,
}

impl Rendered<'_> {
    /// File name without its ending: `volley-core-1.0.0-h1234567_0`.
    pub fn stem(&self) -> String {
        format!("{}-{}-{}", self.package.name(), self.version, self.build)
    }

    /// What its file stands for.
    pub(in crate::package) fn named(&self) -> Named {
        Named {
            version: self.version.clone(),
            build: self.build.clone(),
            subdir: self.subdir.clone(),
            ..Named::of(self.package)
        }
    }
}

/// The packages that have files of their own.
pub fn with_files(packages: &[Package]) -> Vec<&Package> {
    packages.iter().filter(|package| package.root.is_some()).collect()
}

/// Writes what a format makes of its packages on up to `jobs` threads by `write`, which is told how many threads it may
/// compress with, and answers in their order. The first failure stops what has not begun; of several, that of the first
/// is reported.
///
/// # Errors
/// One cannot be written.
pub fn write_all<I: Sync, T: Send>(
    items: &[I],
    jobs: NonZeroUsize,
    write: impl Fn(&I, NonZeroUsize) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    let workers = jobs.get().min(items.len()).max(1);
    let threads = NonZeroUsize::new(jobs.get() / workers).unwrap_or(NonZeroUsize::MIN);
    until_failure(items, workers, |item| write(item, threads))
}
