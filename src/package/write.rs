//! What a format does: it says a package's dependencies and conditions in its own words, and writes it.

use std::num::NonZeroUsize;
use std::path::Path;

use super::{BuiltPackage, Package};
use crate::error::Result;
use crate::manifest::Vendor;
use crate::parallel::until_failure;

/// A package format.
pub trait Format {
    /// Its name, which is that of its directory below `dist/`, too.
    fn name(&self) -> &'static str;

    /// Packages in its words. They come in the order in which they build on each other.
    ///
    /// # Errors
    /// A package holds what the format has no words for.
    fn render<'a>(&self, packages: &'a [Package], vendor: &Vendor) -> Result<Vec<Rendered<'a>>>;

    /// Writes packages below the directory `dir`, on up to `jobs` threads, and answers in their order. Neither `dir`
    /// nor `jobs` changes a byte.
    ///
    /// # Errors
    /// A file has changed since it was staged, or `dir` cannot be written.
    fn write(&self, packages: &[Rendered<'_>], dir: &Path, jobs: NonZeroUsize) -> Result<Vec<BuiltPackage>>;
}

/// A package in the words of a format.
#[derive(Debug, Clone)]
pub struct Rendered<'a> {
    /// The package.
    pub package: &'a Package,
    /// Its version, as the format spells it.
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
