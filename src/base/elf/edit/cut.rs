//! Cutting: whole pages that nobody needs any more leave the file, and the segment is split around
//! them. Everything else keeps its address; glibc and the kernel map such gaps as unreadable.
//!
//! A split needs one more program header. The table stays where it is, and the parts behind it that
//! may move go to the end of the freed room: there they stand in the second half of the segment, so
//! that a later cut only shortens the first half.

use object::elf;

use super::growth::grow::page_size;
use super::growth::headers::{UNUSED, in_the_way, segment_bytes};
use super::moves::{Move, entry_bytes, moved_section, moved_segment, readdress, write_sections, write_symbols};
use super::overlay::Overlay;
use super::patch_plan::Write;
use super::pieces::{Piece, PieceKind, pieces};
use crate::elf::bytes::round_up;
use crate::elf::image::{SECTION_SIZE, SEGMENT_SIZE};
use crate::elf::{Dynamic, ElfError, Image, Segment};

/// Space in the file that is free now: file offsets inside one loaded segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FreeRoom {
    /// Beginning.
    pub from: u64,
    /// End.
    pub to: u64,
}

/// A section whose beginning stays and whose end does not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ShrunkSection {
    /// Index.
    pub index: usize,
    /// Bytes that remain.
    pub size: u64,
}

/// A cut as a value, in positions of the uncut file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CutPlan {
    /// Ranges that leave the file, ascending: file offsets, whole pages.
    pub gaps: Vec<FreeRoom>,
    /// Writes over bytes that stay, ascending, without overlap.
    pub writes: Vec<Write>,
    /// Parts that stand elsewhere: where they stood, their bytes, where they stand.
    relocated: Vec<(u64, u64, u64)>,
}

impl CutPlan {
    /// Where the byte at `offset` of the uncut file stands afterwards.
    pub fn moved(&self, offset: u64) -> u64 {
        moved(&self.gaps, offset)
    }

    /// Where, in positions of the uncut file, the byte stands that stood at `offset`.
    pub fn relocated(&self, offset: u64) -> u64 {
        let part = self.relocated.iter().find(|(from, size, _)| (*from..from + size).contains(&offset));
        part.map_or(offset, |(from, _, to)| to + (offset - from))
    }
}

fn moved(gaps: &[FreeRoom], offset: u64) -> u64 {
    let gone: u64 = gaps.iter().filter(|gap| gap.from < offset).map(|gap| gap.to.min(offset) - gap.from).sum();
    offset - gone
}

/// Plans to cut `rooms` out of the file as far as they are whole pages.
///
/// # Errors
/// The file is damaged, or something that cannot move stands where another program header is needed.
pub fn cut(image: &Image<'_>, rooms: &[FreeRoom], shrunk: &[ShrunkSection]) -> Result<CutPlan, ElfError> {
    check(image)?;
    let page = page_size(image.header.machine);
    let mut rooms: Vec<FreeRoom> = rooms.iter().map(|room| widened(image, *room)).collect();
    rooms.sort_by_key(|room| room.from);
    let mut gaps = gaps(image, &rooms, page)?;
    if gaps.is_empty() {
        return Ok(CutPlan::default());
    }
    let more = added_headers(image, &gaps);
    let Some(dynamic) = Dynamic::parse(image)? else {
        return Err(ElfError::refused("it is static, and one more program header is needed", "keep the file's size"));
    };
    let mut overlay = Overlay::default();
    let mut moves = Vec::new();
    if more > 0 {
        let pieces = in_the_way(image, &pieces(image, &dynamic)?, more as u64)?;
        if pieces.iter().any(|piece| matches!(piece.kind, PieceKind::Dynamic)) {
            return Err(ElfError::refused(
                "its dynamic section stands behind the program headers",
                "keep the file's size",
            ));
        }
        moves = house(image, &rooms, &mut gaps, &pieces, page)?;
    }
    write_symbols(image, &mut overlay, &moves);
    write_sections(image, &mut overlay, &moves);
    if !moves.is_empty() {
        let mut entries = dynamic.entries.clone();
        readdress(&mut entries, &moves);
        let mut bytes = entry_bytes(&entries);
        bytes.truncate((dynamic.capacity * 16) as usize);
        overlay.put(dynamic.offset, &bytes);
    }
    for it in &moves {
        let bytes = overlay.read(image.bytes(), it.from.offset, it.from.size);
        overlay.put(it.from.offset, &vec![0; bytes.len()]);
        overlay.put(it.to.offset, &bytes);
    }
    write_section_places(image, &mut overlay, &moves, shrunk, &gaps);
    write_segments(image, &mut overlay, &moves, &gaps, page);
    overlay.put(40, &moved(&gaps, image.header.sections_at).to_le_bytes());
    let relocated = moves.iter().map(|it| (it.from.offset, it.from.size, it.to.offset)).collect();
    Ok(CutPlan { writes: overlay.into_runs(), gaps, relocated })
}

/// What all arithmetic below stands on: segments and sections lie in the file, segments apart.
fn check(image: &Image<'_>) -> Result<(), ElfError> {
    let mut loads: Vec<&Segment> = image.loads().collect();
    loads.sort_by_key(|load| load.address);
    let mut end = (0, 0);
    for load in loads {
        let fits = image.segment_bytes(load).is_some() && load.file_size <= load.memory_size;
        let next = load.address.checked_add(load.memory_size).zip(load.offset.checked_add(load.file_size));
        let apart = load.address >= end.0 && load.align.max(1).is_power_of_two() && load.address < 1 << 47;
        end = next.filter(|_| fits && apart).ok_or_else(|| ElfError::damaged("the segments do not fit the file"))?;
    }
    let whole = |section: &crate::elf::Section| {
        let end =
            section.offset.checked_add(section.size).filter(|_| section.address.checked_add(section.size).is_some());
        end.is_some_and(|end| end <= image.bytes.len())
    };
    if image.sections.iter().any(|section| section.in_file() && !whole(section)) {
        return Err(ElfError::damaged("a section reaches past the end of the file"));
    }
    let segments = image.segments.iter().all(|segment| segment.offset.checked_add(segment.file_size).is_some());
    if segments { Ok(()) } else { Err(ElfError::damaged("a segment reaches past the end of the file")) }
}

/// Space up to the end of its segment, if only padding follows.
fn widened(image: &Image<'_>, room: FreeRoom) -> FreeRoom {
    let Some(load) = load_of(image, room) else { return room };
    let end = load.offset + load.file_size;
    let free = image.sections.iter().all(|section| {
        !section.in_file() || section.size == 0 || section.offset >= end || section.offset + section.size <= room.to
    });
    let padding = image.bytes.get(room.to, end - room.to).is_some_and(|bytes| bytes.iter().all(|byte| *byte == 0));
    let headers = image.header.segments_at < end && image.header.segments_at >= room.to;
    if free && padding && !headers && !image.sections.is_empty() && load.memory_size == load.file_size {
        FreeRoom { to: end, ..room }
    } else {
        room
    }
}

fn load_of<'i>(image: &'i Image<'_>, room: FreeRoom) -> Option<&'i Segment> {
    image.loads().find(|load| load.offset <= room.from && room.to <= load.offset + load.file_size)
}

/// The whole pages of each room.
fn gaps(image: &Image<'_>, rooms: &[FreeRoom], page: u64) -> Result<Vec<FreeRoom>, ElfError> {
    let mut gaps = Vec::new();
    for room in rooms {
        let load = load_of(image, *room).ok_or_else(|| ElfError::damaged("device code lies outside the segments"))?;
        let base = load.address.wrapping_sub(load.offset);
        let from = round_up(room.from.wrapping_add(base), page).map(|address| address.wrapping_sub(base));
        let to = (room.to.wrapping_add(base) & !(page - 1)).wrapping_sub(base);
        if let Some(from) = from.filter(|from| *from < to && to <= room.to) {
            refuse_spanning(image, load, from, to)?;
            gaps.push(FreeRoom { from, to });
        }
    }
    Ok(gaps)
}

/// No segment but the loaded one, and no relocation read-only area, may span a gap.
fn refuse_spanning(image: &Image<'_>, load: &Segment, from: u64, to: u64) -> Result<(), ElfError> {
    let spans = image.segments.iter().find(|segment| {
        *segment != load
            && segment.file_size > 0
            && segment.offset < to
            && from < segment.offset.saturating_add(segment.file_size)
    });
    match spans {
        Some(segment) => Err(ElfError::refused(
            format!("a segment of kind {:#x} covers the device code too", segment.kind.0),
            "keep the file's size",
        )),
        None => Ok(()),
    }
}

/// Halves of a segment around the gaps inside it; empty ones do not count.
fn halves(load: &Segment, gaps: &[FreeRoom]) -> Vec<Segment> {
    let mut halves = Vec::new();
    let mut start = load.offset;
    let end = load.offset + load.file_size;
    let inside: Vec<&FreeRoom> = gaps.iter().filter(|gap| load.offset <= gap.from && gap.to <= end).collect();
    for gap in inside {
        push_half(load, start, gap.from, &mut halves);
        start = gap.to;
    }
    // Less than a page of room at the very end stays in the file and in nobody's memory.
    push_half(load, start, end, &mut halves);
    if let Some(last) = halves.last_mut().filter(|last| last.offset + last.file_size == end) {
        last.memory_size += load.memory_size - load.file_size;
    }
    halves
}

fn push_half(load: &Segment, from: u64, to: u64, halves: &mut Vec<Segment>) {
    if to > from {
        let address = load.address + (from - load.offset);
        halves.push(Segment {
            offset: from,
            address,
            physical: load.physical.wrapping_add(from - load.offset),
            file_size: to - from,
            memory_size: to - from,
            ..*load
        });
    }
}

/// Program headers that the gaps need in addition, those that are unused taken off.
fn added_headers(image: &Image<'_>, gaps: &[FreeRoom]) -> usize {
    let after: usize = image.loads().map(|load| halves(load, gaps).len()).sum();
    let unused = image.segments.iter().filter(|segment| segment.kind == elf::PT_NULL).count();
    (after + image.segments.len() - image.loads().count() - unused).saturating_sub(image.segments.len())
}

/// Gives the pieces that must move their places at the end of a room, which the gap then leaves out.
fn house(
    image: &Image<'_>,
    rooms: &[FreeRoom],
    gaps: &mut [FreeRoom],
    pieces: &[Piece],
    page: u64,
) -> Result<Vec<Move>, ElfError> {
    let none = || {
        ElfError::refused(
            "the freed room is too small for what stands behind the program headers",
            "keep the file's size",
        )
    };
    for gap in gaps.iter_mut().rev() {
        let Some(room) = rooms.iter().find(|room| room.from <= gap.from && gap.to <= room.to) else { continue };
        let Some(load) = load_of(image, *room) else { continue };
        let need: u64 = pieces.iter().map(|piece| piece.size + piece.align.max(1)).sum();
        // A segment that begins with a note or the interpreter confuses `llvm-strip`: 16 bytes before them.
        let Some(start) =
            room.to.checked_sub(need).map(|start| start & !15).filter(|start| *start > gap.from + page + 16)
        else {
            continue;
        };
        let base = load.address.wrapping_sub(load.offset);
        let mut at = start;
        let mut moves = Vec::new();
        for piece in pieces {
            let address = round_up(at.wrapping_add(base), piece.align).ok_or_else(none)?;
            at = address.wrapping_sub(base);
            moves.push(Move { from: *piece, to: Piece { offset: at, address, ..*piece } });
            at += piece.size;
        }
        let to = ((start - 16).wrapping_add(base) & !(page - 1)).wrapping_sub(base);
        gap.to = gap.to.min(to);
        return Ok(moves);
    }
    Err(none())
}

fn write_section_places(
    image: &Image<'_>,
    overlay: &mut Overlay,
    moves: &[Move],
    shrunk: &[ShrunkSection],
    gaps: &[FreeRoom],
) {
    for (index, section) in image.sections.iter().enumerate() {
        let at = image.header.sections_at + index as u64 * SECTION_SIZE;
        overlay.put(at + 24, &moved(gaps, moved_section(moves, section).offset).to_le_bytes());
        if let Some(shrunk) = shrunk.iter().find(|shrunk| shrunk.index == index) {
            overlay.put(at + 32, &shrunk.size.to_le_bytes());
        }
    }
}

fn write_segments(image: &Image<'_>, overlay: &mut Overlay, moves: &[Move], gaps: &[FreeRoom], page: u64) {
    let mut segments: Vec<Segment> = Vec::new();
    let old = &image.segments;
    for segment in old {
        match segment.kind {
            elf::PT_LOAD => segments.extend(halves(segment, gaps)),
            elf::PT_NULL => {}
            _ => segments.push(moved_segment(moves, segment)),
        }
    }
    // The table keeps its length where the gaps need no more of it than was unused.
    segments.resize(segments.len().max(old.len()), UNUSED);
    let size = segments.len() as u64 * SEGMENT_SIZE;
    for segment in &mut segments {
        if segment.kind == elf::PT_PHDR {
            (segment.file_size, segment.memory_size) = (size, size);
        } else {
            segment.offset = moved(gaps, segment.offset);
        }
        if segment.kind == elf::PT_LOAD
            && segment.align > page
            && (segment.address.wrapping_sub(segment.offset)) % segment.align != 0
        {
            segment.align = page;
        }
    }
    overlay.put(image.header.segments_at, &segment_bytes(&segments));
    overlay.put(56, &(segments.len() as u16).to_le_bytes());
}
