//! Binaries that simpack did not make, as values: what device code each file holds and what it compiles with.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::arch::{Capability, CudaVersion, KernelTarget};
use crate::gpu::{Available, CodeImage, CodeKind, Place, choose, loadable};
use crate::manifest::{Manifests, PtxIsa};

/// Device code that stands or falls together: a library, an archive, the loose files of a package.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Unit {
    /// File, or package of loose files.
    pub name: String,
    /// What its code was compiled for; the release is what the file itself tells.
    pub code: Vec<Available>,
    /// How the release is known: `ptxas`, `PTX ISA`, `libcudart.so.13`, `sm_90`.
    pub release_from: Option<String>,
    /// Device code of other kinds: LTO-IR, HIP, SPIR-V.
    pub other: Vec<String>,
    /// Compiles at run time.
    pub compiles: Option<Compiles>,
    /// Linked with the driver's own library: it does not load without a driver.
    pub needs_driver: bool,
    /// Libraries of the vendor that it needs and that are not in its environment, each with the project that brings it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub absent: BTreeMap<String, String>,
    /// Holds host code for x86-64, beside which there is no system on a chip; absent where it does not, and in the first
    /// files of this form.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_x86: bool,
}

/// A compiler that is called at run time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Compiles {
    /// The library: `libnvrtc.so.13`.
    pub library: String,
    /// Its CUDA major.
    pub major: u32,
    /// Its release, where it is installed beside what calls it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub release: Option<CudaVersion>,
}

impl Unit {
    /// A unit of device code; `needed` are the libraries that the file is linked with.
    ///
    /// The release that compiled machine code comes, in this order, from what the compiler wrote into it, from the
    /// ISA of PTX beside it (one compiler wrote both), from the major of the runtime library that is needed, or is
    /// the first release that knows the capability.
    pub fn new(name: String, images: &[&CodeImage], needed: &[String], manifests: &Manifests) -> Self {
        let loadable = loadable(images, manifests);
        let counted = || loadable.iter();
        let compiler = counted().flat_map(|image| &image.compilers).filter_map(|text| release_in(text)).max();
        let isa = counted().filter_map(|image| image.ptx_isa()).max();
        let isa_release = isa.and_then(|isa| manifests.cuda.cuda_for_ptx(isa));
        let runtime = needed.iter().find_map(|name| Some((name, major_of(name, "libcudart")?)));
        let (release, release_from) = match (compiler, isa_release, runtime) {
            (Some(release), ..) => (Some(release), Some("its compiler's note".to_owned())),
            (_, Some(release), _) => (Some(release), Some("the PTX beside it".to_owned())),
            (_, _, Some((name, major))) => (Some(CudaVersion::new(major, 0)), Some(name.clone())),
            _ => (None, None),
        };
        let mut code: BTreeSet<(KernelTarget, CudaVersion, Option<PtxIsa>)> = BTreeSet::new();
        for image in counted() {
            let Some(target) = image.target().filter(|target| target.capability().is_some()) else { continue };
            let first = target.capability().and_then(|capability| manifests.capabilities.get(capability));
            let first = first.map_or(CudaVersion::new(0, 0), |entry| entry.min_cuda);
            code.insert((target, release.unwrap_or(first), image.ptx_isa()));
        }
        let code: Vec<Available> =
            code.into_iter().map(|(target, cuda, ptx_isa)| Available { target, cuda, ptx_isa }).collect();
        let release_from = match &release_from {
            None if !code.is_empty() => Some("the first release that knows its targets".to_owned()),
            _ => release_from,
        };
        let has_no_capability = |image: &&&CodeImage| image.target().is_none_or(|target| target.capability().is_none());
        let other: BTreeSet<String> = images.iter().filter(has_no_capability).map(|image| other_kind(image)).collect();
        let compiles = needed.iter().find_map(|name| {
            Some(Compiles { library: name.clone(), major: major_of(name, "libnvrtc")?, release: None })
        });
        let needs_driver = needed.iter().any(|name| name == "libcuda.so.1");
        let (other, absent) = (other.into_iter().collect(), BTreeMap::new());
        Self { name, code, release_from, other, compiles, needs_driver, absent, is_x86: false }
    }

    /// Whether it has to do with GPUs at all.
    pub fn is_of_interest(&self) -> bool {
        !self.code.is_empty() || !self.other.is_empty() || self.compiles.is_some()
    }

    /// What a device runs of it.
    pub(super) fn on(&self, device: Capability, driver: Option<CudaVersion>, manifests: &Manifests) -> UnitFit {
        let choice = choose(device, driver, &self.code, manifests);
        let taken = choice.trace.iter().find(|considered| Some(considered.index) == choice.chosen);
        let place = taken.and_then(|considered| considered.place);
        // Each reason once, with all that it is about.
        let mut reasons: Vec<(&str, Vec<String>)> = Vec::new();
        for considered in choice.trace.iter().filter(|_| taken.is_none()) {
            let target = considered.target.to_string();
            match reasons.iter_mut().find(|(reason, _)| *reason == considered.reason) {
                Some((_, targets)) if targets.contains(&target) => {}
                Some((_, targets)) => targets.push(target),
                None => reasons.push((&considered.reason, vec![target])),
            }
        }
        let reasons = reasons.iter().map(|(reason, targets)| format!("{}: {reason}", targets.join(" ")));
        let reasons: Vec<String> = reasons.collect();
        UnitFit {
            name: self.name.clone(),
            target: taken.map(|considered| considered.target),
            place,
            why: taken.map_or_else(|| reasons.join("; "), |considered| considered.reason.clone()),
        }
    }
}

/// What one device runs of one unit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct UnitFit {
    /// The unit.
    pub name: String,
    /// What runs; none when nothing does.
    pub target: Option<KernelTarget>,
    /// Its place in the chain.
    pub place: Option<Place>,
    /// Why, in a few words.
    pub why: String,
}

/// What one device of a machine runs of foreign binaries.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct ForeignFit {
    /// The driver's index of the device.
    pub index: u32,
    /// Product name.
    pub name: String,
    /// Compute capability; none for a device that runs no CUDA code.
    pub capability: Option<Capability>,
    /// Whether all of it runs.
    pub runs: bool,
    /// In a few words what runs, or why it does not.
    pub words: String,
    /// Unit by unit.
    pub units: Vec<UnitFit>,
}

/// Code without a capability in words.
fn other_kind(image: &CodeImage) -> String {
    match (image.kind, &image.label) {
        (CodeKind::LtoIr, _) => "LTO-IR, which has to be linked first".to_owned(),
        (CodeKind::Spirv, _) => "SPIR-V".to_owned(),
        (CodeKind::Wgsl, _) => "WGSL".to_owned(),
        (CodeKind::Offload, Some(label)) => format!("code for {label}"),
        (CodeKind::Offload, None) => "code of another vendor's devices".to_owned(),
        (CodeKind::Other(number), _) => format!("code of unknown kind {number:#x}"),
        (CodeKind::Sass | CodeKind::Ptx, _) => "code for no known capability".to_owned(),
    }
}

/// The CUDA release in a compiler's own words: `13.4` of `ptxas 13.4, V13.4.24`.
fn release_in(words: &str) -> Option<CudaVersion> {
    let version = words.split('V').skip(1).find(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))?;
    let mut numbers = version.split('.');
    let number = |text: Option<&str>| {
        let digits: String = text?.chars().take_while(char::is_ascii_digit).collect();
        digits.parse::<u32>().ok()
    };
    Some(CudaVersion::new(number(numbers.next())?, number(numbers.next())?))
}

/// The CUDA major of a vendor library: 13 of `libnvrtc.so.13`, 11 of a bundled `libcudart-4554289f.so.11.5.117`, which
/// is how wheel tools rename copies.
fn major_of(soname: &str, library: &str) -> Option<u32> {
    let rest = soname.strip_prefix(library)?;
    let (renamed, version) = rest.split_once(".so.")?;
    let is_hash = |text: &str| text.len() >= 8 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    if !renamed.is_empty() && !renamed.strip_prefix('-').is_some_and(is_hash) {
        return None;
    }
    version.split('.').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_and_majors_are_read_from_their_words() {
        let release = |text: &str| release_in(text).map(|release| release.to_string());
        assert_eq!(release("ptxas 13.4, V13.4.24").as_deref(), Some("13.4"));
        assert_eq!(release("Cuda compilation tools, release 11.8, V11.8.89").as_deref(), Some("11.8"));
        assert_eq!(release("clang version 19"), None);
        assert_eq!(major_of("libnvrtc.so.13", "libnvrtc"), Some(13));
        assert_eq!(major_of("libcudart-4554289f.so.11.5.117", "libcudart"), Some(11));
        assert_eq!(major_of("libnvrtc-builtins.so.13.0", "libnvrtc"), None);
        assert_eq!(major_of("libcudart.so", "libcudart"), None);
    }
}
