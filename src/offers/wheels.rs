//! Wheels in a directory: which simulators they make up, and how pip and uv are told which to take.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::arch::{CudaVersion, KernelTarget, Version};
use crate::bundle::{BundleManifest, Dependency};
use crate::error::{Error, Result};
use crate::fit::Distribution;
use crate::package::wheel::{extra, manifests, normalized};
use crate::recipe::ComponentKind;

/// The wheels of one release of a simulator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wheels {
    /// Its packages.
    pub distribution: Distribution,
    /// Where they lie.
    pub directory: PathBuf,
    /// Whether core needs wheels of others, which are elsewhere.
    pub needs_others: bool,
}

impl Wheels {
    /// The requirement that brings the simulator with the packages of device code that are named.
    pub fn requirement(&self, packages: &[String]) -> String {
        let shaders = self.distribution.shaders.iter().filter(|shaders| packages.contains(&shaders.package));
        let extras: BTreeSet<String> = self
            .distribution
            .kernels
            .iter()
            .filter(|kernels| packages.contains(&kernels.package))
            .map(|kernels| extra(kernels.target, Some(kernels.cuda).filter(|_| self.has_several_majors())))
            .chain(shaders.map(|shaders| extra(shaders.target, None)))
            .collect();
        let extras = extras.into_iter().collect::<Vec<_>>().join(",");
        let extras = if extras.is_empty() { extras } else { format!("[{extras}]") };
        format!("{}{extras}=={}", normalized(&self.distribution.simulator), self.distribution.version)
    }

    /// The package of libraries without device code, where core is not whole without one of several.
    pub fn for_the_cpu(&self) -> Option<String> {
        let kernels = self.distribution.kernels.iter();
        kernels.filter(|kernels| kernels.target == KernelTarget::Cpu).map(|kernels| kernels.package.clone()).next()
    }

    fn has_several_majors(&self) -> bool {
        let with_release = self.distribution.kernels.iter().filter(|kernels| kernels.target != KernelTarget::Cpu);
        with_release.map(|kernels| kernels.cuda.major).collect::<BTreeSet<u32>>().len() > 1
    }
}

/// The simulators whose wheels lie in a directory or directly below it, of each the newest release.
///
/// # Errors
/// A wheel is damaged.
pub(super) fn wheels(path: &Path) -> Result<Vec<Wheels>> {
    type Release = (String, Version);
    let mut releases: BTreeMap<Release, (PathBuf, Vec<BundleManifest>)> = BTreeMap::new();
    for file in files(path)? {
        for manifest in manifests(&file)? {
            // What ties wheels together has a version of its own.
            if manifest.component == ComponentKind::Kernels && manifest.target.is_none() {
                continue;
            }
            let release = (manifest.simulator.clone(), manifest.version);
            let directory = file.parent().unwrap_or(path).to_owned();
            releases.entry(release).or_insert_with(|| (directory, Vec::new())).1.push(manifest);
        }
    }
    let mut newest: BTreeMap<String, Wheels> = BTreeMap::new();
    // Versions ascend: the last one stays.
    for ((simulator, _), (directory, manifests)) in releases {
        let core = manifests.iter().find(|manifest| manifest.component == ComponentKind::Core);
        let needs_others =
            core.is_some_and(|core| core.dependencies.iter().any(|one| matches!(one, Dependency::Vendor { .. })));
        if let Some(distribution) = Distribution::of(&manifests, false).into_iter().find(|_| core.is_some()) {
            newest.insert(simulator, Wheels { distribution, directory: std::path::absolute(directory)?, needs_others });
        }
    }
    Ok(newest.into_values().collect())
}

/// The releases of CUDA that a package of device code stands for need not be named where there is one.
pub(super) fn specs(wheels: &Wheels) -> BTreeMap<(String, CudaVersion), String> {
    let kernels = wheels.distribution.kernels.iter();
    kernels
        .map(|kernels| {
            let spec = format!("{}=={}", normalized(&kernels.package), kernels.version);
            ((kernels.package.clone(), kernels.cuda), spec)
        })
        .collect()
}

/// Wheels in a directory and directly below it.
fn files(path: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    if !path.is_dir() {
        return Ok(found);
    }
    for entry in walkdir::WalkDir::new(path).max_depth(2).sort_by_file_name() {
        let entry = entry.map_err(|error| Error::file(path, error))?;
        if entry.path().extension().is_some_and(|ending| ending == "whl") {
            found.push(entry.into_path());
        }
    }
    Ok(found)
}
