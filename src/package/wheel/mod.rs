//! Wheels, for pip and uv: one for core, which has extras for the rest, one for the device code of each target.
//!
//! All files of a wheel lie below one directory of `site-packages` that has the simulator's name, laid out as in a
//! prefix of conda, so that search paths and the simulator's own loader hold. Nothing runs when a wheel is installed:
//! which device code a machine needs is said by extras, and core and device code meet in a wheel of the kernel ABI,
//! whose version is the tag. Vendor libraries are dependencies on the vendor's wheels, found by search paths.

mod archive;
mod describe;
mod index;
mod kept;
mod layout;
mod level;
mod links;
mod module;
mod names;
mod plan;
mod python;
mod read;
mod record;
mod requires;
mod variants;

use std::num::NonZeroUsize;
use std::path::Path;

use super::kept::KeptList;
use super::{BuiltPackage, Format, FormatContext, Package, write_all};
use crate::bundle::BundleManifest;
use crate::error::Result;

pub use level::{Level, level};
pub use names::{escaped, extra, kernel_abi_version, normalized};
pub use read::{is_metadata, manifests, metadata};
pub use record::{encoded, quoted};

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
        let variants = variants::index(&planned, dir)?;
        index::write(dir, &built, variants)?;
        Ok(built)
    }
}
