//! Slicing linked files: libraries and executables. Containers move together where everything that points at them
//! can be followed, else each stays where it is.

mod apart;
mod together;
mod writes;

use std::collections::BTreeSet;

use self::writes::Writes;
use super::hidden;
use super::plan::{Disposition, FreedSpace, Order, Part, SliceError, SlicePlan, assemble};
use super::pointers::{Targets, follow};
use super::survey::{RELOCATABLE, Sums, Survey, code_sections};
use crate::elf::{Dynamic, Image, Section};
use crate::gpu::containers::fatbin::fatbins_within;

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
}

pub(super) fn plan(image: &Image<'_>, order: Order<'_>) -> Result<SlicePlan, SliceError> {
    let mut survey = Survey::new(order);
    let (mut notes, mut warnings) = (Vec::new(), Vec::new());
    let regions = regions(image, &mut survey)?;
    let mut fates = Vec::new();
    if order.ask.deep {
        let seen: Vec<(u64, u64)> = regions.iter().map(|region| (region.section.offset, region.end())).collect();
        fates = hidden::shortened(image, &seen, &mut survey, &mut warnings)?;
    }
    if survey.is_empty() {
        return Err(SliceError::Nothing);
    }
    let mut job =
        Job { image, regions, fates, writes: Writes::default(), gaps: Vec::new(), together: false, tail: Vec::new() };
    match order.room {
        FreedSpace::Cut => job.cut(order, &mut notes)?,
        FreedSpace::Zero | FreedSpace::Sparse => job.in_place(),
    }
    let length = image.bytes().len() as u64;
    let mut parts = assemble(length, job.fates, job.writes.into_vec());
    parts.extend(Some(job.tail).filter(|tail| !tail.is_empty()).map(Part::Bytes));
    let Sums { containers, targets, served, losses } = survey.finish(&mut notes);
    Ok(SlicePlan {
        length,
        new_length: parts.iter().map(Part::size).sum(),
        parts,
        containers,
        targets,
        served,
        losses,
        gaps: job.gaps,
        together: job.together,
        notes,
        warnings,
    })
}

fn regions<'i, 'f>(image: &'i Image<'f>, survey: &mut Survey<'_, 'f>) -> Result<Vec<Region<'i>>, SliceError> {
    let mut found = Vec::new();
    for (index, section, bytes) in code_sections(image)? {
        found.push((index, section, bytes, fatbins_within(bytes, &image.budget)?));
    }
    survey.is_linked(found.iter().filter(|(_, section, ..)| section.name != RELOCATABLE).flat_map(|(.., all)| all));
    let mut regions = Vec::new();
    for (index, section, bytes, containers) in found {
        let mut pieces = Vec::new();
        for container in containers {
            let (at, size) = (section.offset + container.at, container.size);
            let remains = survey.container(bytes, section.offset, container, &section.name)?;
            pieces.push(Piece { at, size, parts: remains.parts, new_size: remains.size });
        }
        if !pieces.is_empty() {
            regions.push(Region { index, section, pieces });
        }
    }
    Ok(regions)
}

struct Job<'i, 'f> {
    image: &'i Image<'f>,
    regions: Vec<Region<'i>>,
    fates: Vec<(u64, u64, Disposition)>,
    writes: Writes,
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
                self.fates.push((piece.at, kept, Disposition::Parts(std::mem::take(&mut piece.parts))));
                self.fates.push((kept, piece.at + piece.size, Disposition::Free));
            }
        }
    }

    fn cut(&mut self, order: Order<'_>, notes: &mut Vec<String>) -> Result<(), SliceError> {
        if self.regions.is_empty() {
            return Ok(());
        }
        let dynamic = Dynamic::parse(self.image)?;
        let zeros = |reason: &str| format!("the containers stay where they are, and the room is zeros: {reason}");
        if !self.is_loaded() {
            notes.push(zeros("they are not where the segments load them"));
            self.in_place();
            return Ok(());
        }
        match follow(self.image, dynamic.as_ref(), &self.targets(), order) {
            Ok(pointers) => self.move_together(pointers, notes),
            Err(reason) => match self.cut_apart() {
                Ok(()) => notes.push(format!(
                    "the containers stay where they are, a gap behind each (cuobjdump lists the code before the first \
                     one only): {reason}"
                )),
                Err(error) => {
                    notes.push(zeros(&format!("{reason}; no page leaves the file: it {error}")));
                    self.in_place();
                }
            },
        }
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
}
