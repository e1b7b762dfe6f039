//! A package in conda's words, after which plain archives are called, too; and how several are written at a time.

use std::num::NonZeroUsize;

use super::Package;
use super::writer::Named;
use crate::error::Result;
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
    pub(super) fn named(&self) -> Named {
        Named {
            version: self.version.clone(),
            build: self.build.clone(),
            subdir: self.subdir.clone(),
            ..Named::of(self.package)
        }
    }
}

/// Writes packages on up to `jobs` threads by `write`, which is told how many threads it may compress with, and answers
/// in their order. The first failure stops what has not begun; of several, that of the first package is reported.
///
/// # Errors
/// A package cannot be written.
pub fn write_all<'a, T: Send>(
    packages: &[&'a Rendered<'a>],
    jobs: NonZeroUsize,
    write: impl Fn(&'a Rendered<'a>, u32) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    let workers = jobs.get().min(packages.len()).max(1);
    let threads = u32::try_from((jobs.get() / workers).max(1)).unwrap_or(1);
    until_failure(packages, workers, |package| write(package, threads))
}
