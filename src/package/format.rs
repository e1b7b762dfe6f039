//! What a format does.

use std::num::NonZeroUsize;
use std::path::Path;

use super::reading::kept::KeptList;
use super::{BuiltPackage, FormatContext, Package};
use crate::bundle::BundleManifest;
use crate::error::Result;

/// A package format.
pub trait Format: Sync {
    /// Its name, which is that of its directory below `dist/`, too.
    fn name(&self) -> &'static str;

    /// What it is and who installs it, in one line.
    fn about(&self) -> &'static str;

    /// What the names of its files end with, where a file stands for a package: `.conda`.
    fn endings(&self) -> &'static [&'static str];

    /// Whether its clients choose among host variants of one package. Otherwise the default ones are written, and no
    /// module for Python.
    fn has_variants(&self) -> bool {
        false
    }

    /// What this format's client, or the package itself, keeps of the files of a package in a prefix, with digests; none
    /// where another client installed it.
    fn kept(&self, _prefix: &Path, _manifest: &BundleManifest) -> Option<KeptList> {
        None
    }

    /// Whether this format's client has installed packages in a prefix.
    fn has_installed(&self, _prefix: &Path) -> bool {
        false
    }

    /// Writes the packages of one distribution below the directory `dir`, on up to `jobs` threads. They come in the
    /// order in which they build on each other, and so does the answer; a package that the format needs no file for is
    /// left out. Neither `dir` nor `jobs` changes a byte, and the time none outside of an index.
    ///
    /// # Errors
    /// A package holds what the format has no words for, a file has changed since it was staged, or `dir` cannot be
    /// written.
    fn write(
        &self,
        packages: &[Package],
        context: &FormatContext<'_>,
        dir: &Path,
        jobs: NonZeroUsize,
    ) -> Result<Vec<BuiltPackage>>;
}
