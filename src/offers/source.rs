//! A simulator that can be installed, by the names of each format.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use super::wheels::Wheels;
use crate::arch::CudaVersion;
use crate::error::{Error, Result};
use crate::fit::Distribution;
use crate::package::conda::spelled;
use crate::package::manifest;
use crate::recipe::HostVariant;

/// Directories of a channel.
pub(super) const SUBDIRS: [&str; 2] = ["linux-64", "noarch"];

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
    /// Build strings of the packages that may be there in host variants, where they came from a channel: by these
    /// [`Source::variants`] finds them.
    pub builds: BTreeMap<String, BTreeSet<String>>,
    /// Its wheels, where there are any.
    pub wheels: Option<Wheels>,
}

impl Source {
    /// What there is to install, by the names of each format.
    pub fn distributions(self) -> Vec<Distribution> {
        let wheels = self.wheels.map(|wheels| wheels.distribution);
        let is_other = |wheels: &Distribution| *wheels != self.distribution;
        wheels.filter(is_other).into_iter().chain([self.distribution.clone()]).collect()
    }

    /// The same with what shaders need of a device: an index does not say it, so their packages are opened.
    ///
    /// # Errors
    /// A package of the channel is damaged.
    pub fn with_needs(mut self) -> Result<Self> {
        let Some(noarch) = self.channel.as_ref().map(|channel| channel.join("noarch")) else { return Ok(self) };
        for shaders in self.distribution.shaders.iter_mut().filter(|it| !it.installed && it.needs.is_empty()) {
            let start = format!("{}-{}-", shaders.package, spelled(shaders.version));
            for entry in fs_err::read_dir(&noarch)? {
                let entry = entry?;
                let name = entry.file_name();
                let is_its = name.to_str().is_some_and(|name| name.starts_with(&start) && name.ends_with(".conda"));
                if is_its
                    && let Some(found) = manifest(&entry.path())?
                    && found.kernel_abi == shaders.kernel_abi
                {
                    shaders.needs = found.needs;
                }
            }
        }
        Ok(self)
    }

    /// The host variants of its packages, by package: those say it themselves, so they are opened.
    ///
    /// # Errors
    /// A package of the channel is not there or damaged.
    pub fn variants(&self) -> Result<BTreeMap<String, BTreeSet<HostVariant>>> {
        let mut found: BTreeMap<String, BTreeSet<HostVariant>> = BTreeMap::new();
        let Some(channel) = &self.channel else { return Ok(found) };
        for (package, builds) in &self.builds {
            for build in builds {
                let name = format!("{package}-{}-{build}.conda", spelled(self.distribution.version));
                let mut places = SUBDIRS.iter().map(|subdir| channel.join(subdir).join(&name));
                let file = places.find(|place| place.is_file()).ok_or_else(|| {
                    Error::file(channel.join(&name), "is in the channel's index and not in the channel")
                })?;
                let host = manifest(&file)?.and_then(|manifest| manifest.host);
                found.entry(package.clone()).or_default().extend(host);
            }
        }
        Ok(found)
    }
}
