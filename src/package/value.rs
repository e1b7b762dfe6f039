//! A package as a value: all that decides its bytes, in whatever format.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::arch::{KernelAbiTag, KernelTarget, Version};
use crate::bundle::{BundleManifest, Dependency};
use crate::error::{Error, Result};
use crate::fs::Digest;

/// One package. Two equal values give the same bytes, wherever `root` lies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Package {
    /// What it is for.
    pub kind: PackageKind,
    /// Version: the simulator's; that of a schema for what only ties packages together.
    pub version: Version,
    /// Build number: of packages that differ in nothing else the highest is preferred. It is the recipe's own, `scale`
    /// times, and what tells the builds of one version apart.
    pub build_number: u64,
    /// How much one more of the recipe's own build number adds; 0 for packages that it does not change.
    pub scale: u64,
    /// Licence texts by file name.
    pub licences: BTreeMap<String, String>,
    /// One line.
    pub summary: String,
    /// Home page.
    pub homepage: Option<String>,
    /// Shell lines that must succeed where the package is installed.
    pub tests: Vec<String>,
    /// `simpack.json` of the package: name, simulator, component, platform, target, dependencies, conditions, exports,
    /// licence, files, origin.
    pub manifest: BundleManifest,
    /// Root of the staged tree with the manifest's artifacts; none when there are none.
    pub root: Option<PathBuf>,
}

/// What a package is for: what tells its builds apart follows from it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum PackageKind {
    /// Files of a component, or what brings the others.
    Component,
    /// Device code for one target.
    Kernels,
    /// Brings the device code for all targets of a CUDA release.
    AllKernels,
    /// One build of the package by which a package manager picks the kernels.
    Selector(Choice),
    /// Ties kernels to a core with the same kernel table.
    KernelAbi(KernelAbiTag),
    /// Lets an environment hold one of several libraries that ship cut.
    Slot(KernelTarget),
}

/// When a package manager takes a build of the selector.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Choice {
    /// The capability of the GPU is known, and the code runs on it; that of the CPU: nothing else fits.
    Fitting,
    /// There is a driver, and nobody tells the capability.
    Unknown,
    /// The capability is known, and no code runs on it. Without this build, a solver that leaves out conditions on
    /// packages that need not be there would take the one for unknown GPUs.
    NoCode,
}

impl Package {
    /// Name.
    pub fn name(&self) -> &str {
        &self.manifest.package
    }

    /// The dependency on exactly this build.
    ///
    /// # Errors
    /// The manifest does not print.
    pub fn exactly(&self) -> Result<Dependency> {
        let manifest = Digest::of(&self.manifest_json()?);
        Ok(Dependency::Build { package: self.name().to_owned(), version: self.version, manifest })
    }

    /// Time stamp of every entry of its archives, in seconds since 1970.
    pub fn time(&self) -> u64 {
        super::writing::epoch::archive_time(self.manifest.provenance.source_date_epoch)
    }

    /// Bytes of `simpack.json`.
    ///
    /// # Errors
    /// The manifest does not print.
    pub fn manifest_json(&self) -> Result<Vec<u8>> {
        let mut bytes = serde_json::to_vec_pretty(&self.manifest)
            .map_err(|error| Error::bug("a package's manifest does not print as JSON").because(error))?;
        bytes.push(b'\n');
        Ok(bytes)
    }
}
