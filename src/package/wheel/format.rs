//! Wheels as a format.

use std::num::NonZeroUsize;
use std::path::Path;

use super::super::reading::kept::KeptList;
use super::super::{BuiltPackage, Format, FormatContext, Package, write_all};
use super::{archive, index, kept, plan};
use crate::bundle::BundleManifest;
use crate::error::Result;

/// Wheels, and the pages of an index over them.
#[derive(Debug, Clone, Copy)]
pub struct Wheel;

impl Format for Wheel {
    fn name(&self) -> &'static str {
        "wheel"
    }

    fn about(&self) -> &'static str {
        "wheels in a directory with its index; for pip and uv"
    }

    fn endings(&self) -> &'static [&'static str] {
        &[".whl"]
    }

    fn kept(&self, prefix: &Path, manifest: &BundleManifest) -> Option<KeptList> {
        kept::kept(prefix, manifest)
    }

    fn write(
        &self,
        packages: &[Package],
        context: &FormatContext<'_>,
        dir: &Path,
        jobs: NonZeroUsize,
    ) -> Result<Vec<BuiltPackage>> {
        fs_err::create_dir_all(dir)?;
        // Files that differ from the staged ones; they go when the wheels are written.
        let scratch = tempfile::Builder::new().prefix(".simpack-").tempdir_in(dir)?;
        let planned = plan::plan(packages, context, scratch.path())?;
        // Each on all threads: most wheels are small, and large files are compressed side by side.
        let built = write_all(&planned, jobs, |wheel, _| archive::write(wheel, dir, scratch.path(), jobs))?;
        let variants = index::variants(&planned, dir)?;
        index::write(dir, &built, variants)?;
        Ok(built)
    }
}
