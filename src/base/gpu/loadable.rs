//! What of a file's device code runs: what is linked, and what the driver links.
//!
//! A program or library whose device code is compiled apart (`nvcc -rdc=true`) keeps what its link was made from. Where the result of
//! the link has no code for a device, the runtime hands all of that to the driver, which compiles PTX and links at the start of
//! the program. Ran so on a GPU: `tests/evidence/brian2cuda-2026-11-25.log`, `arbor-ptx-2026-11-25.log`.

use std::collections::{BTreeMap, BTreeSet};

use super::{Available, CodeImage, choose};
use crate::arch::{Capability, CudaVersion, KernelTarget};
use crate::manifest::Manifests;

/// The images of one file that something runs of.
///
/// In a linked file that is linked code, and of what the link left the PTX that can be linked for every device that it reaches: all
/// that the link was made from must have code there. Machine code that the link left counts only beside PTX, as that of the
/// runtime's own library does. Where the linked code stands in ordinary data, a runtime other than the vendor's `cudart` loads it, as
/// in what NVIDIA's HPC compilers link, and nobody has seen that one fall back to PTX. Objects and archives that nobody has linked
/// hold what is to be linked: all of it counts.
pub fn loadable<'a>(images: &[&'a CodeImage], manifests: &Manifests) -> Vec<&'a CodeImage> {
    let used = || images.iter().copied().filter(|image| !image.empty);
    let linked = || images.iter().filter(|image| !image.relocatable && image.target().is_some());
    if linked().next().is_none() && !images.iter().any(|image| image.left_by_link) {
        return used().collect();
    }
    if linked().next().is_some() && linked().all(|image| image.hidden) {
        return used().filter(|image| !image.relocatable).collect();
    }
    let mut left: BTreeMap<(&str, u64), BTreeSet<KernelTarget>> = BTreeMap::new();
    for image in used().filter(|image| image.relocatable) {
        left.entry((image.place.member(), image.container)).or_default().extend(image.target());
    }
    let devices = devices(manifests);
    let reach = |targets: &BTreeSet<KernelTarget>| -> BTreeSet<Capability> {
        devices.iter().copied().filter(|device| runs_on(*device, targets, manifests)).collect()
    };
    // Libraries have thousands of containers and few sets of targets.
    let left: BTreeSet<BTreeSet<KernelTarget>> = left.into_values().collect();
    let reached: Vec<BTreeSet<Capability>> = left.iter().map(reach).collect();
    let is_linked_by_driver = |target: KernelTarget| {
        let devices = reach(&BTreeSet::from([target]));
        matches!(target, KernelTarget::Ptx(_)) && reached.iter().all(|reached| devices.is_subset(reached))
    };
    let targets = left.iter().flatten().copied().collect::<BTreeSet<_>>();
    let mut linked_by_driver: Vec<KernelTarget> = targets.into_iter().filter(|it| is_linked_by_driver(*it)).collect();
    // The lowest serves all others, too; a higher one is linked where all bring it.
    let lowest = linked_by_driver.first().copied();
    linked_by_driver.retain(|target| Some(*target) == lowest || left.iter().all(|targets| targets.contains(target)));
    used()
        .filter(|image| !image.relocatable || image.target().is_some_and(|target| linked_by_driver.contains(&target)))
        .collect()
}

/// Whether some of the targets run on a device whose driver is as new as can be.
pub fn runs_on(device: Capability, targets: &BTreeSet<KernelTarget>, manifests: &Manifests) -> bool {
    let newest = CudaVersion::new(u32::MAX, 0);
    let available: Vec<Available> =
        targets.iter().map(|&target| Available { target, cuda: CudaVersion::new(0, 0), ptx_isa: None }).collect();
    choose(device, Some(newest), &available, manifests).chosen.is_some()
}

/// Every known device but systems on a chip, whose toolkits bring libraries of their own, and one that nobody knows yet.
fn devices(manifests: &Manifests) -> Vec<Capability> {
    let known = manifests.capabilities.iter().filter(|entry| entry.renamed.is_none() && !entry.tegra);
    let mut devices: Vec<Capability> = known.map(|entry| entry.capability()).collect();
    devices.push(manifests.capabilities.to_come());
    devices
}

#[cfg(test)]
#[path = "loadable_tests.rs"]
mod tests;
