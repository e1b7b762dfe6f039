//! Slicing linked files: libraries and executables.

use std::collections::{BTreeMap, BTreeSet};

use super::pick::SliceAsk;
use super::plan::{Fate, Part, Room, SliceError, SlicePlan, Survey, assemble};
use super::pointers::{Pointer, Targets, follow};
use crate::elf::edit::{CutPlan, FreeRoom, ShrunkSection, Write, cut};
use crate::elf::{Dynamic, ElfError, Image, Section};
use crate::gpu::device_code::{SECTIONS, hidden_containers};
use crate::gpu::fatbin::fatbins;
use crate::manifest::Manifests;

/// Bytes of a section header.
const SECTION_SIZE: u64 = 64;
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
    /// File offset behind the section.
    fn end(&self) -> u64 {
        self.section.offset + self.section.size
    }

    /// What gaps leave of the section, as file offsets: from a container on up to the room in which the next gap is.
    fn runs(&self, gaps: &[FreeRoom]) -> Vec<(u64, u64)> {
        let mut runs = Vec::new();
        let mut from = self.section.offset;
        let next = self.pieces.iter().skip(1).map(|piece| piece.at).chain([self.end()]);
        for (piece, to) in self.pieces.iter().zip(next) {
            let kept = piece.at + piece.new_size;
            if gaps.iter().any(|gap| kept <= gap.from && gap.from < to) {
                runs.push((from, kept));
                from = to;
            }
        }
        if from < self.end() {
            runs.push((from, self.end()));
        }
        runs
    }

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
    let mut job =
        Job { image, regions, fates, writes: Vec::new(), gaps: Vec::new(), together: false, tail: Vec::new() };
    match room {
        Room::Cut => job.cut(&mut notes)?,
        Room::Zero | Room::Sparse => job.in_place(),
    }
    let length = image.bytes().len() as u64;
    let mut parts = assemble(length, job.fates, job.writes);
    parts.extend(Some(job.tail).filter(|tail| !tail.is_empty()).map(Part::Bytes));
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
        let bytes = image
            .section_bytes(section)
            .ok_or_else(|| ElfError::damaged(format!("{} reaches past the end of the file", section.name)))?;
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
        return Err(ElfError::damaged("its device code sections overlap").into());
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
    /// New bytes behind the end of the file.
    tail: Vec<u8>,
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
        let zeros = |reason: &str| format!("the containers stay where they are, and the room is zeros: {reason}");
        if !self.is_loaded() {
            notes.push(zeros("they are not where the segments load them"));
            self.in_place();
            return Ok(());
        }
        let pointers = match follow(self.image, dynamic.as_ref(), &self.targets()) {
            Ok(pointers) => pointers,
            Err(reason) => {
                match self.cut_apart() {
                    Ok(()) => notes.push(format!("the containers stay where they are, a gap behind each (cuobjdump lists the code before the first one only): {reason}")),
                    Err(error) => {
                        notes.push(zeros(&format!("{reason}; no page leaves the file: it {error}")));
                        self.in_place();
                    }
                }
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
                over(&mut self.writes, plan.relocated(at), &place.to_le_bytes());
            }
        }
        self.together = true;
        self.compose(&plan);
        Ok(())
    }

    /// Every container where it was, and whole pages of the room behind it out of the file. More program headers than
    /// there is room for are not to be had: then the largest rooms are cut, and the others are zeros.
    fn cut_apart(&mut self) -> Result<(), ElfError> {
        let mut rooms: Vec<FreeRoom> = Vec::new();
        for region in &self.regions {
            let ends = region.pieces.iter().skip(1).map(|piece| piece.at).chain([region.end()]);
            let room = |(piece, to): (&Piece, u64)| FreeRoom { from: piece.at + piece.new_size, to };
            rooms.extend(region.pieces.iter().zip(ends).map(room).filter(|room| room.from < room.to));
        }
        rooms.sort_by_key(|room| std::cmp::Reverse(room.to - room.from));
        let mut count = rooms.len();
        let plan = loop {
            match cut(self.image, &rooms[..count], &[]) {
                Ok(plan) => break plan,
                Err(_) if count > 1 => count /= 2,
                Err(error) => return Err(error),
            }
        };
        if plan.gaps.is_empty() {
            return Err(ElfError::refused("no room is a whole page", "keep the file's size"));
        }
        self.split_sections(&plan)?;
        for region in &mut self.regions {
            let end = region.end();
            let next: Vec<u64> = region.pieces.iter().skip(1).map(|piece| piece.at).chain([end]).collect();
            for (piece, to) in region.pieces.iter_mut().zip(next) {
                let mut from = piece.at + piece.new_size;
                self.fates.push((piece.at, from, Fate::Parts(std::mem::take(&mut piece.parts))));
                if let Some(gap) = plan.gaps.iter().find(|gap| from <= gap.from && gap.from < to) {
                    self.fates.push((from, gap.from, Fate::Free));
                    self.fates.push((gap.from, gap.to, Fate::Gap));
                    self.gaps.push((gap.from - region.section.offset + region.section.address, gap.to - gap.from));
                    from = gap.to;
                }
                if from < to {
                    self.fates.push((from, to, Fate::Free));
                }
            }
        }
        Ok(())
    }

    /// A section header may not span a gap: what lies behind one gets a header of its own, at the end of the table.
    fn split_sections(&mut self, plan: &CutPlan) -> Result<(), ElfError> {
        let header = &self.image.header;
        let count = self.image.sections.len();
        let table_end = header.sections_at + count as u64 * SECTION_SIZE;
        self.writes = plan.writes.clone();
        for region in &self.regions {
            let start = region.section.offset;
            let at = header.sections_at + region.index as u64 * SECTION_SIZE;
            let old = self.image.bytes.get(at, SECTION_SIZE).ok_or_else(|| ElfError::damaged("no section header"))?;
            for (index, (from, to)) in region.runs(&plan.gaps).into_iter().enumerate() {
                if index == 0 {
                    over(&mut self.writes, at + 32, &(to - start).to_le_bytes());
                    continue;
                }
                let mut new = old.to_vec();
                new[16..24].copy_from_slice(&(from - start + region.section.address).to_le_bytes());
                new[24..32].copy_from_slice(&plan.moved(from).to_le_bytes());
                new[32..40].copy_from_slice(&(to - from).to_le_bytes());
                new[48..56].copy_from_slice(&CONTAINER_ALIGN.to_le_bytes());
                self.tail.extend(new);
            }
        }
        let added = self.tail.len() / SECTION_SIZE as usize;
        let total = u16::try_from(count + added).ok().filter(|total| *total < ::object::elf::SHN_LORESERVE);
        match total {
            _ if added == 0 => Ok(()),
            Some(total) if table_end == self.image.bytes.len() => {
                over(&mut self.writes, 60, &total.to_le_bytes());
                Ok(())
            }
            _ => {
                self.tail.clear();
                self.writes.clear();
                Err(ElfError::refused("there is no room for more section headers", "keep the file's size"))
            }
        }
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

/// Adds bytes to the writes, inside another write where one covers their place.
fn over(writes: &mut Vec<Write>, at: u64, bytes: &[u8]) {
    let end = at + bytes.len() as u64;
    match writes.iter_mut().find(|write| write.at <= at && end <= write.at + write.bytes.len() as u64) {
        Some(write) => {
            let start = (at - write.at) as usize;
            write.bytes[start..start + bytes.len()].copy_from_slice(bytes);
        }
        None => writes.push(Write { at, bytes: bytes.to_vec() }),
    }
}
