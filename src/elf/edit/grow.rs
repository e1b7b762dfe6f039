//! When room runs out: one loaded segment at the end of the file, rewritten by later edits.
//!
//! The segment begins with the dynamic strings, so that neither `.interp` nor a note comes first
//! (`llvm-strip` would take the segment for theirs). Then come the pieces that must make room for one
//! more program header behind the table, which stays where it is, and `.dynamic` if it was full.

use object::elf;

use super::draft::{Draft, Slot, entry_bytes, place_needs};
use super::pieces::{Piece, PieceKind};
use super::references::TEXT_TAGS;
use crate::elf::bytes::round_up;
use crate::elf::image::{HEADER_SIZE, SECTION_SIZE, SEGMENT_SIZE};
use crate::elf::symbols::SYMBOL_SIZE;
use crate::elf::{DynamicEntry, ElfError, Image, Section, Segment, SymbolTable};

/// Spare entries of a dynamic section that moves, as GNU ld leaves them for other tools.
const SPARE_ENTRIES: usize = 4;
/// The tail begins at a multiple of this.
const TAIL_ALIGN: u64 = 16;
/// `eu-elflint` takes a relocation to write as many bytes as its symbol has, and complains when these
/// reach a read-only segment; address space up to this is kept free for its sake.
const FARTHEST: u64 = 16 << 20;

/// A segment that an earlier edit made: the last one, it begins with the dynamic strings and holds
/// nothing that cannot move. Gives its index.
pub(super) fn own_segment(image: &Image<'_>, pieces: &[Piece]) -> Option<usize> {
    let loads = image.segments.iter().enumerate().filter(|(_, segment)| segment.kind == elf::PT_LOAD);
    let (index, last) = loads.max_by_key(|(_, segment)| segment.address)?;
    let strings = pieces.iter().find(|piece| piece.kind == PieceKind::Strings)?;
    if last.offset == 0 || last.offset != strings.offset || last.memory_size != last.file_size {
        return None;
    }
    let mut inside: Vec<&Piece> =
        pieces.iter().filter(|piece| piece.overlaps(last.offset, last.offset + last.file_size)).collect();
    inside.sort_by_key(|piece| piece.offset);
    let mut end = last.offset;
    for piece in inside {
        // Between two pieces there is at most their alignment.
        if piece.offset > end + TAIL_ALIGN {
            return None;
        }
        end = end.max(piece.offset + piece.size);
    }
    (end == last.offset + last.file_size).then_some(index)
}

/// Where the tail of an earlier edit ends: behind its segment, or behind the section headers if they had
/// to move too.
fn own_end(segment: &Segment, pieces: &[Piece]) -> u64 {
    let end = segment.offset + segment.file_size;
    let table = pieces.iter().find(|piece| piece.kind == PieceKind::SectionTable);
    let directly_behind = |table: &&Piece| table.offset >= end && table.offset - end < TAIL_ALIGN;
    table.filter(directly_behind).map_or(end, |table| table.offset + table.size)
}

/// Page size of the processor: the alignment that the loader needs.
fn page_size(machine: elf::Machine) -> u64 {
    match machine {
        elf::EM_AARCH64 | elf::EM_PPC64 | elf::EM_LOONGARCH | elf::EM_MIPS => 0x10000,
        _ => 0x1000,
    }
}

/// Where a piece goes.
struct Move {
    from: Piece,
    to_offset: u64,
    to_address: u64,
    size: u64,
    /// Its content, where that is made anew; else it is copied.
    fresh: Option<Vec<u8>>,
}

/// Plans the new segment into the draft; gives where the tail begins, and the tail.
pub(super) fn grow(draft: &mut Draft<'_>) -> Result<(u64, Vec<u8>), ElfError> {
    let image = draft.image;
    let own = own_segment(image, &draft.pieces);
    let old = own.and_then(|index| image.segments.get(index)).copied();
    let length = image.bytes.len();
    let tail_at = match &old {
        Some(segment) if own_end(segment, &draft.pieces) == length => segment.offset,
        Some(_) => round_up(length, TAIL_ALIGN).ok_or_else(too_big)?,
        None => {
            refuse_appended_data(image)?;
            round_up(length, TAIL_ALIGN).ok_or_else(too_big)?
        }
    };
    let distance = SymbolTable::dynamic(image, draft.dynamic)?.largest().min(FARTHEST);
    let address = free_address(image, own, tail_at, distance)?;
    let slot = header_slot(image, own);
    let moved = moved_pieces(draft, old.as_ref(), slot)?;

    let entries = place_texts(draft);
    draft.write_needs();
    let interpreter_moves = moved.iter().any(|piece| piece.kind == PieceKind::Interpreter);
    if !interpreter_moves {
        draft.write_interpreter_in_place();
    }
    let mut moves = lay_out(draft, &moved, entries.len(), tail_at, address)?;
    write_symbols(draft, &moves);
    write_sections(draft, &moves);
    write_dynamic(draft, &mut moves, entries);

    let flags =
        if moves.iter().any(|it| it.from.kind == PieceKind::Dynamic) { elf::PF_R.0 | elf::PF_W.0 } else { elf::PF_R.0 };
    let mut tail = Vec::new();
    for it in &moves {
        tail.resize((it.to_offset - tail_at) as usize, 0);
        match &it.fresh {
            Some(bytes) => tail.extend_from_slice(bytes),
            None => tail.extend_from_slice(&draft.overlay.read(image.bytes(), it.from.offset, it.from.size)),
        }
    }
    if let Some(it) = table_move(&moves) {
        // Nothing reads the old place, which must not tell of the way.
        draft.overlay.put(it.from.offset, &vec![0; it.from.size as usize]);
    }
    // The section headers stand behind the segment: tools that write them anew cut the file there.
    let loaded = moves.iter().filter(|it| it.from.kind != PieceKind::SectionTable);
    let size = loaded.map(|it| it.to_offset + it.size - tail_at).max().unwrap_or(0);
    let segment = Segment {
        kind: elf::PT_LOAD,
        flags: elf::ProgramFlags(flags),
        offset: tail_at,
        address,
        physical: address,
        file_size: size,
        memory_size: size,
        align: page_size(image.header.machine),
    };
    write_segments(draft, &moves, segment, own, slot);
    if let Some(segment) = old.filter(|segment| segment.offset != tail_at) {
        // Somebody put something behind our segment: its old bytes are dead now.
        draft.overlay.put(segment.offset, &vec![0; segment.file_size as usize]);
    }
    Ok((tail_at, tail))
}

fn too_big() -> ElfError {
    ElfError::refused("no room for another segment in its address space", "leave it out")
}

/// Data behind the ELF part (installers, archives that run) is found from the end of the file.
fn refuse_appended_data(image: &Image<'_>) -> Result<(), ElfError> {
    let sections = image.sections.iter().filter(|section| section.in_file());
    let ends = sections
        .map(|section| section.offset.saturating_add(section.size))
        .chain(image.segments.iter().map(|segment| segment.offset.saturating_add(segment.file_size)))
        .chain([image.header.sections_at + image.sections.len() as u64 * SECTION_SIZE, HEADER_SIZE]);
    let end = ends.max().unwrap_or(0);
    let behind = image.bytes().get(usize::try_from(end).unwrap_or(usize::MAX)..).unwrap_or_default();
    if behind.iter().any(|byte| *byte != 0) {
        return Err(ElfError::refused(
            "data is appended behind its ELF part, and the change needs room at the end",
            "choose a text that is no longer than the present one, or patch before the data is appended",
        ));
    }
    Ok(())
}

/// `distance` keeps the new segment away from relocated data.
fn free_address(image: &Image<'_>, own: Option<usize>, tail_at: u64, distance: u64) -> Result<u64, ElfError> {
    let page = page_size(image.header.machine);
    let mut end = 0;
    let mut align = page;
    for (index, segment) in image.segments.iter().enumerate() {
        if segment.kind == elf::PT_LOAD && Some(index) != own {
            end = end.max(segment.address.checked_add(segment.memory_size).ok_or_else(too_big)?);
            align = align.max(segment.align);
        }
    }
    let start = end
        .checked_add(distance)
        .and_then(|end| round_up(end, align))
        .and_then(|start| start.checked_add(tail_at % page))
        .ok_or_else(too_big)?;
    // Keep clear of the end of what any loader maps.
    if start >= 1 << 47 { Err(too_big()) } else { Ok(start) }
}

/// The place of the new program header.
#[derive(Clone, Copy)]
enum HeaderSlot {
    /// An entry that is there already: our own or an unused one.
    Existing(usize),
    /// The table grows; the new entry stands at this index.
    Grown(usize),
}

fn header_slot(image: &Image<'_>, own: Option<usize>) -> HeaderSlot {
    let last_load = image.segments.iter().rposition(|segment| segment.kind == elf::PT_LOAD).unwrap_or(0);
    // Loaded segments stand in the order of their addresses, so an unused entry must stand behind them.
    let unused = image.segments.iter().rposition(|segment| segment.kind == elf::PT_NULL);
    match own.or(unused.filter(|index| *index > last_load)) {
        Some(index) => HeaderSlot::Existing(index),
        None => HeaderSlot::Grown(last_load + 1),
    }
}

fn moved_pieces(draft: &Draft<'_>, old: Option<&Segment>, slot: HeaderSlot) -> Result<Vec<Piece>, ElfError> {
    let image = draft.image;
    let grown = match slot {
        HeaderSlot::Existing(_) => None,
        HeaderSlot::Grown(_) => Some(header_room(image)?),
    };
    let moves = |piece: &Piece| {
        let in_way = grown.is_some_and(|(start, end)| piece.overlaps(start, end));
        let in_own = old.is_some_and(|own| piece.overlaps(own.offset, own_end(own, &draft.pieces)));
        let too_small = match piece.kind {
            PieceKind::Strings => true,
            PieceKind::Dynamic => !draft.capacity_suffices(),
            PieceKind::Interpreter => !draft.interpreter_fits(),
            _ => false,
        };
        in_way || in_own || too_small
    };
    let moved: Vec<Piece> = draft.pieces.iter().filter(|piece| moves(piece)).copied().collect();
    if let Some((start, end)) = grown {
        refuse_immovable(image, &moved, start, end)?;
    }
    for piece in &moved {
        refuse_other_segments(image, piece)?;
    }
    Ok(moved)
}

/// The bytes that one more program header takes.
fn header_room(image: &Image<'_>) -> Result<(u64, u64), ElfError> {
    let start = image.header.segments_at + image.segments.len() as u64 * SEGMENT_SIZE;
    let end = start + SEGMENT_SIZE;
    // At 64 in what linkers write; elsewhere after some optimisers. The loader finds it either way.
    let covers = |load: &Segment| load.offset <= start && end <= load.offset + load.file_size;
    let loaded = image.loads().any(covers);
    if !loaded || image.segments.len() + 1 >= usize::from(elf::PN_XNUM) {
        return Err(ElfError::refused(
            "one more program header is needed and would not be loaded",
            "choose a text that is no longer than the present one",
        ));
    }
    Ok((start, end))
}

fn refuse_immovable(image: &Image<'_>, moved: &[Piece], start: u64, end: u64) -> Result<(), ElfError> {
    let in_way = |what: &str| {
        Err(ElfError::refused(
            format!("{what} stands directly behind the program headers, where one more is needed"),
            "choose a text that is no longer than the present one, or link with spare room",
        ))
    };
    for section in &image.sections {
        let overlaps = section.in_file() && section.offset < end && section.offset.saturating_add(section.size) > start;
        if overlaps && section.size > 0 && !moved.iter().any(|piece| piece.contains(section.offset, section.size)) {
            return in_way(&format!("section {}", section.name));
        }
    }
    if image.sections.is_empty() {
        let free = |at: &u64| moved.iter().any(|piece| piece.contains(*at, 1)) || image.bytes.u8(*at) == Some(0);
        if !(start..end).all(|at| free(&at)) {
            return in_way("something unknown");
        }
    }
    Ok(())
}

/// A segment that covers part of a moved piece and is not one of those that move with it.
fn refuse_other_segments(image: &Image<'_>, piece: &Piece) -> Result<(), ElfError> {
    for segment in &image.segments {
        let overlaps =
            segment.file_size > 0 && piece.overlaps(segment.offset, segment.offset.saturating_add(segment.file_size));
        let known = matches!(
            segment.kind,
            elf::PT_LOAD | elf::PT_GNU_RELRO | elf::PT_INTERP | elf::PT_NOTE | elf::PT_GNU_PROPERTY | elf::PT_DYNAMIC
        );
        if overlaps && !known {
            return Err(ElfError::refused(
                format!("a segment of kind {:#x} covers what would have to move", segment.kind.0),
                "choose a text that is no longer than the present one",
            ));
        }
    }
    Ok(())
}

/// Gives every text its place in a table that may grow.
fn place_texts(draft: &mut Draft<'_>) -> Vec<DynamicEntry> {
    // What stands behind the last text that others need is placed anew, so that the table does not
    // depend on the order of earlier edits.
    let kept: Vec<u64> = draft.kept_texts().map(|entry| entry.value).collect();
    let mut base = draft.foreign.clone();
    let end = base.last().copied().unwrap_or(0);
    base.extend(kept.iter().filter(|at| **at < end));
    let mut strings = super::strings::Strings::new(draft.strings.bytes(), base);
    strings.trim();
    let size = strings.bytes().len() as u64;
    let entries = draft
        .slots
        .iter()
        .map(|slot| match slot {
            Slot::Keep(entry) if TEXT_TAGS.contains(&entry.tag) && entry.value >= size => {
                let text = draft.dynamic.string(entry.value).unwrap_or_default();
                DynamicEntry { tag: entry.tag, value: strings.place_or_append(&text) }
            }
            Slot::Keep(entry) => *entry,
            Slot::Text(tag, text) => DynamicEntry { tag: *tag, value: strings.place_or_append(text) },
        })
        .collect();
    if let Some((table, names)) = &mut draft.needs {
        place_needs(table, names, |text| Some(strings.place_or_append(text)));
    }
    draft.strings = strings;
    entries
}

fn lay_out(
    draft: &Draft<'_>,
    moved: &[Piece],
    entries: usize,
    tail_at: u64,
    address: u64,
) -> Result<Vec<Move>, ElfError> {
    let mut at = tail_at;
    let mut moves = Vec::new();
    for piece in moved {
        let fresh = match piece.kind {
            PieceKind::Strings => Some(draft.strings.bytes().to_vec()),
            PieceKind::Interpreter => Some(interpreter_bytes(draft, piece)),
            PieceKind::Dynamic => Some(vec![0; (entries + 1 + SPARE_ENTRIES) * 16]),
            _ => None,
        };
        at = round_up(at, piece.align).ok_or_else(too_big)?;
        let size = fresh.as_ref().map_or(piece.size, |bytes| bytes.len() as u64);
        moves.push(Move { from: *piece, to_offset: at, to_address: address + (at - tail_at), size, fresh });
        at = at.checked_add(size).ok_or_else(too_big)?;
    }
    Ok(moves)
}

fn interpreter_bytes(draft: &Draft<'_>, piece: &Piece) -> Vec<u8> {
    match &draft.interpreter {
        Some(text) => [text.as_bytes(), b"\0"].concat(),
        None => draft.overlay.read(draft.image.bytes(), piece.offset, piece.size),
    }
}

/// Symbols that lie in a moved section move with it: section symbols, and `_DYNAMIC`, which some
/// linkers leave without a type.
fn write_symbols(draft: &mut Draft<'_>, moves: &[Move]) {
    let image = draft.image;
    let symbol_tables = image
        .sections
        .iter()
        .filter(|section| matches!(section.kind, elf::SHT_SYMTAB | elf::SHT_DYNSYM))
        .map(|section| (section.offset, section.size));
    for (offset, size) in symbol_tables {
        let Some(table) = image.bytes.get(offset, size).map(crate::elf::bytes::Bytes) else { continue };
        for index in 0..size / SYMBOL_SIZE {
            let at = index * SYMBOL_SIZE;
            let (Some(section), Some(value)) = (table.u16(at + 6), table.u64(at + 8)) else { continue };
            let Some(section) = image.sections.get(usize::from(section)) else { continue };
            if value < section.address || section.kind == elf::SHT_NULL {
                continue;
            }
            if let Some((it, shift)) = moved_section(moves, section) {
                let delta = value - section.address;
                if delta <= it.from.size {
                    let value = it.to_address + shift + delta;
                    draft.overlay.put(offset + at + 8, &value.to_le_bytes());
                }
            }
        }
    }
}

/// The move that takes a section along, and the section's place inside the piece.
fn moved_section<'m>(moves: &'m [Move], section: &Section) -> Option<(&'m Move, u64)> {
    if section.flags.0 & elf::SHF_ALLOC.0 == 0 || !section.in_file() || section.size == 0 {
        return None;
    }
    let it = moves.iter().find(|it| it.from.contains(section.offset, section.size))?;
    Some((it, section.offset - it.from.offset))
}

fn write_sections(draft: &mut Draft<'_>, moves: &[Move]) {
    for (index, section) in draft.image.sections.iter().enumerate() {
        let Some((it, shift)) = moved_section(moves, section) else { continue };
        let header = draft.image.header.sections_at + index as u64 * SECTION_SIZE;
        draft.overlay.put(header + 16, &(it.to_address + shift).to_le_bytes());
        draft.overlay.put(header + 24, &(it.to_offset + shift).to_le_bytes());
        if it.fresh.is_some() {
            draft.overlay.put(header + 32, &it.size.to_le_bytes());
        }
    }
    if let Some(it) = table_move(moves) {
        draft.overlay.put(40, &it.to_offset.to_le_bytes());
    }
}

/// The move of the section headers.
fn table_move(moves: &[Move]) -> Option<&Move> {
    moves.iter().find(|it| it.from.kind == PieceKind::SectionTable)
}

fn write_dynamic(draft: &mut Draft<'_>, moves: &mut [Move], mut entries: Vec<DynamicEntry>) {
    for entry in &mut entries {
        if let Some(it) = moves.iter().find(|it| it.from.kind.tag() == Some(entry.tag)) {
            entry.value = it.to_address;
        } else if entry.tag == elf::DT_STRSZ {
            entry.value = draft.strings.bytes().len() as u64;
        }
    }
    let mut bytes = entry_bytes(&entries);
    match moves.iter_mut().find(|it| it.from.kind == PieceKind::Dynamic) {
        Some(it) => {
            bytes.resize(it.size as usize, 0);
            it.fresh = Some(bytes);
            let (from, to) = (it.from.address, it.to_address);
            write_got(draft, &entries, from, to);
        }
        None => {
            bytes.resize((draft.dynamic.capacity * 16) as usize, 0);
            draft.overlay.put(draft.dynamic.offset, &bytes);
        }
    }
}

/// The first entry of the global offset table holds the address of the dynamic section (x86-64 ABI).
fn write_got(draft: &mut Draft<'_>, entries: &[DynamicEntry], from: u64, to: u64) {
    let got = entries.iter().find(|entry| entry.tag == elf::DT_PLTGOT);
    if let Some(at) = got.and_then(|entry| draft.image.offset_of(entry.value))
        && draft.image.bytes.u64(at) == Some(from)
    {
        draft.overlay.put(at, &to.to_le_bytes());
    }
}

fn write_segments(draft: &mut Draft<'_>, moves: &[Move], new: Segment, own: Option<usize>, slot: HeaderSlot) {
    let mut segments = draft.image.segments.clone();
    let headers = (segments.len() as u64 + u64::from(matches!(slot, HeaderSlot::Grown(_)))) * SEGMENT_SIZE;
    for (index, segment) in segments.iter_mut().enumerate() {
        match segment.kind {
            elf::PT_PHDR => (segment.file_size, segment.memory_size) = (headers, headers),
            elf::PT_LOAD | elf::PT_GNU_RELRO => {}
            _ if Some(index) == own || segment.file_size == 0 => {}
            _ => {
                if let Some(it) = moves.iter().find(|it| it.from.contains(segment.offset, segment.file_size)) {
                    let shift = segment.offset - it.from.offset;
                    segment.offset = it.to_offset + shift;
                    segment.address = it.to_address + shift;
                    segment.physical = segment.address;
                    if it.fresh.is_some() {
                        (segment.file_size, segment.memory_size) = (it.size, it.size);
                    }
                }
            }
        }
    }
    match slot {
        HeaderSlot::Existing(index) => segments[index] = new,
        HeaderSlot::Grown(index) => segments.insert(index, new),
    }
    let mut bytes = Vec::with_capacity(segments.len() * SEGMENT_SIZE as usize);
    for segment in &segments {
        bytes.extend_from_slice(&segment.kind.0.to_le_bytes());
        bytes.extend_from_slice(&segment.flags.0.to_le_bytes());
        for value in
            [segment.offset, segment.address, segment.physical, segment.file_size, segment.memory_size, segment.align]
        {
            bytes.extend_from_slice(&value.to_le_bytes());
        }
    }
    draft.overlay.put(draft.image.header.segments_at, &bytes);
    draft.overlay.put(56, &(segments.len() as u16).to_le_bytes());
}
