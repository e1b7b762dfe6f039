//! Pieces that move, and everything that says where they are: symbols, section headers, program headers,
//! dynamic entries.

use object::elf;

use super::overlay::Overlay;
use super::pieces::{Piece, PieceKind};
use crate::elf::bytes::Bytes;
use crate::elf::image::SECTION_SIZE;
use crate::elf::symbols::SYMBOL_SIZE;
use crate::elf::{DynamicEntry, Image, Section, Segment};

/// A piece, and the place that it takes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Move {
    pub(super) from: Piece,
    pub(super) to: Piece,
}

impl Move {
    /// Where a part of the piece goes: offset and address.
    fn place(&self, offset: u64) -> (u64, u64) {
        let shift = offset - self.from.offset;
        (self.to.offset + shift, self.to.address + shift)
    }

    /// Whether its content is made anew, with a size of its own.
    fn resized(&self) -> bool {
        matches!(self.from.kind, PieceKind::Strings | PieceKind::Interpreter | PieceKind::Dynamic)
    }
}

/// The move that takes a section along.
fn move_of<'m>(moves: &'m [Move], section: &Section) -> Option<&'m Move> {
    if section.flags.0 & elf::SHF_ALLOC.0 == 0 || !section.in_file() || section.size == 0 {
        return None;
    }
    moves.iter().find(|it| it.from.contains(section.offset, section.size))
}

/// The section where it is after the moves.
pub(super) fn moved_section(moves: &[Move], section: &Section) -> Section {
    let mut section = section.clone();
    if let Some(it) = move_of(moves, &section) {
        (section.offset, section.address) = it.place(section.offset);
        if it.resized() {
            section.size = it.to.size;
        }
    }
    section
}

/// The segment where it is after the moves. What is loaded and what becomes read-only stays.
pub(super) fn moved_segment(moves: &[Move], segment: &Segment) -> Segment {
    let mut segment = *segment;
    if matches!(segment.kind, elf::PT_LOAD | elf::PT_GNU_RELRO | elf::PT_PHDR) || segment.file_size == 0 {
        return segment;
    }
    if let Some(it) = moves.iter().find(|it| it.from.contains(segment.offset, segment.file_size)) {
        (segment.offset, segment.address) = it.place(segment.offset);
        segment.physical = segment.address;
        if it.resized() {
            (segment.file_size, segment.memory_size) = (it.to.size, it.to.size);
        }
    }
    segment
}

/// The move of the section headers.
pub(super) fn table_move(moves: &[Move]) -> Option<&Move> {
    moves.iter().find(|it| it.from.kind == PieceKind::SectionTable)
}

/// Symbols that lie in a moved section move with it: section symbols, and `_DYNAMIC`, which some
/// linkers leave without a type.
pub(super) fn write_symbols(image: &Image<'_>, overlay: &mut Overlay, moves: &[Move]) {
    let goes: Vec<Option<&Move>> = image.sections.iter().map(|section| move_of(moves, section)).collect();
    if goes.iter().all(Option::is_none) {
        return;
    }
    let is_table = |section: &&Section| matches!(section.kind, elf::SHT_SYMTAB | elf::SHT_DYNSYM);
    for (offset, size) in image.sections.iter().filter(is_table).map(|section| (section.offset, section.size)) {
        let Some(table) = image.bytes.get(offset, size).map(Bytes) else { continue };
        for at in (0..size / SYMBOL_SIZE).map(|index| index * SYMBOL_SIZE) {
            let (Some(index), Some(value)) = (table.u16(at + 6), table.u64(at + 8)) else { continue };
            let Some((it, section)) =
                goes.get(usize::from(index)).copied().flatten().zip(image.sections.get(usize::from(index)))
            else {
                continue;
            };
            if value >= section.address && value - section.address <= it.from.size {
                let value = it.place(section.offset).1 + (value - section.address);
                overlay.put(offset + at + 8, &value.to_le_bytes());
            }
        }
    }
}

/// Section headers, and where they are.
pub(super) fn write_sections(image: &Image<'_>, overlay: &mut Overlay, moves: &[Move]) {
    for (index, section) in image.sections.iter().enumerate() {
        if move_of(moves, section).is_some() {
            let section = moved_section(moves, section);
            let header = image.header.sections_at + index as u64 * SECTION_SIZE;
            overlay.put(header + 16, &section.address.to_le_bytes());
            overlay.put(header + 24, &section.offset.to_le_bytes());
            overlay.put(header + 32, &section.size.to_le_bytes());
        }
    }
    if let Some(it) = table_move(moves) {
        overlay.put(40, &it.to.offset.to_le_bytes());
    }
}

/// Lets dynamic entries say where the pieces are after the moves.
pub(super) fn readdress(entries: &mut [DynamicEntry], moves: &[Move]) {
    for entry in entries {
        if let Some(it) = moves.iter().find(|it| it.from.kind.tag() == Some(entry.tag)) {
            entry.value = it.to.address;
        } else if let Some(it) = moves.iter().find(|it| it.from.kind == PieceKind::Strings)
            && entry.tag == elf::DT_STRSZ
        {
            entry.value = it.to.size;
        }
    }
}

/// The first entry of the global offset table holds the address of the dynamic section (x86-64 ABI).
pub(super) fn write_got(image: &Image<'_>, overlay: &mut Overlay, entries: &[DynamicEntry], moves: &[Move]) {
    let Some(it) = moves.iter().find(|it| it.from.kind == PieceKind::Dynamic) else { return };
    let got = entries.iter().find(|entry| entry.tag == elf::DT_PLTGOT);
    if let Some(at) = got.and_then(|entry| image.offset_of(entry.value))
        && image.bytes.u64(at) == Some(it.from.address)
    {
        overlay.put(at, &it.to.address.to_le_bytes());
    }
}

/// Entries as bytes, with the closing one.
pub(super) fn entry_bytes(entries: &[DynamicEntry]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity((entries.len() + 1) * 16);
    for entry in entries {
        bytes.extend_from_slice(&entry.tag.0.to_le_bytes());
        bytes.extend_from_slice(&entry.value.to_le_bytes());
    }
    bytes.extend_from_slice(&[0; 16]);
    bytes
}
