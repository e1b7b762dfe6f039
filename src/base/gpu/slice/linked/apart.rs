//! Containers that cannot move: whole pages of the room behind each leave the file.

use super::{CONTAINER_ALIGN, Job, Piece, Region, SECTION_SIZE, Writes};
use crate::elf::ElfError;
use crate::elf::edit::{CutPlan, FreeRoom, cut};
use crate::gpu::slice::plan::Disposition;

impl Region<'_> {
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
}

impl Job<'_, '_> {
    /// Every container where it was, and whole pages of the room behind it out of the file. More program headers than
    /// there is room for are not to be had: then the largest rooms are cut, and the others are zeros.
    pub(super) fn cut_apart(&mut self) -> Result<(), ElfError> {
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
                self.fates.push((piece.at, from, Disposition::Parts(std::mem::take(&mut piece.parts))));
                if let Some(gap) = plan.gaps.iter().find(|gap| from <= gap.from && gap.from < to) {
                    self.fates.push((from, gap.from, Disposition::Free));
                    self.fates.push((gap.from, gap.to, Disposition::Gap));
                    self.gaps.push((gap.from - region.section.offset + region.section.address, gap.to - gap.from));
                    from = gap.to;
                }
                if from < to {
                    self.fates.push((from, to, Disposition::Free));
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
        self.writes = Writes::over(plan.writes.clone());
        for region in &self.regions {
            let start = region.section.offset;
            let at = header.sections_at + region.index as u64 * SECTION_SIZE;
            let old = self.image.bytes.get(at, SECTION_SIZE).ok_or_else(|| ElfError::damaged("no section header"))?;
            for (index, (from, to)) in region.runs(&plan.gaps).into_iter().enumerate() {
                if index == 0 {
                    self.writes.put(at + 32, &(to - start).to_le_bytes());
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
                self.writes.put(60, &total.to_le_bytes());
                Ok(())
            }
            _ => {
                self.tail.clear();
                self.writes = Writes::default();
                Err(ElfError::refused("there is no room for more section headers", "keep the file's size"))
            }
        }
    }
}
