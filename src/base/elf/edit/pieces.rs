//! The parts of a file that may move, because only headers and the dynamic section say where they
//! are. Code never does.

use object::elf;

use super::needs::NeedsTable;
use crate::elf::image::Segment;
use crate::elf::image::{HEADER_SIZE, SECTION_SIZE, SEGMENT_SIZE};
use crate::elf::symbols::{SYMBOL_SIZE, hash_size, relocation_tables};
use crate::elf::{Dynamic, ElfError, Image, Section, SymbolTable};

/// What a piece is. The order is the one in which moved pieces are laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum PieceKind {
    Strings,
    Interpreter,
    Note,
    Hash,
    GnuHash,
    Symbols,
    SymbolVersions,
    VersionDefinitions,
    VersionNeeds,
    Dynamic,
    /// The section headers, which the loader does not read. Go's linker puts them directly behind the
    /// program headers.
    SectionTable,
}

impl PieceKind {
    /// The dynamic entry that holds its address.
    pub(super) fn tag(self) -> Option<elf::DynamicTag> {
        Some(match self {
            Self::Strings => elf::DT_STRTAB,
            Self::Hash => elf::DT_HASH,
            Self::GnuHash => elf::DT_GNU_HASH,
            Self::Symbols => elf::DT_SYMTAB,
            Self::SymbolVersions => elf::DT_VERSYM,
            Self::VersionDefinitions => elf::DT_VERDEF,
            Self::VersionNeeds => elf::DT_VERNEED,
            Self::Interpreter | Self::Note | Self::Dynamic | Self::SectionTable => return None,
        })
    }
}

/// One movable part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) kind: PieceKind,
    pub(super) offset: u64,
    pub(super) address: u64,
    pub(super) size: u64,
    pub(super) align: u64,
}

impl Piece {
    pub(super) fn overlaps(&self, start: u64, end: u64) -> bool {
        self.offset < end && start < self.offset.saturating_add(self.size)
    }

    pub(super) fn contains(&self, offset: u64, size: u64) -> bool {
        let end = offset.checked_add(size);
        offset >= self.offset && end.is_some_and(|end| end <= self.offset.saturating_add(self.size))
    }
}

/// All movable parts, by kind and offset.
pub(super) fn pieces(image: &Image<'_>, dynamic: &Dynamic<'_>) -> Result<Vec<Piece>, ElfError> {
    let mut pieces = notes(image);
    if let Some(segment) = image.segment(elf::PT_INTERP) {
        pieces.push(Piece {
            kind: PieceKind::Interpreter,
            offset: segment.offset,
            address: segment.address,
            size: segment.file_size,
            align: 1,
        });
    }
    if let Some(segment) = image.segment(elf::PT_DYNAMIC) {
        pieces.push(Piece {
            kind: PieceKind::Dynamic,
            offset: dynamic.offset,
            address: segment.address,
            size: segment.file_size,
            align: 8,
        });
    }
    if !image.sections.is_empty() {
        pieces.push(Piece {
            kind: PieceKind::SectionTable,
            offset: image.header.sections_at,
            address: 0,
            size: image.sections.len() as u64 * SECTION_SIZE,
            align: 8,
        });
    }
    for (kind, align) in [
        (PieceKind::Strings, 1),
        (PieceKind::Hash, 8),
        (PieceKind::GnuHash, 8),
        (PieceKind::Symbols, 8),
        (PieceKind::SymbolVersions, 2),
        (PieceKind::VersionDefinitions, 8),
        (PieceKind::VersionNeeds, 8),
    ] {
        let address = kind.tag().and_then(|tag| dynamic.value(tag)).or_else(|| left_over(image, kind));
        let Some(address) = address else { continue };
        let outside = || ElfError::damaged("the dynamic section names an address outside the file");
        let (offset, available) = image.run_at(address).ok_or_else(outside)?;
        let size = size(image, dynamic, kind, address, offset)?;
        // What lies behind the segments in the file is not what the loader finds there.
        if available < size {
            return Err(outside());
        }
        image.bytes.get(offset, size).ok_or_else(outside)?;
        pieces.push(Piece { kind, offset, address, size, align });
    }
    if pieces.iter().any(|piece| image.bytes.get(piece.offset, piece.size).is_none()) {
        return Err(ElfError::damaged("a note or the interpreter reaches past the end of the file"));
    }
    refuse_overlaps(image, dynamic, &pieces)?;
    pieces.sort_by_key(|piece| (piece.kind, piece.offset));
    Ok(pieces)
}

/// The section of version records stays when the last of them is gone.
fn left_over(image: &Image<'_>, kind: PieceKind) -> Option<u64> {
    let is = |section: &&Section| {
        section.kind == elf::SHT_GNU_VERNEED
            && section.size > 0
            && image.offset_of(section.address) == Some(section.offset)
    };
    image.sections.iter().find(is).filter(|_| kind == PieceKind::VersionNeeds).map(|section| section.address)
}

/// Tables of a hostile file may lie in each other: then no change of one leaves the others alone.
fn refuse_overlaps(image: &Image<'_>, dynamic: &Dynamic<'_>, pieces: &[Piece]) -> Result<(), ElfError> {
    let headers = image.segments.len() as u64 * SEGMENT_SIZE;
    let mut areas: Vec<(u64, u64)> = vec![(0, HEADER_SIZE), (image.header.segments_at, headers)];
    areas.extend(pieces.iter().filter(|piece| piece.size > 0).map(|piece| (piece.offset, piece.size)));
    areas.sort_unstable();
    let overlap = areas.windows(2).any(|pair| pair[0].0.saturating_add(pair[0].1) > pair[1].0);
    // Tables of relocations never move, and some linkers let them lie in each other.
    let mut tables = relocation_tables(image, dynamic).filter(|(_, size)| *size > 0);
    let relocated = tables
        .any(|(at, size)| pieces.iter().any(|piece| piece.size > 0 && piece.overlaps(at, at.saturating_add(size))));
    // A note without a segment is no piece, but must not be taken for the interpreter.
    let interpreter = pieces.iter().find(|piece| piece.kind == PieceKind::Interpreter && piece.size > 0);
    let mut notes = image.sections.iter().filter(|section| section.kind == elf::SHT_NOTE && section.size > 0);
    let noted = interpreter
        .is_some_and(|piece| notes.any(|note| piece.overlaps(note.offset, note.offset.saturating_add(note.size))));
    if overlap || relocated || noted { Err(ElfError::damaged("two of its tables overlap")) } else { Ok(()) }
}

fn size(image: &Image<'_>, dynamic: &Dynamic<'_>, kind: PieceKind, address: u64, offset: u64) -> Result<u64, ElfError> {
    if kind == PieceKind::Strings {
        return Ok(dynamic.strings().len() as u64);
    }
    let section = match kind {
        PieceKind::Hash => elf::SHT_HASH,
        PieceKind::GnuHash => elf::SHT_GNU_HASH,
        PieceKind::Symbols => elf::SHT_DYNSYM,
        PieceKind::SymbolVersions => elf::SHT_GNU_VERSYM,
        PieceKind::VersionDefinitions => elf::SHT_GNU_VERDEF,
        _ => elf::SHT_GNU_VERNEED,
    };
    let unknown = || ElfError::refused("the size of one of its tables is unknown", "keep the section headers");
    let own = match kind {
        PieceKind::Hash => {
            let count = |at: u64| image.bytes.u32(at).map(u64::from);
            count(offset).zip(count(offset + 4)).map(|(buckets, chains)| 8 + 4 * (buckets + chains))
        }
        PieceKind::GnuHash => hash_size(image.bytes, offset),
        PieceKind::Symbols => Some(SymbolTable::dynamic(image, dynamic)?.len() * SYMBOL_SIZE),
        PieceKind::SymbolVersions => Some(SymbolTable::dynamic(image, dynamic)?.len() * 2),
        PieceKind::VersionNeeds => NeedsTable::parse(image, dynamic)?.map(|table| table.size),
        _ => definitions_size(image, offset),
    };
    // A table that is cut to what its section header says would lose what the loader reads behind that.
    match (image.sections.iter().find(|it| it.kind == section && it.address == address), own) {
        (Some(section), Some(own)) if section.size < own => {
            Err(ElfError::damaged("a section header makes one of its tables smaller than it is"))
        }
        (Some(section), _) if section.offset != offset => {
            Err(ElfError::damaged("a section header names another place for one of its tables than the segments"))
        }
        (Some(section), _) => Ok(section.size),
        // How many symbols there are would be read from other places after an edit.
        (None, _) if kind == PieceKind::Symbols && image.sections.iter().any(|it| it.kind == section) => {
            Err(ElfError::damaged("its section headers and its dynamic section name different symbols"))
        }
        (None, own) => own.ok_or_else(unknown),
    }
}

fn definitions_size(image: &Image<'_>, start: u64) -> Option<u64> {
    let bytes = image.bytes;
    let mut at = start;
    let mut end = start;
    for _ in 0..1 << 15 {
        let mut name = at.checked_add(u64::from(bytes.u32(at.checked_add(12)?)?))?;
        end = end.max(at + 20);
        for _ in 0..bytes.u16(at.checked_add(6)?)? {
            end = end.max(name.checked_add(8)?);
            match bytes.u32(name + 4)? {
                0 => break,
                step => name = name.checked_add(u64::from(step))?,
            }
        }
        match bytes.u32(at + 16)? {
            0 => return Some(end - start),
            step => at = at.checked_add(u64::from(step))?,
        }
    }
    None
}

/// Note areas: what one `PT_NOTE` covers moves together, with the `PT_GNU_PROPERTY` inside it. Old releases of patchelf
/// grow the table of program headers over notes and leave their segments behind: there is no note there any more.
fn notes(image: &Image<'_>) -> Vec<Piece> {
    let headers = image.header.segments_at..image.header.segments_at + image.segments.len() as u64 * SEGMENT_SIZE;
    let overwritten = |it: &Segment| it.offset < headers.end && headers.start < it.offset.saturating_add(it.file_size);
    let mut areas: Vec<Piece> = image
        .segments
        .iter()
        .filter(|segment| matches!(segment.kind, elf::PT_NOTE | elf::PT_GNU_PROPERTY) && segment.file_size > 0)
        .filter(|segment| !overwritten(segment))
        .map(|segment| Piece {
            kind: PieceKind::Note,
            offset: segment.offset,
            address: segment.address,
            size: segment.file_size,
            align: if segment.align >= 8 { 8 } else { 4 },
        })
        .collect();
    areas.sort_by_key(|area| (area.offset, std::cmp::Reverse(area.size)));
    let mut merged: Vec<Piece> = Vec::new();
    for area in areas {
        match merged.last_mut() {
            Some(last) if area.offset < last.offset.saturating_add(last.size) => {
                let end = last.offset.saturating_add(last.size).max(area.offset.saturating_add(area.size));
                last.size = end - last.offset;
                last.align = last.align.max(area.align);
            }
            _ => merged.push(area),
        }
    }
    merged
}
