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

use crate::manifest::{Capabilities, Manifests};
use crate::target::{Capability, CudaVersion, KernelTarget, Suffix};

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
/// that serves machines whose capability nobody told. The ranges are CUDA's compatibility rules,
/// those of [`choose`](crate::gpu::choose): SASS on the same major from its minor on, never between
/// desktop and Tegra; `a` code on exactly its capability; `f` code in its family; PTX on everything
/// from its capability on.
pub fn arch_condition(target: KernelTarget, lowest_ptx: Option<Capability>, known: &Capabilities) -> ArchCondition {
    let (capability, ptx) = match target {
        KernelTarget::Sass(capability) => (capability, false),
        KernelTarget::Ptx(capability) => (capability, true),
        KernelTarget::Cpu | KernelTarget::Spirv(..) => return ArchCondition::Any,
    };
    let plain = capability.plain();
    match capability.suffix {
        Suffix::Exact => ArchCondition::Known(format!("=={plain}")),
        Suffix::Family => {
            let family = known.get(plain).map(|entry| entry.family.clone()).unwrap_or_default();
            ArchCondition::Known(one_of(if family.is_empty() { vec![plain] } else { family }))
        }
        Suffix::Plain if ptx && Some(capability) == lowest_ptx => ArchCondition::IfKnown(format!(">={plain}")),
        Suffix::Plain if ptx => ArchCondition::Known(format!(">={plain}")),
        Suffix::Plain => ArchCondition::Known(same_major(plain, known)),
    }
}

/// Same major, equal or higher minor, of the same kind. A capability that nobody knows yet counts
/// as desktop, as it does in the chain.
fn same_major(from: Capability, known: &Capabilities) -> String {
    let tegra: Vec<Capability> = known
        .iter()
        .filter(|entry| entry.tegra)
        .map(|entry| entry.capability())
        .filter(|capability| capability.major == from.major && capability.minor >= from.minor)
        .collect();
    if known.is_tegra(from) {
        return one_of(tegra);
    }
    let mut range = format!(">={from},<{}", u32::from(from.major) + 1);
    for capability in tegra {
        range.push_str(&format!(",!={capability}"));
    }
    range
}

fn one_of(mut capabilities: Vec<Capability>) -> String {
    capabilities.sort();
    let texts: Vec<_> = capabilities.iter().map(|capability| format!("=={capability}")).collect();
    texts.join("|")
}

/// How good a build is, as its build number: the order of the fallback chain. Digits, from the left:
/// the recipe's own build number (a rebuild beats everything older); the class (0 CPU, 1 PTX,
/// 2 SASS of a family, 3 plain SASS, 4 SASS of exactly one capability); four of the capability, the
/// last one for its suffix; three of the CUDA release, so that of two releases' code for the same
/// device the newer that the driver can load is taken. `sm_90` by CUDA 13.0 is 3 0900 130.
pub(super) fn build_number(target: KernelTarget, cuda: CudaVersion, recipe: u64) -> u64 {
    let class = match target {
        KernelTarget::Cpu | KernelTarget::Spirv(..) => return recipe.saturating_mul(100_000_000),
        KernelTarget::Ptx(_) => 1,
        KernelTarget::Sass(Capability { suffix: Suffix::Family, .. }) => 2,
        KernelTarget::Sass(Capability { suffix: Suffix::Plain, .. }) => 3,
        KernelTarget::Sass(Capability { suffix: Suffix::Exact, .. }) => 4,
    };
    let capability = target
        .capability()
        .map_or(0, |capability| u64::from(capability.number().min(999)) * 10 + capability.suffix as u64);
    let release = u64::from((cuda.major * 10 + cuda.minor.min(9)).min(999));
    recipe.saturating_mul(100_000_000).saturating_add(class * 10_000_000 + capability * 1000 + release)
}

/// Virtual packages of a build: dependencies and constraints. A driver loads SASS of every release
/// of its major, so SASS asks for the major's first; PTX must be understood by the driver's own
/// compiler, so PTX asks for the release that made it.
pub(super) fn conditions(
    target: KernelTarget,
    cuda: CudaVersion,
    lowest_ptx: Option<Capability>,
    manifests: &Manifests,
) -> (Vec<String>, Vec<String>) {
    let lowest = match target {
        KernelTarget::Sass(_) => manifests.cuda.major(cuda.major).map_or(cuda, |major| major.min_driver_cuda),
        _ => cuda,
    };
    let driver = format!("__cuda >={lowest}");
    match arch_condition(target, lowest_ptx, &manifests.capabilities) {
        ArchCondition::Any => (Vec::new(), Vec::new()),
        ArchCondition::IfKnown(range) => (vec![driver], vec![format!("__cuda_arch {range}")]),
        ArchCondition::Known(range) => (vec![driver, format!("__cuda_arch {range}")], Vec::new()),
    }
}
