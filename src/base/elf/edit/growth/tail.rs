//! The segment that an edit put at the end of a file, and what it keeps of the file before: where the
//! pieces in it had been, so that they go back when the texts fit there again.
//!
//! That record is the end of the segment: 32 bytes per piece (kind, offset, address, size) in the order
//! of the pieces, then 32 bytes: a mark, the length of the file, the place of its section headers, and how
//! many pieces and sections there are. Tools that write a file anew drop it, or make it untrue: then
//! the segment is rewritten where it is, and nothing goes back.

use object::elf;

use super::headers::UNUSED;
use crate::elf::bytes::{Bytes, round_up};
use crate::elf::edit::moves::{Move, entry_bytes, moved_section, moved_segment, table_move};
use crate::elf::edit::pieces::{Piece, PieceKind};
use crate::elf::image::SEGMENT_SIZE;
use crate::elf::{Dynamic, DynamicEntry, Image, Segment};

/// The tail begins at a multiple of this.
pub(super) const TAIL_ALIGN: u64 = 16;
/// Bytes of an entry of the record, and of what closes it.
const RECORD: u64 = 32;
const MARK: u64 = u64::from_le_bytes(*b"simpack\x01");
/// More pieces than a file has.
const MOST: u64 = 64;
/// Other editors fill up their segments, at most to the end of a page.
const PADDING: u64 = 0x1000;

/// A piece, where it is and where it was in the file before it grew; nowhere if nobody knows.
#[derive(Debug, Clone, Copy)]
pub(in crate::elf::edit) struct Part {
    pub(in crate::elf::edit) now: Piece,
    pub(in crate::elf::edit) home: Option<Piece>,
}

/// The segment of an earlier edit.
pub(in crate::elf::edit) struct Tail {
    /// Index of its program header.
    pub(in crate::elf::edit) index: usize,
    /// File offset behind it, and behind the section headers if they are with it.
    pub(in crate::elf::edit) end: u64,
    /// What is known of the file before.
    pub(in crate::elf::edit) origin: Option<Origin>,
}

/// The file before it grew.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::elf::edit) struct Origin {
    /// Bytes.
    pub(in crate::elf::edit) length: u64,
    /// The program header was there, unused.
    pub(super) reused: bool,
}

/// The tail of the file, if it has one, and all pieces with their homes. `names` are the places in the
/// dynamic strings that no edit changes, `kept` the dynamic entries.
pub(in crate::elf::edit) fn find(
    image: &Image<'_>,
    dynamic: &Dynamic<'_>,
    pieces: &[Piece],
    names: impl Iterator<Item = u64>,
    kept: &[DynamicEntry],
) -> (Option<Tail>, Vec<Part>) {
    let mut parts: Vec<Part> = pieces.iter().map(|piece| Part { now: *piece, home: Some(*piece) }).collect();
    let Some(index) = own_segment(image, pieces) else { return (None, parts) };
    let own = image.segments[index];
    let mut tail = Tail { index, end: end(&own, pieces), origin: None };
    let inside = |part: &Part| part.now.overlaps(own.offset, tail.end);
    for part in parts.iter_mut().filter(|part| inside(part)) {
        part.home = None;
    }
    let mut known = parts.clone();
    tail.origin = origin(image, &tail, &mut known).filter(|_| trustworthy(image, dynamic, &known, names, kept));
    if tail.origin.is_some() {
        parts = known;
    }
    (Some(tail), parts)
}

/// A segment that an earlier edit made, ours or another editor's: it begins with the dynamic strings and
/// holds nothing that cannot move. Gives its index.
fn own_segment(image: &Image<'_>, pieces: &[Piece]) -> Option<usize> {
    let strings = pieces.iter().find(|piece| piece.kind == PieceKind::Strings)?;
    let begins = |segment: &Segment| {
        segment.kind == elf::PT_LOAD
            && segment.offset != 0
            && segment.offset == strings.offset
            && segment.memory_size == segment.file_size
    };
    let index = image.segments.iter().position(begins)?;
    let own = &image.segments[index];
    let end = own.offset + own.file_size;
    let mut inside: Vec<&Piece> = pieces.iter().filter(|piece| piece.overlaps(own.offset, end)).collect();
    inside.sort_by_key(|piece| piece.offset);
    // Sections that are no pieces cannot move.
    let lies = |address: u64| own.address <= address && address - own.address < own.memory_size;
    let foreign = image.sections.iter().filter(|it| it.flags.0 & elf::SHF_ALLOC.0 != 0 && it.size > 0);
    let mut foreign = foreign.filter(|section| lies(section.address));
    if foreign.any(|section| !inside.iter().any(|piece| piece.contains(section.offset, section.size))) {
        return None;
    }
    let padding = |from: u64, to: u64| {
        to.checked_sub(from).is_some_and(|size| size <= PADDING)
            && image.bytes.get(from, to - from).is_some_and(|bytes| bytes.iter().all(|byte| *byte == 0))
    };
    let mut at = own.offset;
    for piece in inside {
        if piece.offset + piece.size > end || !padding(at, piece.offset) {
            return None;
        }
        at = piece.offset + piece.size;
    }
    let record = record_size(image.bytes, at, end);
    padding(at, end - record).then_some(index)
}

/// Bytes of the record that ends at `end`, if there is one behind `from`.
fn record_size(bytes: Bytes<'_>, from: u64, end: u64) -> u64 {
    let closing = end.checked_sub(RECORD).filter(|closing| bytes.u64(*closing) == Some(MARK));
    let count = closing.and_then(|closing| bytes.u64(closing + 24)).map(|counts| counts & 0xffff);
    let size = count.filter(|count| *count <= MOST).map_or(0, |count| (count + 1) * RECORD);
    if end.saturating_sub(size) >= from { size } else { 0 }
}

/// Behind the segment, or behind the section headers if they had to move too.
fn end(own: &Segment, pieces: &[Piece]) -> u64 {
    let end = own.offset + own.file_size;
    let table = pieces.iter().find(|piece| piece.kind == PieceKind::SectionTable);
    let directly_behind = |table: &&Piece| table.offset >= end && table.offset - end < TAIL_ALIGN;
    table.filter(directly_behind).map_or(end, |table| table.offset + table.size)
}

/// Reads the record, and gives the pieces of the tail their homes.
fn origin(image: &Image<'_>, tail: &Tail, parts: &mut [Part]) -> Option<Origin> {
    let own = image.segments.get(tail.index)?;
    let closing = (own.offset + own.file_size).checked_sub(RECORD)?;
    let word = |at: u64| image.bytes.u64(at);
    if word(closing)? != MARK {
        return None;
    }
    let (length, sections_at, counts) = (word(closing + 8)?, word(closing + 16)?, word(closing + 24)?);
    let (count, reused, sections) = (counts & 0xffff, counts >> 16 & 1 == 1, counts >> 32);
    let mut inside: Vec<&mut Part> = parts.iter_mut().filter(|part| part.home.is_none()).collect();
    inside.sort_by_key(|part| part.now.offset);
    let fits = count == inside.len() as u64
        && sections == image.sections.len() as u64
        && tail.end == image.bytes.len()
        && round_up(length, TAIL_ALIGN) == Some(own.offset);
    let first = closing.checked_sub(count.checked_mul(RECORD)?).filter(|_| fits)?;
    let mut table_at = image.header.sections_at;
    for (part, at) in inside.into_iter().zip((first..).step_by(RECORD as usize)) {
        let home = Piece { offset: word(at + 8)?, address: word(at + 16)?, size: word(at + 24)?, ..part.now };
        if word(at)? != home.kind as u64 || home.offset.checked_add(home.size)? > length {
            return None;
        }
        if home.kind == PieceKind::SectionTable {
            table_at = home.offset;
        }
        part.home = Some(home);
    }
    (table_at == sections_at).then_some(Origin { length, reused })
}

/// Whether the homes are as an edit leaves them: nobody else uses them now.
fn trustworthy(
    image: &Image<'_>,
    dynamic: &Dynamic<'_>,
    parts: &[Part],
    mut names: impl Iterator<Item = u64>,
    kept: &[DynamicEntry],
) -> bool {
    let headers = image.header.segments_at..image.header.segments_at + image.segments.len() as u64 * SEGMENT_SIZE;
    let mut areas: Vec<(u64, u64)> = Vec::new();
    for Part { now, home } in parts {
        let Some(home) = home else { return false };
        areas.push((home.offset, home.size));
        if home.offset == now.offset {
            continue;
        }
        let Some(bytes) = image.bytes.get(home.offset, home.size) else { return false };
        let loaded = home.kind == PieceKind::SectionTable || image.offset_of(home.address) == Some(home.offset);
        let unused = match home.kind {
            PieceKind::Strings => names.by_ref().all(|at| {
                let text = Bytes(bytes).text(at);
                text.is_some() && text == Bytes(dynamic.strings()).text(at)
            }),
            PieceKind::Dynamic => bytes == vacated_entries(kept, home.size),
            // Without sections the loader does not know it any more.
            _ if home.size != now.size && home.kind != PieceKind::Interpreter => false,
            _ => (home.offset..).zip(bytes).all(|(at, byte)| *byte == 0 || headers.contains(&at)),
        };
        if !loaded || !unused {
            return false;
        }
    }
    areas.retain(|(_, size)| *size > 0);
    areas.sort_unstable();
    areas.windows(2).all(|pair| pair[0].0 + pair[0].1 <= pair[1].0)
}

/// What stays where the dynamic section was: loaders that find their own by its place need its numbers.
pub(in crate::elf::edit) fn vacated_entries(kept: &[DynamicEntry], size: u64) -> Vec<u8> {
    let mut bytes = entry_bytes(kept);
    bytes.resize(size as usize, 0);
    bytes
}

/// The record of the pieces in the tail, in their order.
pub(in crate::elf::edit) fn record(image: &Image<'_>, homes: &[Piece], origin: Origin, sections_at: u64) -> Vec<u8> {
    let entries = homes.iter().map(|home| [home.kind as u64, home.offset, home.address, home.size]);
    let counts = homes.len() as u64 | u64::from(origin.reused) << 16 | (image.sections.len() as u64) << 32;
    let words = entries.chain([[MARK, origin.length, sections_at, counts]]).flatten();
    words.flat_map(u64::to_le_bytes).collect()
}

/// The tables of the file as they were before it grew; its bytes are those of now.
pub(in crate::elf::edit) fn before<'a>(image: &Image<'a>, tail: Option<&Tail>, parts: &[Part]) -> Image<'a> {
    let Some(tail) = tail else { return image.clone() };
    let home = |part: &Part| Some(Move { from: part.now, to: part.home? });
    let moves: Vec<Move> = parts.iter().filter_map(home).filter(|it| it.from.offset != it.to.offset).collect();
    let mut image = image.clone();
    if let Some(it) = table_move(&moves) {
        image.header.sections_at = it.to.offset;
    }
    image.sections = image.sections.iter().map(|section| moved_section(&moves, section)).collect();
    image.segments = segments_before(&image.segments, tail, &moves);
    image
}

/// The program headers without that of the tail.
pub(in crate::elf::edit) fn segments_before(segments: &[Segment], tail: &Tail, moves: &[Move]) -> Vec<Segment> {
    let mut segments: Vec<Segment> = segments.iter().map(|segment| moved_segment(moves, segment)).collect();
    if tail.origin.is_some_and(|origin| origin.reused) {
        segments[tail.index] = UNUSED;
    } else {
        segments.remove(tail.index);
    }
    let size = segments.len() as u64 * SEGMENT_SIZE;
    for headers in segments.iter_mut().filter(|segment| segment.kind == elf::PT_PHDR) {
        (headers.file_size, headers.memory_size) = (size, size);
    }
    segments
}
