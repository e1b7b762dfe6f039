//! The verdict: for each device which package it runs, why not the others, and what would be better.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::cover;
use super::distribution::{Distribution, KernelPackage};
use crate::arch::{Capability, CudaVersion, KernelTarget, Version};
use crate::gpu::{Available, Choice, Considered, Place, Verdict, choose};
use crate::machine::{Device, DeviceKind, Driver};
use crate::manifest::Manifests;

/// How one simulator fits a machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Fit {
    /// Simulator's name.
    pub simulator: String,
    /// Its version.
    pub version: Version,
    /// One verdict a device, in the order of the devices.
    pub devices: Vec<DeviceFit>,
    /// Kernel packages with which every device runs the best that there is, sorted.
    pub best: Vec<String>,
    /// Fewest kernel packages with which every device that can runs machine code does so, and every other one that
    /// can runs PTX; among equally few the best ones.
    pub smallest: Vec<String>,
    /// Packages that do not agree with each other, in words.
    pub disagreements: Vec<String>,
    /// Whether there is nothing for machines without a GPU to install.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub needs_gpu: bool,
}

/// The verdict for one device.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct DeviceFit {
    /// The driver's index of the device.
    pub index: u32,
    /// Product name.
    pub name: String,
    /// Compute capability; none for a device that runs no CUDA code.
    pub capability: Option<Capability>,
    /// What it runs of what is installed, or of all when nothing is installed; none is the CPU.
    pub runs: Option<Runs>,
    /// Why it is left to the CPU.
    pub why_cpu: Option<String>,
    /// Every package that was considered: what runs, what could, what cannot, and why.
    pub trace: Vec<Step>,
    /// What would run if it were installed.
    pub better: Option<Advice>,
}

/// A package that a device runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Runs {
    /// Package.
    pub package: String,
    /// Its target.
    pub target: KernelTarget,
    /// Place in the chain.
    pub place: Place,
    /// Why, in a few words.
    pub reason: String,
}

/// A package that is worth installing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Advice {
    /// What would run then.
    pub runs: Runs,
    /// What to say: `sm_89 exists: install volley-kernels-sm_89`.
    pub words: String,
}

/// One package that was considered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Step {
    /// Package.
    pub package: String,
    /// Its target.
    pub target: KernelTarget,
    /// CUDA release that compiled it.
    pub cuda: CudaVersion,
    /// What became of it.
    pub verdict: Verdict,
    /// Place in the chain; none when it cannot run.
    pub place: Option<Place>,
    /// Why, in a few words.
    pub reason: String,
    /// Whether it is installed.
    pub installed: bool,
}

impl Step {
    /// What its package is called in this trace: with its CUDA release, where several releases compiled for its target.
    pub(super) fn named(&self, trace: &[Self], target: &str) -> String {
        let is_one = trace.iter().all(|other| other.target != self.target || other.cuda == self.cuda);
        if is_one { target.to_owned() } else { format!("{target} of CUDA {}", self.cuda) }
    }
}

/// What runs on each of a machine's devices. `driver` is what programs of this machine get, none without one.
pub fn fit(devices: &[Device], driver: Option<&Driver>, distribution: &Distribution, manifests: &Manifests) -> Fit {
    let cuda = driver.map(|driver| driver.cuda);
    let (mut fits, mut wishes) = (Vec::new(), Vec::new());
    // Of a simulator whose device code is shaders alone Vulkan's devices have the verdicts.
    let is_of_shaders = distribution.kernels.is_empty() && !distribution.shaders.is_empty();
    for device in devices.iter().filter(|_| !is_of_shaders) {
        let DeviceKind::Cuda { capability } = device.kind else {
            fits.push(other_vendor(device, !distribution.shaders.is_empty()));
            continue;
        };
        let all = offered(capability, cuda, distribution, manifests, |_| true);
        wishes.push(cover::Wish::of(&all));
        fits.push(cuda_device(device, capability, cuda, distribution, all, manifests));
    }
    let name = |index: usize| distribution.kernels[index].package.clone();
    Fit {
        simulator: distribution.simulator.clone(),
        version: distribution.version,
        devices: fits,
        best: sorted(cover::best(&wishes).into_iter().map(name)),
        smallest: sorted(cover::smallest(&wishes).into_iter().map(name)),
        disagreements: distribution.disagreements(),
        needs_gpu: distribution.needs_gpu,
    }
}

fn sorted(names: impl Iterator<Item = String>) -> Vec<String> {
    let mut names: Vec<String> = names.collect();
    names.sort();
    names.dedup();
    names
}

/// The chain over a part of the kernel packages, with the packages' own objections; indexes are those of
/// `distribution.kernels`.
fn offered(
    capability: Capability,
    driver: Option<CudaVersion>,
    distribution: &Distribution,
    manifests: &Manifests,
    part: impl Fn(&KernelPackage) -> bool,
) -> Choice {
    let mut refused = Vec::new();
    let mut sound: Vec<usize> = Vec::new();
    for (index, kernels) in distribution.kernels.iter().enumerate().filter(|(_, kernels)| part(kernels)) {
        match distribution.objection(kernels) {
            None => sound.push(index),
            Some(reason) => refused.push(Considered {
                index,
                target: kernels.target,
                verdict: Verdict::Refused,
                place: None,
                reason,
            }),
        }
    }
    // Of the same code the chain takes the first: what is installed.
    sound.sort_by_key(|&index| !distribution.kernels[index].installed);
    let available: Vec<Available> = sound.iter().map(|&index| distribution.kernels[index].available()).collect();
    let mut choice = choose(capability, driver, &available, manifests);
    for considered in &mut choice.trace {
        considered.index = sound[considered.index];
    }
    choice.chosen = choice.chosen.map(|index| sound[index]);
    choice.trace.append(&mut refused);
    choice
}

fn cuda_device(
    device: &Device,
    capability: Capability,
    driver: Option<CudaVersion>,
    distribution: &Distribution,
    all: Choice,
    manifests: &Manifests,
) -> DeviceFit {
    let is_installed = distribution.is_installed();
    let now = match is_installed {
        true => offered(capability, driver, distribution, manifests, |kernels| kernels.installed),
        false => all.clone(),
    };
    let found = |choice: &Choice| {
        let considered = choice.trace.iter().find(|considered| Some(considered.index) == choice.chosen)?;
        Some(Runs {
            package: distribution.kernels[considered.index].package.clone(),
            target: considered.target,
            place: considered.place?,
            reason: considered.reason.clone(),
        })
    };
    let (runs, possible) = (found(&now), found(&all));
    // The same code by a newer compiler is nothing that a device lacks.
    let lacks = |possible: &Runs| runs.as_ref().is_none_or(|now| now.package != possible.package);
    let release = |package: &str| {
        let mut named = distribution.kernels.iter().filter(|kernels| kernels.package == package);
        let chosen = all.chosen.map(|index| distribution.kernels[index].cuda);
        chosen.filter(|cuda| named.any(|kernels| kernels.cuda != *cuda))
    };
    let better = possible.filter(lacks).map(|runs| {
        let release = release(&runs.package).map_or(String::new(), |cuda| format!(" of CUDA {cuda}"));
        Advice { words: format!("{} exists: install {}{release}", runs.target, runs.package), runs }
    });
    let step = |considered: &Considered, verdict: Verdict| {
        let kernels = &distribution.kernels[considered.index];
        Step {
            package: kernels.package.clone(),
            target: considered.target,
            cuda: kernels.cuda,
            verdict,
            place: considered.place,
            reason: considered.reason.clone(),
            installed: kernels.installed,
        }
    };
    // The order is that of all packages; taken is what runs now.
    let trace = all.trace.iter().map(|considered| match considered.verdict {
        Verdict::Refused => step(considered, Verdict::Refused),
        _ if Some(considered.index) == now.chosen => step(considered, Verdict::Taken),
        _ => step(considered, Verdict::Possible),
    });
    let trace: Vec<Step> = trace.collect();
    let why_cpu = runs.is_none().then(|| {
        let part = |kernels: &KernelPackage| kernels.installed || !is_installed;
        let newest = Some(CudaVersion::new(u32::MAX, 0));
        let with_any_driver = offered(capability, newest, distribution, manifests, part).chosen;
        let limited = all.trace.iter().find(|considered| Some(considered.index) == with_any_driver);
        match (driver, limited) {
            (None, _) => "no CUDA driver".to_owned(),
            // Of all reasons the one that a newer driver resolves.
            (Some(_), Some(limited)) => format!("{}: {}", limited.target, limited.reason),
            (Some(_), None) => why_cpu(&trace, is_installed),
        }
    });
    DeviceFit {
        index: device.index,
        name: device.name.clone(),
        capability: Some(capability),
        runs,
        why_cpu,
        trace,
        better,
    }
}

/// `has_shaders`: what they do on it is said of Vulkan's devices.
fn other_vendor(device: &Device, has_shaders: bool) -> DeviceFit {
    let why = match has_shaders {
        true => "not an NVIDIA GPU: no kernels of CUDA are for it, but shaders by Vulkan",
        false => "not an NVIDIA GPU: no kernels are built for it",
    };
    DeviceFit {
        index: device.index,
        name: device.name.clone(),
        capability: None,
        runs: None,
        why_cpu: Some(why.to_owned()),
        trace: Vec::new(),
        better: None,
    }
}

/// In a few words why nothing that is there runs: each reason once, with what it is about.
fn why_cpu(trace: &[Step], is_installed: bool) -> String {
    let there: Vec<&Step> = trace.iter().filter(|step| step.installed || !is_installed).collect();
    if there.is_empty() {
        return if is_installed { "no kernel package is installed" } else { "there are no kernel packages" }.to_owned();
    }
    let mut reasons: Vec<(&str, Vec<String>)> = Vec::new();
    for step in there {
        let name = step.named(trace, &step.target.to_string());
        match reasons.iter_mut().find(|(reason, _)| *reason == step.reason) {
            Some((_, targets)) => targets.push(name),
            None => reasons.push((&step.reason, vec![name])),
        }
    }
    let words = reasons.iter().map(|(reason, targets)| format!("{}: {reason}", targets.join(", ")));
    words.collect::<Vec<_>>().join("; ")
}
