//! Slicing objects that are not linked yet: sections shrink, and what follows moves up in the file.

use std::collections::BTreeMap;

use object::elf;

use super::hidden;
use super::plan::{Disposition, FreedSpace, Order, Part, SliceError, SlicePlan, assemble};
use super::survey::{Sums, Survey, code_sections};
use crate::elf::bytes::Bytes;
use crate::elf::edit::Write;
use crate::elf::{ElfError, Image, Section};
use crate::gpu::containers::fatbin::fatbins_within;

const RELA_SIZE: u64 = 24;
const SYMBOL_SIZE: u64 = 24;

/// A container: its place in the section, and what remains of it.
struct Piece {
    at: u64,
    size: u64,
    parts: Vec<Part>,
    new_size: u64,
}

struct Region<'i> {
    index: usize,
    section: &'i Section,
    pieces: Vec<Piece>,
    /// New places by old ones, inside the section.
    places: BTreeMap<u64, u64>,
}

pub(super) fn plan(image: &Image<'_>, order: Order<'_>) -> Result<SlicePlan, SliceError> {
    let (room, mut survey) = (order.room, Survey::new(order));
    let (mut notes, mut warnings) = (Vec::new(), Vec::new());
    let mut regions = Vec::new();
    for (index, section, bytes) in code_sections(image)? {
        let mut pieces = Vec::new();
        for container in fatbins_within(bytes, &image.budget)? {
            let (at, size) = (container.at, container.size);
            let remains = survey.container(bytes, section.offset, container, &section.name)?;
            pieces.push(Piece { at, size, parts: remains.parts, new_size: remains.size });
        }
        if !pieces.is_empty() {
            regions.push(Region { index, section, pieces, places: BTreeMap::new() });
        }
    }
    let mut fates = Vec::new();
    if order.ask.deep {
        let range = |region: &Region<'_>| (region.section.offset, region.section.offset + region.section.size);
        let seen: Vec<(u64, u64)> = regions.iter().map(range).collect();
        fates = hidden::shortened(image, &seen, &mut survey, &mut warnings)?;
    }
    if survey.is_empty() {
        return Err(SliceError::Nothing);
    }
    let mut writes = Vec::new();
    regions.iter_mut().for_each(|region| region.places = places(&region.pieces));
    let mut together = room == FreedSpace::Cut && !regions.is_empty();
    if together {
        match follow(image, &regions) {
            Ok(found) => writes = found,
            Err(reason) => {
                together = false;
                notes.push(format!("the containers stay where they are in their section: {reason}"));
            }
        }
    }
    let grain = image.sections.iter().map(|section| section.align).filter(|align| align.is_power_of_two()).max();
    let grain = grain.unwrap_or(8).clamp(8, 4096);
    let mut gaps = Vec::new();
    for region in &mut regions {
        let end = compose(region, together, &mut fates);
        let (at, size) = (region.section.offset + end, region.section.offset + region.section.size);
        // Containers that lie in each other can need more room than they have.
        let room_left = size.checked_sub(at).ok_or_else(|| ElfError::damaged("its containers overlap"))?;
        let gone = if room == FreedSpace::Cut { room_left & !(grain - 1) } else { 0 };
        if gone > 0 {
            fates.push((at, at + gone, Disposition::Gap));
            gaps.push((at, gone));
        }
        fates.push((at + gone, size, Disposition::Free));
        if room == FreedSpace::Cut {
            writes.push(word(image.header.sections_at + region.index as u64 * 64 + 32, end));
        }
    }
    let gone_before = |offset: u64| gaps.iter().filter(|(at, _)| *at < offset).map(|(_, gone)| gone).sum::<u64>();
    let moved = |offset: u64| offset.saturating_sub(gone_before(offset));
    if !gaps.is_empty() {
        for (index, section) in image.sections.iter().enumerate() {
            writes.push(word(image.header.sections_at + index as u64 * 64 + 24, moved(section.offset)));
        }
        writes.push(word(40, moved(image.header.sections_at)));
    }
    let length = image.bytes().len() as u64;
    let parts = assemble(length, fates, writes);
    let Sums { containers, targets, served, losses } = survey.finish(&mut notes);
    Ok(SlicePlan {
        length,
        new_length: parts.iter().map(Part::size).sum(),
        parts,
        containers,
        targets,
        served,
        losses,
        gaps: Vec::new(),
        together,
        notes,
        warnings,
    })
}

fn word(at: u64, value: u64) -> Write {
    Write { at, bytes: value.to_le_bytes().to_vec() }
}

fn places(pieces: &[Piece]) -> BTreeMap<u64, u64> {
    let mut at = 0;
    let mut places = BTreeMap::new();
    for piece in pieces {
        places.insert(piece.at, at);
        at = (at + piece.new_size).next_multiple_of(8);
    }
    places
}

/// Says what becomes of the section up to the end of its last container; gives that end.
fn compose(region: &mut Region<'_>, together: bool, fates: &mut Vec<(u64, u64, Disposition)>) -> u64 {
    let offset = region.section.offset;
    let mut end = 0;
    if together {
        let mut parts = Vec::new();
        for piece in &mut region.pieces {
            parts.append(&mut piece.parts);
            let next = (end + piece.new_size).next_multiple_of(8);
            parts.push(Part::Zeros(next - end - piece.new_size));
            end = next;
        }
        end = end.min(region.section.size);
        fates.push((offset, offset + end, Disposition::Parts(parts)));
        return end;
    }
    let last = region.pieces.len().saturating_sub(1);
    for (index, piece) in region.pieces.iter_mut().enumerate() {
        let (at, kept) = (offset + piece.at, offset + piece.at + piece.new_size);
        fates.push((at, kept, Disposition::Parts(std::mem::take(&mut piece.parts))));
        end = piece.at + piece.new_size;
        if index < last {
            fates.push((kept, offset + piece.at + piece.size, Disposition::Free));
        }
    }
    end
}

/// Symbols and relocations that name containers, with their new places.
fn follow(image: &Image<'_>, regions: &[Region<'_>]) -> Result<Vec<Write>, String> {
    if regions.iter().all(|region| region.pieces.len() == 1) {
        // A single container begins where its section does.
        return Ok(Vec::new());
    }
    let region = |index: usize| regions.iter().find(|region| region.index == index);
    let inside = |region: &Region<'_>, at: u64| format!("something points into {} at {at:#x}", region.section.name);
    let mut writes = Vec::new();
    let mut put = |at: u64, value: u64| {
        writes.push(word(at, value));
        image.budget.keep_many::<Write>(3).ok_or("its tables name too much for its size")
    };
    let cut = || "its tables reach past the end of the file".to_owned();
    for section in &image.sections {
        if section.kind == elf::SHT_SYMTAB_SHNDX || (section.kind == elf::SHT_REL && section.size > 0) {
            return Err("it has tables of a form that is not followed".to_owned());
        }
        if matches!(section.kind, elf::SHT_SYMTAB | elf::SHT_RELA) {
            // Sections may overlap.
            image.budget.work(section.size).ok_or("its tables take too much work for its size")?;
        }
        if section.kind == elf::SHT_SYMTAB {
            let table = image.section_bytes(section).map(Bytes).ok_or_else(cut)?;
            for at in (0..section.size / SYMBOL_SIZE).map(|index| index * SYMBOL_SIZE) {
                let (owner, value) = (table.u16(at + 6).ok_or_else(cut)?, table.u64(at + 8).ok_or_else(cut)?);
                let Some(region) = region(usize::from(owner)) else { continue };
                let place = region.places.get(&value).ok_or_else(|| inside(region, value))?;
                put(section.offset + at + 8, *place)?;
            }
        }
        if section.kind == elf::SHT_RELA {
            if region(section.info as usize).is_some() {
                return Err("the device code itself is relocated".to_owned());
            }
            let symbols = image.sections.get(section.link as usize).and_then(|it| image.section_bytes(it)).map(Bytes);
            let (symbols, table) = (symbols.ok_or_else(cut)?, image.section_bytes(section).map(Bytes).ok_or_else(cut)?);
            for at in (0..section.size / RELA_SIZE).map(|index| index * RELA_SIZE) {
                let symbol = (table.u64(at + 8).ok_or_else(cut)? >> 32) * SYMBOL_SIZE;
                let (info, owner) = (symbols.u8(symbol + 4).ok_or_else(cut)?, symbols.u16(symbol + 6).ok_or_else(cut)?);
                let Some(region) = region(usize::from(owner)) else { continue };
                let addend = table.u64(at + 16).ok_or_else(cut)?;
                if info & 15 == elf::STT_SECTION.0 {
                    let place = region.places.get(&addend).ok_or_else(|| inside(region, addend))?;
                    put(section.offset + at + 16, *place)?;
                } else if addend != 0 {
                    return Err(inside(region, addend));
                }
            }
        }
    }
    Ok(writes)
}
