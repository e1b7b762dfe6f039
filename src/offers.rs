//! What there is to install, and where it lies: a `dist/` directory, a channel, a prefix, package files.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::arch::CudaVersion;
use crate::bundle::installed;
use crate::error::{Error, Result};
use crate::fit::Distribution;
use crate::fs;
use crate::pack::{self, Offer};
use crate::package::conda::exactly;
use crate::verify;

/// Directories of a channel.
const SUBDIRS: [&str; 2] = ["linux-64", "noarch"];
/// A channel's index.
const INDEX: &str = "repodata.json";
/// Where a build leaves the channel.
const CHANNEL: &str = "conda";

/// A simulator and how package managers name its parts.
#[derive(Debug, Clone)]
pub struct Source {
    /// Its packages.
    pub distribution: Distribution,
    /// The channel that they were found in.
    pub channel: Option<PathBuf>,
    /// Match spec that brings the simulator.
    pub simulator: String,
    /// Match specs of kernel packages, by package and CUDA release.
    pub kernels: BTreeMap<(String, CudaVersion), String>,
    /// Wheels beside the channel.
    pub wheels: Vec<PathBuf>,
}

/// The simulators that some paths hold, of each the newest release. What is installed in a prefix and what a channel
/// offers for it become one.
///
/// # Errors
/// A path does not exist or holds no simulator.
pub fn sources(paths: &[PathBuf]) -> Result<Vec<Source>> {
    let (mut present, mut offered) = (Vec::new(), Vec::new());
    for path in paths {
        match channel(path) {
            Some(channel) => offered.extend(of_channel(path, &channel)?),
            None if path.join("share/simpack").is_dir() => present.extend(Distribution::of(&installed(path)?, true)),
            None => offered.extend(of_packages(path)?),
        }
    }
    let mut found: Vec<Source> = Vec::new();
    for distribution in present {
        let same = |source: &&Source| source.distribution.simulator == distribution.simulator;
        let source = match offered.iter().find(same) {
            Some(offer) => Source {
                distribution: distribution.with_offers(offer.distribution.kernels.iter().cloned()),
                ..offer.clone()
            },
            None => plain(distribution, None),
        };
        found.push(source);
    }
    for source in offered {
        if !found.iter().any(|other| other.distribution.simulator == source.distribution.simulator) {
            found.push(source);
        }
    }
    match found.is_empty() {
        false => Ok(found),
        true => Err(Error::usage("there is no simulator with kernel packages here")
            .hint("give a dist/ directory, a channel, an installed prefix, or kernel packages")),
    }
}

/// The channel in a directory: itself, or what a build left in it.
fn channel(path: &Path) -> Option<PathBuf> {
    let is_channel = |path: &Path| SUBDIRS.iter().any(|subdir| path.join(subdir).join(INDEX).is_file());
    [path.to_owned(), path.join(CHANNEL)].into_iter().find(|path| is_channel(path))
}

fn of_channel(path: &Path, channel: &Path) -> Result<Vec<Source>> {
    let mut indexes = Vec::new();
    for subdir in SUBDIRS {
        let file = channel.join(subdir).join(INDEX);
        if file.is_file() {
            indexes.push(fs::read(&file)?);
        }
    }
    let offers = pack::offers(&indexes).map_err(|error| error.hint(format!("it lies in {}", channel.display())))?;
    let wheels = wheels(path)?;
    let mut found: Vec<Source> = Vec::new();
    for Offer { distribution, simulator, kernels } in offers {
        // The newest release of each stands first.
        if !found.iter().any(|other| other.distribution.simulator == distribution.simulator) {
            let (channel, wheels) = (Some(channel.to_owned()), wheels.clone());
            found.push(Source { distribution, channel, simulator, kernels, wheels });
        }
    }
    Ok(found)
}

/// Wheels in a directory and directly below it.
fn wheels(path: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in walkdir::WalkDir::new(path).max_depth(2).sort_by_file_name() {
        let entry = entry.map_err(|error| Error::file(path, error))?;
        if entry.path().extension().is_some_and(|ending| ending == "whl") {
            found.push(entry.into_path());
        }
    }
    Ok(found)
}

fn of_packages(path: &Path) -> Result<Vec<Source>> {
    let opened = verify::open(&[path])?.complete()?;
    let distributions = Distribution::of(opened.bundles.iter().map(|bundle| &bundle.manifest), false);
    Ok(distributions.into_iter().map(|distribution| plain(distribution, None)).collect())
}

/// Specs as they follow from names and versions alone.
fn plain(distribution: Distribution, channel: Option<PathBuf>) -> Source {
    let kernels = distribution.kernels.iter().map(|kernels| {
        let spec = exactly(&kernels.package, kernels.version);
        ((kernels.package.clone(), kernels.cuda), spec)
    });
    let kernels = kernels.collect();
    let core = distribution.core.as_ref().map_or(&distribution.simulator, |core| &core.package);
    let simulator = exactly(core, distribution.version);
    Source { simulator, kernels, channel, wheels: Vec::new(), distribution }
}
