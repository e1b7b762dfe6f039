//! The selector: one build per kernel target, by which a package manager picks the right kernels.
//!
//! A solver takes, of one package's builds that fit, the one with the highest build number. So each
//! build states as conditions where its kernels run, the numbers state which is better, and no
//! build needs to know which others exist: one more capability changes no other package.
//!
//! What a solver knows are virtual packages: `__cuda` is the CUDA version of the driver, and
//! `__cuda_arch` (CEP 46) the lowest compute capability of the machine's GPUs. Clients that do not
//! know `__cuda_arch` leave it out. SASS therefore *depends* on it: nobody gets machine code by
//! guess. The lowest PTX only *constrains* it: it fits where nothing is known, and not where the
//! GPU is known to be older.

use crate::target::{Capability, CudaVersion, KernelTarget, Suffix};

/// A device that is known to exist, as far as compatibility goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Device {
    /// Its capability, without suffix.
    pub capability: Capability,
    /// A system on a chip, which shares no machine code with desktop devices of its major.
    pub tegra: bool,
    /// Capabilities that run the `f` code made for this one.
    pub family: Vec<Capability>,
}

/// A target's condition on `__cuda_arch`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ArchCondition {
    /// None: the CPU.
    Any,
    /// Where a capability is known it must match: the text of a version range.
    IfKnown(String),
    /// It must be known and match.
    Known(String),
}

/// Where code for a target runs, as a version range over `__cuda_arch`. `lowest_ptx` is the PTX
/// that serves machines whose capability nobody told. The ranges are CUDA's compatibility rules:
/// SASS on the same major from its minor on, never between desktop and Tegra; `a` code on exactly
/// its capability; `f` code in its family; PTX on everything from its capability on.
pub fn arch_condition(target: KernelTarget, lowest_ptx: Option<Capability>, devices: &[Device]) -> ArchCondition {
    let (capability, ptx) = match target {
        KernelTarget::Sass(capability) => (capability, false),
        KernelTarget::Ptx(capability) => (capability, true),
        KernelTarget::Cpu | KernelTarget::Spirv(..) => return ArchCondition::Any,
    };
    let plain = capability.plain();
    match capability.suffix {
        Suffix::Exact => ArchCondition::Known(format!("=={plain}")),
        Suffix::Family => ArchCondition::Known(one_of(family(plain, devices))),
        Suffix::Plain if ptx && Some(capability) == lowest_ptx => ArchCondition::IfKnown(format!(">={plain}")),
        Suffix::Plain if ptx => ArchCondition::Known(format!(">={plain}")),
        Suffix::Plain => ArchCondition::Known(same_major(plain, devices)),
    }
}

/// Same major, equal or higher minor, of the same kind. A capability that nobody knows yet counts
/// as desktop: all new system-on-a-chip capabilities of a desktop major were announced as such.
fn same_major(from: Capability, devices: &[Device]) -> String {
    let above = || devices.iter().filter(|device| in_major_from(device.capability, from));
    if devices.iter().any(|device| device.capability == from && device.tegra) {
        return one_of(above().filter(|device| device.tegra).map(|device| device.capability).collect());
    }
    let mut range = format!(">={from},<{}", u32::from(from.major) + 1);
    let mut foreign: Vec<_> = above().filter(|device| device.tegra).map(|device| device.capability).collect();
    foreign.sort();
    foreign.dedup();
    for capability in foreign {
        range.push_str(&format!(",!={capability}"));
    }
    range
}

fn in_major_from(capability: Capability, from: Capability) -> bool {
    capability.major == from.major && capability.minor >= from.minor
}

fn family(of: Capability, devices: &[Device]) -> Vec<Capability> {
    let known = devices.iter().find(|device| device.capability == of);
    known.map(|device| device.family.clone()).filter(|family| !family.is_empty()).unwrap_or_else(|| vec![of])
}

fn one_of(mut capabilities: Vec<Capability>) -> String {
    capabilities.sort();
    capabilities.dedup();
    let texts: Vec<_> = capabilities.iter().map(|capability| format!("=={capability}")).collect();
    texts.join("|")
}

/// How good a build is, as its build number. Digits, from the left: the recipe's own build number
/// (a rebuild beats everything older); the class (0 CPU, 1 PTX, 2 SASS of a family, 3 plain SASS,
/// 4 SASS of exactly one capability); three of the capability; three of the CUDA release, so that
/// of two releases' code for the same device the newer that the driver can load is taken.
pub(super) fn build_number(target: KernelTarget, cuda: CudaVersion, recipe: u64) -> u64 {
    let class = match target {
        KernelTarget::Cpu | KernelTarget::Spirv(..) => 0,
        KernelTarget::Ptx(_) => 1,
        KernelTarget::Sass(capability) => match capability.suffix {
            Suffix::Family => 2,
            Suffix::Plain => 3,
            Suffix::Exact => 4,
        },
    };
    let capability = target.capability().map_or(0, |capability| u64::from(capability.number().min(999)));
    let release = if class == 0 { 0 } else { u64::from((cuda.major * 10 + cuda.minor.min(9)).min(999)) };
    recipe.saturating_mul(10_000_000).saturating_add(class * 1_000_000 + capability * 1000 + release)
}

/// Virtual packages of a build: dependencies and constraints. `__cuda` starts at the release that
/// compiled the kernels: below it a driver of the same major would still load the SASS, but not
/// compile the PTX, and one rule for both is one that people can remember.
pub(super) fn conditions(
    target: KernelTarget,
    cuda: CudaVersion,
    lowest_ptx: Option<Capability>,
    devices: &[Device],
) -> (Vec<String>, Vec<String>) {
    let driver = format!("__cuda >={cuda}");
    match arch_condition(target, lowest_ptx, devices) {
        ArchCondition::Any => (Vec::new(), Vec::new()),
        ArchCondition::IfKnown(range) => (vec![driver], vec![format!("__cuda_arch {range}")]),
        ArchCondition::Known(range) => (vec![driver, format!("__cuda_arch {range}")], Vec::new()),
    }
}
