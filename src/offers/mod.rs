//! What there is to install, and where it lies: a `dist/` directory, a channel, wheels, a prefix, package files.

mod embedded;
mod source;
mod wheels;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use self::source::SUBDIRS;
use crate::bundle::{installed, wheel_prefixes};
use crate::error::{Error, Result};
use crate::fit::Distribution;
use crate::fs::{self, Root};
use crate::pack::{self, Offer};
use crate::package::conda::{exactly, records};
use crate::verify;

pub use source::Source;
pub use wheels::Wheels;

/// A channel's index.
const INDEX: &str = "repodata.json";
/// Where a build leaves the channel.
const CHANNEL: &str = "conda";

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
            None => match prefixes(path)?.as_slice() {
                [] => match wheels::wheels(path)? {
                    none if none.is_empty() => offered.extend(of_packages(path)?),
                    found => offered.extend(of_wheels(found)),
                },
                prefixes => {
                    for prefix in prefixes {
                        present.extend(Distribution::of(&installed(prefix)?, true));
                    }
                }
            },
        }
    }
    let mut found: Vec<Source> = Vec::new();
    for distribution in present {
        let same = |source: &&Source| source.distribution.simulator == distribution.simulator;
        let source = match offered.iter().find(same) {
            Some(offer) => Source {
                distribution: distribution
                    .with_offers(offer.distribution.kernels.iter().cloned())
                    .with_shaders(offer.distribution.shaders.iter().cloned()),
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

/// The prefixes that a directory is or holds: itself, or those of wheels in a Python environment.
fn prefixes(path: &Path) -> Result<Vec<PathBuf>> {
    if path.join("share/simpack").is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let absolute = std::path::absolute(path)?;
    Ok(wheel_prefixes(&Root::machine(), fs::utf8(&absolute)?).into_iter().map(PathBuf::from).collect())
}

/// Whether a directory holds packages with an index: a channel, or what a build left.
pub fn is_channel(path: &Path) -> bool {
    channel(path).is_some()
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
    let wheels = wheels::wheels(path)?;
    let mut found: Vec<Source> = Vec::new();
    for Offer { distribution, simulator, kernels, builds } in offers {
        // The newest release of each stands first.
        if !found.iter().any(|other| other.distribution.simulator == distribution.simulator) {
            let channel = Some(channel.to_owned());
            found.push(Source { distribution, channel, simulator, kernels, builds, wheels: None });
        }
    }
    let mut all = Vec::new();
    for index in &indexes {
        let read = records(index).map_err(|error| Error::file(channel, "its index cannot be read").because(error))?;
        all.extend(read);
    }
    embedded::add(channel, &all, &mut found)?;
    for source in found.iter_mut().filter(|source| source.wheels.is_none()) {
        source.wheels = wheels.iter().find(|wheels| is_of(wheels, &source.distribution)).cloned();
    }
    Ok(found)
}

/// Whether wheels are those of a distribution.
fn is_of(wheels: &Wheels, distribution: &Distribution) -> bool {
    let other = &wheels.distribution;
    (&other.simulator, other.version) == (&distribution.simulator, distribution.version)
}

/// Wheels alone.
fn of_wheels(found: Vec<Wheels>) -> Vec<Source> {
    let source = |wheels: Wheels| Source {
        simulator: wheels.requirement(&[]),
        kernels: wheels::specs(&wheels),
        builds: BTreeMap::new(),
        distribution: wheels.distribution.clone(),
        channel: None,
        wheels: Some(wheels),
    };
    found.into_iter().map(source).collect()
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
    Source { simulator, kernels, builds: BTreeMap::new(), channel, wheels: None, distribution }
}
