//! Which entries of one container serve the asked capabilities.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::arch::{Capability, CudaVersion, KernelTarget, Suffix};
use crate::gpu::{Available, CodeKind, FatbinEntry, choose};
use crate::manifest::Manifests;

/// What becomes of PTX.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PtxRule {
    /// Stays where an asked capability has no machine code.
    #[default]
    Needed,
    /// All of it stays, beside the machine code: later devices compile it.
    Keep,
    /// Goes, even where nothing else is there.
    Drop,
    /// Only PTX stays.
    Only,
}

/// What becomes of LTO-IR.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LtoRule {
    /// Stays where an asked capability has no machine code.
    #[default]
    Needed,
    /// All of it stays.
    Keep,
    /// Goes, even where nothing else is there.
    Drop,
}

/// What is asked of a slice.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct SliceSpec {
    /// Devices that it shall run on.
    pub capabilities: Vec<Capability>,
    /// PTX.
    pub ptx: PtxRule,
    /// LTO-IR.
    pub lto: LtoRule,
    /// Slice containers in ordinary data sections, too.
    pub deep: bool,
}

/// The choice for one container.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Picked {
    /// Per entry, whether it stays.
    pub(super) stays: Vec<bool>,
    /// Asked capabilities that a remaining entry serves.
    pub(super) served: Vec<Capability>,
    /// Asked capabilities that no remaining entry serves, and whether one of the fat file does.
    pub(super) missing: Vec<(Capability, bool)>,
}

/// A driver that knows every release: which code is there decides, not the user's driver.
const ANY_DRIVER: CudaVersion = CudaVersion { major: u32::MAX, minor: 0 };

/// Chooses among the entries of one container.
pub(super) fn pick(entries: &[FatbinEntry<'_>], ask: &SliceSpec, manifests: &Manifests) -> Picked {
    let mut picked = Picked { stays: vec![false; entries.len()], ..Picked::default() };
    let mut has_code = false;
    for (stays, entry) in picked.stays.iter_mut().zip(entries) {
        *stays = match (entry.kind, entry.capability) {
            (CodeKind::Ptx, Some(_)) => ask.ptx == PtxRule::Keep,
            (CodeKind::LtoIr, Some(_)) => ask.lto == LtoRule::Keep,
            (CodeKind::Sass, Some(_)) => false,
            // What is not understood is never dropped.
            _ => true,
        };
        has_code |= matches!(entry.kind, CodeKind::Ptx | CodeKind::Sass | CodeKind::LtoIr);
    }
    for capability in &ask.capabilities {
        let served = serve(entries, *capability, ask, manifests);
        if served.is_empty() && has_code {
            let all = SliceSpec { ptx: PtxRule::Keep, lto: LtoRule::Keep, ..SliceSpec::default() };
            picked.missing.push((*capability, !serve(entries, *capability, &all, manifests).is_empty()));
        }
        picked.served.extend((!served.is_empty()).then_some(*capability));
        served.into_iter().for_each(|index| picked.stays[index] = true);
    }
    picked
}

/// Entries that serve one capability: machine code or PTX by the fallback chain, and LTO-IR where that
/// gives no machine code.
fn serve(entries: &[FatbinEntry<'_>], capability: Capability, ask: &SliceSpec, manifests: &Manifests) -> Vec<usize> {
    let allowed = |kind: CodeKind| match kind {
        CodeKind::Sass => ask.ptx != PtxRule::Only,
        CodeKind::Ptx => ask.ptx != PtxRule::Drop,
        _ => false,
    };
    let chosen = exact(entries, capability, &allowed).or_else(|| by_chain(entries, capability, &allowed, manifests));
    let mut served: Vec<usize> = chosen.map_or_else(Vec::new, |index| alike(entries, index));
    let native = chosen.is_some_and(|index| entries[index].kind == CodeKind::Sass);
    if !native && ask.lto != LtoRule::Drop && ask.ptx != PtxRule::Only {
        let usable = |code: Capability| match code.suffix {
            Suffix::Exact => code.plain() == capability.plain(),
            Suffix::Family => code.plain() == capability.plain() || manifests.capabilities.in_family(code, capability),
            Suffix::Plain => code <= capability.plain(),
        };
        let best = entries
            .iter()
            .enumerate()
            .filter(|(_, entry)| entry.kind == CodeKind::LtoIr && entry.capability.is_some_and(usable))
            .max_by_key(|(_, entry)| entry.capability);
        served.extend(best.map_or_else(Vec::new, |(index, _)| alike(entries, index)));
    }
    served
}

/// A capability with a suffix asks for code with this suffix, if there is some.
fn exact(entries: &[FatbinEntry<'_>], capability: Capability, allowed: &dyn Fn(CodeKind) -> bool) -> Option<usize> {
    if capability.suffix == Suffix::Plain {
        return None;
    }
    let find = |kind: CodeKind| {
        entries.iter().position(|entry| allowed(kind) && entry.kind == kind && entry.capability == Some(capability))
    };
    find(CodeKind::Sass).or_else(|| find(CodeKind::Ptx))
}

fn by_chain(
    entries: &[FatbinEntry<'_>],
    capability: Capability,
    allowed: &dyn Fn(CodeKind) -> bool,
    manifests: &Manifests,
) -> Option<usize> {
    let (indices, available): (Vec<usize>, Vec<Available>) = entries
        .iter()
        .enumerate()
        .filter(|(_, entry)| allowed(entry.kind))
        .filter_map(|(index, entry)| {
            let code = entry.capability?;
            let (target, isa) = match entry.kind {
                CodeKind::Sass => (KernelTarget::Sass(code), None),
                _ => (KernelTarget::Ptx(code), Some((u32::from(entry.version.0), u32::from(entry.version.1)))),
            };
            Some((index, Available { target, cuda: CudaVersion { major: 0, minor: 0 }, ptx_isa: isa }))
        })
        .unzip();
    choose(capability, Some(ANY_DRIVER), &available, manifests).chosen.and_then(|chosen| indices.get(chosen).copied())
}

/// All entries of the same kind and capability: some compilers store one target in several parts.
fn alike(entries: &[FatbinEntry<'_>], index: usize) -> Vec<usize> {
    let (kind, capability) = (entries[index].kind, entries[index].capability);
    let same = |entry: &FatbinEntry<'_>| entry.kind == kind && entry.capability == capability;
    entries.iter().enumerate().filter(|(_, entry)| same(entry)).map(|(index, _)| index).collect()
}
