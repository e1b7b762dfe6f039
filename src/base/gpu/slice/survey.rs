//! All containers of a file, one by one: what stays of each, the sums, and what kernels would lose.

use std::collections::{BTreeMap, BTreeSet};

use super::container::{Remains, remains};
use super::names::kernels;
use super::pick::{Picked, PtxRule, SliceSpec, pick};
use super::plan::{ContainerSlice, Loss, Order, Part, TargetBytes};
use crate::arch::Capability;
use crate::elf::{ElfError, Image, Section};
use crate::gpu::containers::fatbin::{Fatbin, SECTIONS, Unpacker};
use crate::gpu::{CodeError, CodeKind, FatbinEntry};
use crate::parallel::side_by_side;

/// Holds what a link was made from. Once it is done, the runtime looks at that again only where the result has no code for a
/// device: then the driver compiles and links it at the start of the program ("CUDA Compiler Driver NVCC", "JIT linking").
pub(super) const RELOCATABLE: &str = "__nv_relfatbin";

/// Compilers make one of each name; every pointer of a file is compared with all of them.
const MOST_SECTIONS: usize = 16;

/// A section of device code, with its place in the list of sections and its bytes.
type CodeSection<'i, 'f> = (usize, &'i Section, &'f [u8]);

/// The sections of device code.
///
/// # Errors
/// A section reaches past the end of the file, two share bytes, or there are more than any compiler makes: what each of
/// many would give is not even read.
pub(super) fn code_sections<'i, 'f>(image: &'i Image<'f>) -> Result<Vec<CodeSection<'i, 'f>>, ElfError> {
    let is_code =
        |section: &Section| SECTIONS.contains(&section.name.as_str()) && section.in_file() && section.size > 0;
    let mut found = Vec::new();
    for (index, section) in image.sections.iter().enumerate().filter(|(_, section)| is_code(section)) {
        let cut = || ElfError::damaged(format!("{} reaches past the end of the file", section.name));
        found.push((index, section, image.section_bytes(section).ok_or_else(cut)?));
    }
    if found.len() > MOST_SECTIONS {
        return Err(ElfError::damaged(format!("it has {} sections of device code", found.len())));
    }
    let mut ranges: Vec<(u64, u64)> =
        found.iter().map(|(_, section, _)| (section.offset, section.offset + section.size)).collect();
    ranges.sort_unstable();
    match ranges.windows(2).any(|pair| pair[0].1 > pair[1].0) {
        true => Err(ElfError::damaged("its device code sections overlap")),
        false => Ok(found),
    }
}

/// Containers with what remains of each, and the sums.
pub(super) struct Survey<'o, 'a> {
    order: Order<'o>,
    containers: Vec<ContainerSlice>,
    lacking: Vec<Lacking<'a>>,
    targets: BTreeMap<(u16, Option<Capability>), TargetBytes>,
    served: BTreeSet<Capability>,
    unknown: u64,
    /// Asked capabilities for which a linked file's own code is not whole; none of a file that is not linked.
    left_to_link: Option<Vec<Capability>>,
    /// What a driver can link for all of these, container by container.
    linkable: Vec<Linkable<'a>>,
}

/// Relocatable code of a linked file.
struct Linkable<'a> {
    served: Vec<Capability>,
    entries: Vec<FatbinEntry<'a>>,
}

/// A container without code for some asked capability: whether kernels are lost, its code tells.
struct Lacking<'a> {
    missing: Vec<(Capability, bool)>,
    place: String,
    at: u64,
    entries: Vec<FatbinEntry<'a>>,
}

impl<'o, 'a> Survey<'o, 'a> {
    pub(super) fn new(order: Order<'o>) -> Self {
        let (containers, lacking, targets) = (Vec::new(), Vec::new(), BTreeMap::new());
        let (served, left_to_link, linkable) = (BTreeSet::new(), None, Vec::new());
        Self { order, containers, lacking, targets, served, unknown: 0, left_to_link, linkable }
    }

    /// Says that the file is linked: relocatable code is of use for those capabilities alone that one of the containers of the
    /// link does not serve. One without any entry serves nothing.
    pub(super) fn is_linked<'c>(&mut self, links: impl Iterator<Item = &'c Fatbin<'a>>)
    where
        'a: 'c,
    {
        let links: Vec<_> = links.map(|link| pick(&link.entries, self.order.ask, self.order.manifests)).collect();
        let serve =
            |capability: &&Capability| !links.is_empty() && links.iter().all(|link| link.served.contains(capability));
        self.left_to_link = Some(self.order.ask.capabilities.iter().filter(|it| !serve(it)).copied().collect());
    }

    /// What stays of a container.
    fn picked(&self, container: &Fatbin<'a>, place: &str) -> Picked {
        let Order { ask, manifests, .. } = self.order;
        let Some(left) = self.left_to_link.as_ref().filter(|_| place == RELOCATABLE) else {
            return pick(&container.entries, ask, manifests);
        };
        let mut picked = pick(&container.entries, &SliceSpec { capabilities: left.clone(), ..ask.clone() }, manifests);
        // What is linked with PTX need not be PTX itself: the runtime's own library is machine code for every device.
        if ask.ptx == PtxRule::Only && !picked.missing.is_empty() && picked.missing.iter().all(|(_, in_fat)| *in_fat) {
            picked.stays.fill(true);
            picked.served.extend(picked.missing.drain(..).map(|(capability, _)| capability));
        }
        picked
    }

    /// Whether there was no container.
    pub(super) fn is_empty(&self) -> bool {
        self.containers.is_empty()
    }

    /// Decides about one container of `bytes`, which stand at `base` of the file.
    pub(super) fn container(
        &mut self,
        bytes: &[u8],
        base: u64,
        container: Fatbin<'a>,
        place: &str,
    ) -> Result<Remains, CodeError> {
        let mut picked = self.picked(&container, place);
        let mut remains = remains(bytes, base, &container, &picked, self.order.budget)?;
        if remains.size > container.size {
            // Members of a group, each compressed by itself, may be larger than the group.
            picked.stays.fill(true);
            let all = Part::Copy { from: base + container.at, size: container.size };
            remains = Remains { parts: vec![all], size: container.size };
        }
        for (entry, stays) in container.entries.iter().zip(&picked.stays) {
            self.count(entry, *stays);
        }
        self.served.extend(&picked.served);
        let is_linkable = self.left_to_link.is_some() && place == RELOCATABLE && !picked.served.is_empty();
        let (place, at) = (place.to_owned(), base + container.at);
        if self.order.names && !picked.missing.is_empty() {
            let (missing, place) = (picked.missing, place.clone());
            self.lacking.push(Lacking { missing, place, at, entries: container.entries });
        } else if self.order.names && is_linkable {
            self.linkable.push(Linkable { served: picked.served, entries: container.entries });
        }
        let (size, new_size, stays) = (container.size, remains.size, picked.stays);
        self.containers.push(ContainerSlice { place, at, size, new_size, stays });
        Ok(remains)
    }

    fn count(&mut self, entry: &FatbinEntry<'_>, stays: bool) {
        let (kind, name) = match entry.kind {
            CodeKind::Sass => (2, "sm"),
            CodeKind::Ptx => (1, "compute"),
            CodeKind::LtoIr => (8, "lto"),
            CodeKind::Other(number) => (number, "kind"),
            // Files of their own, never entries of a fatbin.
            CodeKind::Spirv | CodeKind::Wgsl | CodeKind::Offload => return,
        };
        self.unknown += u64::from(!matches!(name, "sm" | "compute" | "lto"));
        let target = match (entry.capability, name) {
            (Some(capability), "sm" | "compute" | "lto") => format!("{name}_{}", &capability.sm()[3..]),
            _ => format!("unknown kind {kind:#x}"),
        };
        let sum = self.targets.entry((kind, entry.capability)).or_insert(TargetBytes {
            target,
            kept: 0,
            kept_bytes: 0,
            dropped: 0,
            dropped_bytes: 0,
        });
        let (count, size) =
            if stays { (&mut sum.kept, &mut sum.kept_bytes) } else { (&mut sum.dropped, &mut sum.dropped_bytes) };
        *count += 1;
        *size += entry.stored_size;
    }

    /// The sums, machine code first, and a note about what nobody knows.
    pub(super) fn finish(self, notes: &mut Vec<String>) -> Sums {
        if self.unknown > 0 {
            notes.push(format!("{} entries of unknown kinds stay", self.unknown));
        }
        let order = |kind: u16| match kind {
            2 => 0,
            1 => 1,
            other => other,
        };
        let mut targets: Vec<_> = self.targets.into_iter().collect();
        targets.sort_by_key(|((kind, capability), _)| (order(*kind), *capability));
        Sums {
            containers: self.containers,
            targets: targets.into_iter().map(|(_, sum)| sum).collect(),
            served: self.served,
            losses: losses(&self.lacking, &self.linkable, self.order),
        }
    }
}

/// What a survey found, as [`SlicePlan`](super::plan::SlicePlan) holds it.
pub(super) struct Sums {
    pub(super) containers: Vec<ContainerSlice>,
    pub(super) targets: Vec<TargetBytes>,
    pub(super) served: BTreeSet<Capability>,
    pub(super) losses: Vec<Loss>,
}

/// Kernels of the containers without code. The code is unpacked for that, one entry at a time and thread.
fn losses(lacking: &[Lacking<'_>], linkable: &[Linkable<'_>], order: Order<'_>) -> Vec<Loss> {
    let bytes = lacking.iter().flat_map(|it| &it.entries).map(|entry| entry.stored_size).sum();
    let budget = order.budget;
    let unpacker = || Unpacker::new(budget);
    let found = side_by_side(lacking, order.threads_for(bytes), unpacker, |unpacker, it| {
        kernels(&it.entries, it.place.ends_with("__nv_relfatbin"), unpacker, budget)
    });
    let found: Vec<(&Lacking<'_>, Vec<String>)> =
        lacking.iter().zip(found).filter(|(_, kernels)| !kernels.is_empty()).collect();
    let mut losses = Vec::new();
    // Looked for where it matters alone: what the driver links need not be there already.
    let mut linked: BTreeMap<Capability, BTreeSet<String>> = BTreeMap::new();
    for (it, kernels) in found {
        for (capability, in_fat) in &it.missing {
            let linked = linked.entry(*capability).or_insert_with(|| linked_for(*capability, linkable, order));
            // All of what is linked must be there.
            let is_lost = |name: &&String| it.place == RELOCATABLE || !linked.contains(*name);
            let kernels: Vec<String> = kernels.iter().filter(is_lost).cloned().collect();
            if !kernels.is_empty() {
                let (capability, in_fat, place, at) = (*capability, *in_fat, it.place.clone(), it.at);
                losses.push(Loss { capability, in_fat, place, at, kernels });
            }
        }
    }
    losses
}

/// Kernels of the relocatable code for a capability.
fn linked_for(capability: Capability, linkable: &[Linkable<'_>], order: Order<'_>) -> BTreeSet<String> {
    let mut unpacker = Unpacker::new(order.budget);
    let serving = linkable.iter().filter(|it| it.served.contains(&capability));
    serving.flat_map(|it| kernels(&it.entries, false, &mut unpacker, order.budget)).collect()
}
