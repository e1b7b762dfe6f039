//! Slicing linked files: libraries and executables.

use std::collections::{BTreeMap, BTreeSet};

use super::pick::SliceAsk;
use super::plan::{Fate, Part, Room, SliceError, SlicePlan, Survey, assemble};
use super::pointers::{Pointer, Targets, follow};
use crate::elf::edit::{CutPlan, FreeRoom, ShrunkSection, Write, cut};
use crate::elf::{Dynamic, Image, Section};
use crate::gpu::device_code::{SECTIONS, hidden_containers};
use crate::gpu::fatbin::fatbins;
use crate::manifest::Manifests;

/// Containers begin at multiples of this.
const CONTAINER_ALIGN: u64 = 8;

/// A container's place in the file, and what remains of it.
struct Piece {
    /// File offset and bytes before.
    at: u64,
    size: u64,
    parts: Vec<Part>,
    new_size: u64,
}

/// A section with its containers.
struct Region<'i> {
    index: usize,
    section: &'i Section,
    pieces: Vec<Piece>,
}

impl Region<'_> {
    /// Where each container ends in the section when they stand together, with the padding behind it. None begins
    /// later than it did: a section that ends, or a container that began, off the alignment leaves less padding.
    fn ends(&self) -> Vec<u64> {
        let begins = self.pieces.iter().skip(1).map(|piece| piece.at - self.section.offset);
        let limits = begins.chain([self.section.size]);
        let mut at = 0;
        let end = |(piece, limit): (&Piece, u64)| {
            at = (at + piece.new_size).next_multiple_of(CONTAINER_ALIGN).min(limit);
            at
        };
        self.pieces.iter().zip(limits).map(end).collect()
    }
}

pub(super) fn plan(
    image: &Image<'_>,
    ask: &SliceAsk,
    room: Room,
    manifests: &Manifests,
) -> Result<SlicePlan, SliceError> {
    let mut survey = Survey::default();
    let mut notes = Vec::new();
    let regions = regions(image, ask, manifests, &mut survey)?;
    let mut fates = Vec::new();
    if ask.deep {
        hidden(image, &regions, ask, manifests, &mut survey, &mut fates)?;
        if !fates.is_empty() {
            notes.push(
                "containers in ordinary data were sliced in place: how the file finds its way in them is unknown"
                    .to_owned(),
            );
        }
    }
    if regions.is_empty() && fates.is_empty() {
        return Err(SliceError::Nothing);
    }
    let mut job = Job { image, regions, fates, writes: Vec::new(), gaps: Vec::new(), together: false };
    match room {
        Room::Cut => job.cut(&mut notes)?,
        Room::Zero | Room::Sparse => job.in_place(),
    }
    let length = image.bytes().len() as u64;
    let parts = assemble(length, job.fates, job.writes);
    let (containers, targets, losses) = survey.finish(&mut notes);
    Ok(SlicePlan {
        length,
        new_length: parts.iter().map(Part::size).sum(),
        parts,
        containers,
        targets,
        losses,
        gaps: job.gaps,
        together: job.together,
        notes,
    })
}

fn regions<'i>(
    image: &'i Image<'_>,
    ask: &SliceAsk,
    manifests: &Manifests,
    survey: &mut Survey,
) -> Result<Vec<Region<'i>>, SliceError> {
    let mut regions = Vec::new();
    for (index, section) in image.sections.iter().enumerate() {
        if !SECTIONS.contains(&section.name.as_str()) || !section.in_file() || section.size == 0 {
            continue;
        }
        let bytes = image.section_bytes(section).ok_or_else(|| {
            crate::elf::ElfError::damaged(format!("{} reaches past the end of the file", section.name))
        })?;
        let mut pieces = Vec::new();
        for container in fatbins(bytes)? {
            let remains = survey.container(bytes, section.offset, &container, &section.name, ask, manifests)?;
            pieces.push(Piece {
                at: section.offset + container.at,
                size: container.size,
                parts: remains.parts,
                new_size: remains.size,
            });
        }
        if !pieces.is_empty() {
            regions.push(Region { index, section, pieces });
        }
    }
    let mut ranges: Vec<(u64, u64)> =
        regions.iter().map(|region| (region.section.offset, region.section.offset + region.section.size)).collect();
    ranges.sort_unstable();
    if ranges.windows(2).any(|pair| pair[0].1 > pair[1].0) {
        return Err(crate::elf::ElfError::damaged("its device code sections overlap").into());
    }
    Ok(regions)
}

/// Hidden containers are shortened where they stand.
fn hidden(
    image: &Image<'_>,
    regions: &[Region<'_>],
    ask: &SliceAsk,
    manifests: &Manifests,
    survey: &mut Survey,
    fates: &mut Vec<(u64, u64, Fate)>,
) -> Result<(), SliceError> {
    let seen: Vec<(u64, u64)> =
        regions.iter().map(|region| (region.section.offset, region.section.offset + region.section.size)).collect();
    for container in hidden_containers(image.bytes(), &seen) {
        let remains = survey.container(image.bytes(), 0, &container, "data", ask, manifests)?;
        // A group that was taken apart may be larger than it was.
        if remains.size < container.size {
            let kept = container.at + remains.size;
            fates.push((container.at, kept, Fate::Parts(remains.parts)));
            fates.push((kept, container.at + container.size, Fate::Free));
        }
    }
    Ok(())
}

struct Job<'i, 'f> {
    image: &'i Image<'f>,
    regions: Vec<Region<'i>>,
    fates: Vec<(u64, u64, Fate)>,
    writes: Vec<Write>,
    gaps: Vec<(u64, u64)>,
    together: bool,
}

impl Job<'_, '_> {
    /// Every container where it was, shorter.
    fn in_place(&mut self) {
        for piece in self.regions.iter_mut().flat_map(|region| &mut region.pieces) {
            if piece.new_size < piece.size {
                let kept = piece.at + piece.new_size;
                self.fates.push((piece.at, kept, Fate::Parts(std::mem::take(&mut piece.parts))));
                self.fates.push((kept, piece.at + piece.size, Fate::Free));
            }
        }
    }

    fn cut(&mut self, notes: &mut Vec<String>) -> Result<(), SliceError> {
        let dynamic = Dynamic::parse(self.image)?;
        let found = match self.is_loaded() {
            true => follow(self.image, dynamic.as_ref(), &self.targets()),
            false => Err("they are not where the segments load them".to_owned()),
        };
        let pointers = match found {
            Ok(pointers) => pointers,
            Err(reason) => {
                notes.push(format!("the containers stay where they are, and the room is zeros: {reason}"));
                self.in_place();
                return Ok(());
            }
        };
        let (places, rooms, shrunk) = self.lay_out();
        let plan = match cut(self.image, &rooms, &shrunk) {
            Ok(plan) => plan,
            Err(error) => {
                notes.push(format!("no page leaves the file: it {error}"));
                CutPlan::default()
            }
        };
        self.writes = plan.writes.clone();
        if plan.gaps.is_empty() {
            self.writes.extend(sizes(self.image, &shrunk));
        }
        for pointer in pointers {
            let Pointer { at, target } = pointer;
            if let Some(place) = places.get(&target).filter(|place| **place != target) {
                self.writes = over(std::mem::take(&mut self.writes), plan.relocated(at), *place);
            }
        }
        self.together = true;
        self.compose(&plan);
        Ok(())
    }

    /// Sections and segments agree about where the containers are.
    fn is_loaded(&self) -> bool {
        self.regions.iter().all(|region| {
            let section = region.section;
            let last = section.address.checked_add(section.size - 1);
            self.image.offset_of(section.address) == Some(section.offset)
                && last.and_then(|last| self.image.offset_of(last)) == Some(section.offset + section.size - 1)
        })
    }

    fn targets(&self) -> Targets {
        let ranges = self
            .regions
            .iter()
            .map(|region| (region.section.address, region.section.address + region.section.size))
            .collect();
        let starts: BTreeSet<u64> = self
            .regions
            .iter()
            .flat_map(|region| {
                region.pieces.iter().map(|piece| piece.at - region.section.offset + region.section.address)
            })
            .collect();
        Targets { ranges, starts }
    }

    /// New addresses by old ones, the room behind the last container of each section, and new sizes.
    fn lay_out(&self) -> (BTreeMap<u64, u64>, Vec<FreeRoom>, Vec<ShrunkSection>) {
        let (mut places, mut rooms, mut shrunk) = (BTreeMap::new(), Vec::new(), Vec::new());
        for region in &self.regions {
            let Section { offset, address, size, .. } = *region.section;
            let mut at = 0;
            for (piece, end) in region.pieces.iter().zip(region.ends()) {
                places.insert(piece.at - offset + address, at + address);
                at = end;
            }
            if at < size {
                rooms.push(FreeRoom { from: offset + at, to: offset + size });
                shrunk.push(ShrunkSection { index: region.index, size: at });
            }
        }
        (places, rooms, shrunk)
    }

    fn compose(&mut self, plan: &CutPlan) {
        for region in &mut self.regions {
            let Section { offset, address, size, .. } = *region.section;
            let mut parts = Vec::new();
            let mut at = 0;
            let ends = region.ends();
            for (piece, end) in region.pieces.iter_mut().zip(ends) {
                parts.append(&mut piece.parts);
                parts.push(Part::Zeros(end - at - piece.new_size));
                at = end;
            }
            let (mut from, to) = (offset + at, offset + size);
            self.fates.push((offset, from, Fate::Parts(parts)));
            // A gap may reach over padding up to the end of its segment.
            if let Some(gap) = plan.gaps.iter().find(|gap| from <= gap.from && gap.from < to) {
                self.fates.push((from, gap.from, Fate::Free));
                self.fates.push((gap.from, gap.to, Fate::Gap));
                self.gaps.push((gap.from - offset + address, gap.to - gap.from));
                from = gap.to;
            }
            if from < to {
                self.fates.push((from, to, Fate::Free));
            }
        }
    }
}

/// New sizes of sections in a file that keeps its length.
fn sizes(image: &Image<'_>, shrunk: &[ShrunkSection]) -> Vec<Write> {
    let at = |index: usize| image.header.sections_at + index as u64 * 64 + 32;
    shrunk.iter().map(|it| Write { at: at(it.index), bytes: it.size.to_le_bytes().to_vec() }).collect()
}

/// Adds a pointer to the writes, inside another write where one covers its place.
fn over(mut writes: Vec<Write>, at: u64, value: u64) -> Vec<Write> {
    let bytes = value.to_le_bytes();
    let covering = writes.iter_mut().find(|write| write.at <= at && at + 8 <= write.at + write.bytes.len() as u64);
    match covering {
        Some(write) => {
            let start = (at - write.at) as usize;
            write.bytes[start..start + 8].copy_from_slice(&bytes);
        }
        None => writes.push(Write { at, bytes: bytes.to_vec() }),
    }
    writes
}
