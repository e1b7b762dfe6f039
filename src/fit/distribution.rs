//! A simulator's packages as values: what is installed, and what there is to install.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::arch::{CudaVersion, KernelAbiTag, KernelTarget, Version, VersionPolicy};
use crate::bundle::BundleManifest;
use crate::gpu::{Available, ShaderNeeds};
use crate::manifest::PtxIsa;
use crate::recipe::ComponentKind;

/// One simulator's packages.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Distribution {
    /// Simulator's name.
    pub simulator: String,
    /// Its version: core's where there is a core, else the highest of the others.
    pub version: Version,
    /// The host part.
    pub core: Option<Part>,
    /// Runtime compilation.
    pub rtc: Option<Part>,
    /// Kernel packages, sorted by target and CUDA release.
    pub kernels: Vec<KernelPackage>,
    /// Packages of shaders, sorted by environment.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shaders: Vec<ShaderPackage>,
    /// Whether its packages are wheels, which have names of their own.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub as_wheels: bool,
    /// Whether there is nothing for machines without a GPU to install.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub needs_gpu: bool,
}

/// A package without device code.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Part {
    /// Package name.
    pub package: String,
    /// Version.
    pub version: Version,
    /// Tag of the kernel table that it knows.
    pub kernel_abi: Option<KernelAbiTag>,
    /// Whether it is installed, or only there to be installed.
    pub installed: bool,
}

/// A package of device code for one target.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct KernelPackage {
    /// Package name: `volley-kernels-sm_90`.
    pub package: String,
    /// Version.
    pub version: Version,
    /// The package manager's build string, where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub build: Option<String>,
    /// What it was compiled for.
    pub target: KernelTarget,
    /// CUDA release that compiled it.
    pub cuda: CudaVersion,
    /// PTX ISA version of its PTX, where the files were read; else the release's own counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ptx_isa: Option<PtxIsa>,
    /// Tag of the kernel table that it was compiled for.
    pub kernel_abi: Option<KernelAbiTag>,
    /// Whether it is installed, or only there to be installed.
    pub installed: bool,
    /// Why it cannot be used although it is there: a file is missing or damaged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// A package of shaders for one environment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct ShaderPackage {
    /// Package name: `volley-shaders-vulkan1.2`.
    pub package: String,
    /// Version.
    pub version: Version,
    /// What it was compiled for.
    pub target: KernelTarget,
    /// Tag of the kernel table that it was compiled for.
    pub kernel_abi: Option<KernelAbiTag>,
    /// Whether it is installed, or only there to be installed.
    pub installed: bool,
    /// What its variants need of a device.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub needs: BTreeMap<String, ShaderNeeds>,
    /// Whether they are in core, and it is core's package.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub embedded: bool,
    /// Why it cannot be used although it is there: a file is missing or damaged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

impl KernelPackage {
    /// The device code as the chain sees it.
    pub fn available(&self) -> Available {
        Available { target: self.target, cuda: self.cuda, ptx_isa: self.ptx_isa }
    }
}

impl Distribution {
    /// The simulators among manifests, sorted by name: those of an installed prefix are `installed`.
    pub fn of<'a>(manifests: impl IntoIterator<Item = &'a BundleManifest>, installed: bool) -> Vec<Self> {
        let mut found: BTreeMap<&str, Self> = BTreeMap::new();
        for manifest in manifests {
            let own = found
                .entry(&manifest.simulator)
                .or_insert_with(|| Self { version: manifest.version, ..Self::empty(&manifest.simulator) });
            own.add(manifest, installed);
        }
        for own in found.values_mut() {
            own.settle();
        }
        // What ties kernels to a core is no simulator by itself.
        let is_any =
            |own: &Self| own.core.is_some() || own.rtc.is_some() || !own.kernels.is_empty() || !own.shaders.is_empty();
        found.into_values().filter(is_any).collect()
    }

    /// A simulator without any package.
    pub fn empty(simulator: &str) -> Self {
        Self {
            simulator: simulator.to_owned(),
            version: Version::new(0, 0, 0),
            core: None,
            rtc: None,
            kernels: Vec::new(),
            shaders: Vec::new(),
            as_wheels: false,
            needs_gpu: false,
        }
    }

    fn add(&mut self, manifest: &BundleManifest, installed: bool) {
        let part = || Part {
            package: manifest.package.clone(),
            version: manifest.version,
            kernel_abi: manifest.kernel_abi.clone(),
            installed,
        };
        self.as_wheels |= manifest.as_wheel;
        match (manifest.component, manifest.target, manifest.cuda) {
            (ComponentKind::Core, ..) => {
                self.core = Some(part());
                self.shaders.extend(manifest.embedded.iter().map(|shaders| ShaderPackage {
                    package: manifest.package.clone(),
                    version: manifest.version,
                    target: shaders.target,
                    kernel_abi: manifest.kernel_abi.clone(),
                    needs: shaders.needs.clone(),
                    embedded: true,
                    installed,
                    problem: None,
                }));
            }
            (ComponentKind::Rtc, ..) => self.rtc = Some(part()),
            (ComponentKind::Kernels, Some(target), None) if target.is_shader() && !manifest.artifacts.is_empty() => {
                self.shaders.push(ShaderPackage {
                    package: manifest.package.clone(),
                    version: manifest.version,
                    target,
                    kernel_abi: manifest.kernel_abi.clone(),
                    needs: manifest.needs.clone(),
                    embedded: false,
                    installed,
                    problem: None,
                });
            }
            // A selector has a target, but no files: the package that it brings has them.
            (ComponentKind::Kernels, Some(target), Some(cuda)) if !manifest.artifacts.is_empty() => {
                self.kernels.push(KernelPackage {
                    package: manifest.package.clone(),
                    version: manifest.version,
                    build: None,
                    target,
                    cuda,
                    ptx_isa: None,
                    kernel_abi: manifest.kernel_abi.clone(),
                    installed,
                    problem: None,
                });
            }
            _ => {}
        }
    }

    /// Sorts, and sets the version.
    pub fn settle(&mut self) {
        let key = |kernels: &KernelPackage| (kernels.target, kernels.cuda, kernels.package.clone());
        self.kernels.sort_by_key(key);
        self.shaders.sort_by_key(|shaders| (shaders.target, shaders.package.clone()));
        let shaders = self.shaders.iter().map(|shaders| shaders.version);
        let highest = || self.kernels.iter().map(|kernels| kernels.version).chain(shaders.clone()).max();
        let version = self.core.as_ref().or(self.rtc.as_ref()).map(|part| part.version).or_else(highest);
        self.version = version.unwrap_or(self.version);
    }

    /// The same with kernel packages of a channel that can be installed beside what is there.
    #[must_use]
    pub fn with_offers(mut self, offered: impl IntoIterator<Item = KernelPackage>) -> Self {
        for offer in offered {
            let same = |own: &&mut KernelPackage| {
                (&own.package, own.cuda, &own.kernel_abi) == (&offer.package, offer.cuda, &offer.kernel_abi)
            };
            match self.kernels.iter_mut().find(same) {
                Some(own) => own.build = own.build.take().or(offer.build),
                None => self.kernels.push(KernelPackage { installed: false, ..offer }),
            }
        }
        self.settle();
        self
    }

    /// The same with shaders that can be installed beside what is there.
    #[must_use]
    pub fn with_shaders(mut self, offered: impl IntoIterator<Item = ShaderPackage>) -> Self {
        for offer in offered {
            let is_same = |own: &ShaderPackage| {
                (&own.package, own.target, &own.kernel_abi) == (&offer.package, offer.target, &offer.kernel_abi)
            };
            // What core embeds comes with core, and that is there.
            let is_there = offer.embedded && self.core.is_some();
            if !is_there && !self.shaders.iter().any(is_same) {
                self.shaders.push(ShaderPackage { installed: false, ..offer });
            }
        }
        self.settle();
        self
    }

    /// The same with the shaders that its core embeds, as core itself says.
    #[must_use]
    pub fn with_embedded(mut self, core: &Self) -> Self {
        self.shaders.extend(core.shaders.iter().filter(|shaders| shaders.embedded).cloned());
        self.settle();
        self
    }

    /// Notes that a kernel package cannot be used, and why: files of it are missing or damaged.
    pub fn spoil(&mut self, package: &str, problem: &str) {
        for kernels in self.kernels.iter_mut().filter(|kernels| kernels.package == package) {
            kernels.problem = Some(problem.to_owned());
        }
        for shaders in self.shaders.iter_mut().filter(|shaders| shaders.package == package) {
            shaders.problem = Some(problem.to_owned());
        }
    }

    /// Whether any part of it is installed; without, all of it is there to be installed.
    pub fn is_installed(&self) -> bool {
        let parts = self.core.iter().chain(&self.rtc).any(|part| part.installed);
        parts
            || self.kernels.iter().any(|kernels| kernels.installed)
            || self.shaders.iter().any(|shaders| shaders.installed)
    }

    /// Why a kernel package is not used, whatever the device.
    pub fn objection(&self, kernels: &KernelPackage) -> Option<String> {
        kernels.problem.clone().or_else(|| self.is_of_another(kernels.kernel_abi.as_ref()))
    }

    /// Why shaders are not used, whatever the device.
    pub fn refuses(&self, shaders: &ShaderPackage) -> Option<String> {
        shaders.problem.clone().or_else(|| self.is_of_another(shaders.kernel_abi.as_ref()))
    }

    fn is_of_another(&self, kernel_abi: Option<&KernelAbiTag>) -> Option<String> {
        let core = self.core.as_ref()?.kernel_abi.as_ref()?;
        match kernel_abi {
            Some(tag) if tag == core => None,
            Some(tag) => Some(format!("made for kernel ABI {tag}, core has {core}")),
            None => Some(format!("says no kernel ABI, core has {core}")),
        }
    }

    /// Packages that do not agree with each other, in words.
    pub fn disagreements(&self) -> Vec<String> {
        let mut found = Vec::new();
        if let (Some(core), Some(rtc)) = (&self.core, &self.rtc) {
            if let (Some(own), Some(other)) = (&core.kernel_abi, &rtc.kernel_abi)
                && own != other
            {
                found.push(format!("{} has kernel ABI {other}, {} has {own}", rtc.package, core.package));
            }
            if !VersionPolicy::MajorMinor.agree(core.version, rtc.version) {
                let (core, rtc) = (core, rtc);
                found.push(format!("{} is {}, {} is {}", rtc.package, rtc.version, core.package, core.version));
            }
        }
        for kernels in self.kernels.iter().filter(|kernels| kernels.installed) {
            found.extend(self.objection(kernels).map(|why| format!("{}: {why}", kernels.package)));
        }
        for shaders in self.shaders.iter().filter(|shaders| shaders.installed) {
            found.extend(self.refuses(shaders).map(|why| format!("{}: {why}", shaders.package)));
        }
        found
    }
}
