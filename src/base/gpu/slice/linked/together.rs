//! Containers that may move: they stand together at the beginning of their section, every pointer follows, and the room
//! behind the last one leaves the file.

use std::collections::BTreeMap;

use super::{CONTAINER_ALIGN, Job, Piece, Region, SECTION_SIZE, Writes};
use crate::elf::Section;
use crate::elf::edit::{CutPlan, FreeRoom, ShrunkSection, cut};
use crate::gpu::slice::plan::{Disposition, Part};
use crate::gpu::slice::pointers::Pointer;

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

impl Job<'_, '_> {
    pub(super) fn move_together(&mut self, pointers: Vec<Pointer>, notes: &mut Vec<String>) {
        let (places, rooms, shrunk) = self.lay_out();
        let plan = cut(self.image, &rooms, &shrunk).unwrap_or_else(|error| {
            notes.push(format!("no page leaves the file: it {error}"));
            CutPlan::default()
        });
        self.writes = Writes::over(plan.writes.clone());
        if plan.gaps.is_empty() {
            // The file keeps its length, and its sections get their new sizes.
            for ShrunkSection { index, size } in &shrunk {
                let header = self.image.header.sections_at + *index as u64 * SECTION_SIZE;
                self.writes.put(header + 32, &size.to_le_bytes());
            }
        }
        for Pointer { at, target } in pointers {
            if let Some(place) = places.get(&target).filter(|place| **place != target) {
                self.writes.put(plan.relocated(at), &place.to_le_bytes());
            }
        }
        self.together = true;
        self.compose(&plan);
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
            self.fates.push((offset, from, Disposition::Parts(parts)));
            // A gap may reach over padding up to the end of its segment.
            if let Some(gap) = plan.gaps.iter().find(|gap| from <= gap.from && gap.from < to) {
                self.fates.push((from, gap.from, Disposition::Free));
                self.fates.push((gap.from, gap.to, Disposition::Gap));
                self.gaps.push((gap.from - offset + address, gap.to - gap.from));
                from = gap.to;
            }
            if from < to {
                self.fates.push((from, to, Disposition::Free));
            }
        }
    }
}
