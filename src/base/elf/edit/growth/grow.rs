//! When room runs out: one loaded segment at the end of the file, rewritten by later edits.
//!
//! The segment begins with the dynamic strings, so that neither `.interp` nor a note comes first
//! (`llvm-strip` would take the segment for theirs). Then come the pieces that must make room for one
//! more program header behind the table, which stays where it is, and `.dynamic` if it was full.

use object::elf;

use super::headers::{HeaderSlot, header_room, header_slot, refuse_immovable, refuse_other_segments};
use super::tail::{self, Origin, Part, TAIL_ALIGN, Tail};
use crate::elf::bytes::round_up;
use crate::elf::edit::draft::Draft;
use crate::elf::edit::layout::Layout;
use crate::elf::edit::moves::Move;
use crate::elf::edit::pieces::{Piece, PieceKind};
use crate::elf::image::{HEADER_SIZE, SECTION_SIZE};
use crate::elf::{ElfError, Image, Segment, SymbolTable};

/// Spare entries of a dynamic section that moves, as GNU ld leaves them for other tools.
const SPARE_ENTRIES: u64 = 4;
/// `eu-elflint` takes a relocation to write as many bytes as its symbol has, and complains when these
/// reach a read-only segment; address space up to this is kept free for its sake.
const FARTHEST: u64 = 16 << 20;

/// Page size of the processor: the alignment that the loader needs.
pub(in crate::elf::edit) fn page_size(machine: elf::Machine) -> u64 {
    match machine {
        elf::EM_AARCH64 | elf::EM_PPC64 | elf::EM_LOONGARCH | elf::EM_MIPS => 0x10000,
        _ => 0x1000,
    }
}

/// Lays the file out with a segment more. What moves depends on the file before it grew.
pub(in crate::elf::edit) fn layout(draft: &Draft<'_>) -> Result<Layout, ElfError> {
    let before = tail::before(draft.image, draft.tail.as_ref(), &draft.parts);
    let tail_at = tail_at(draft)?;
    let distance = SymbolTable::dynamic(draft.image, draft.dynamic)?.largest().min(FARTHEST);
    let address = free_address(&before, tail_at, distance)?;
    let again = draft.tail.as_ref().is_some_and(|tail| tail.origin.is_none());
    let slot = header_slot(&before.segments);
    let slot = if again { None } else { Some(slot) };
    let leaving = leaving(draft, &before, slot)?;

    let mut strings = draft.base.clone();
    strings.trim();
    let places = strings.place(&draft.texts(), true).unwrap_or_default();
    let mut at = tail_at;
    let (mut moves, mut homes) = (Vec::new(), Vec::new());
    let mut loaded = tail_at;
    let mut record = Vec::new();
    for part in &draft.parts {
        if !leaving.contains(&part.now) {
            moves.extend(part.home.filter(|home| home.offset != part.now.offset).map(|to| Move { from: part.now, to }));
            continue;
        }
        let size = match part.now.kind {
            PieceKind::Strings => strings.bytes().len() as u64,
            PieceKind::Interpreter => draft.wanted.interpreter.as_ref().map_or(0, |text| text.len() as u64 + 1),
            PieceKind::Dynamic => (draft.entry_count() + 1 + SPARE_ENTRIES) * 16,
            _ => part.now.size,
        };
        homes.extend(part.home);
        // The section headers stand behind the segment: tools that write them anew cut the file there.
        if part.now.kind == PieceKind::SectionTable {
            (at, record) = close(draft, &before, slot, &homes, at)?;
            loaded = at;
        }
        at = round_up(at, part.now.align).ok_or_else(too_big)?;
        let to = Piece { offset: at, address: address + (at - tail_at), size, ..part.now };
        moves.push(Move { from: part.now, to });
        at = at.checked_add(size).ok_or_else(too_big)?;
    }
    if record.is_empty() {
        (loaded, record) = close(draft, &before, slot, &homes, at)?;
    }
    let flags = if moves.iter().any(|it| it.to.kind == PieceKind::Dynamic && it.to.offset >= tail_at) {
        elf::PF_R.0 | elf::PF_W.0
    } else {
        elf::PF_R.0
    };
    let segment = Segment {
        kind: elf::PT_LOAD,
        flags: elf::ProgramFlags(flags),
        offset: tail_at,
        address,
        physical: address,
        file_size: loaded - tail_at,
        memory_size: loaded - tail_at,
        align: page_size(draft.image.header.machine),
    };
    let record = Some((loaded - record.len() as u64, record));
    Ok(Layout { moves, strings, places, tail_at, segment: Some((segment, slot)), record })
}

/// The record of where the pieces were, and where it ends.
fn close(
    draft: &Draft<'_>,
    before: &Image<'_>,
    slot: Option<HeaderSlot>,
    homes: &[Piece],
    at: u64,
) -> Result<(u64, Vec<u8>), ElfError> {
    let Some(slot) = slot else { return Ok((at, Vec::new())) };
    let length = draft.tail.as_ref().and_then(|tail| tail.origin).map_or(draft.image.bytes.len(), |it| it.length);
    let origin = Origin { length, reused: matches!(slot, HeaderSlot::Unused(_)) };
    let record = tail::record(before, homes, origin, before.header.sections_at);
    let end = round_up(at, 8).and_then(|at| at.checked_add(record.len() as u64)).ok_or_else(too_big)?;
    Ok((end, record))
}

fn tail_at(draft: &Draft<'_>) -> Result<u64, ElfError> {
    let length = draft.image.bytes.len();
    match &draft.tail {
        Some(Tail { index, end, .. }) if *end == length => Ok(draft.image.segments[*index].offset),
        Some(_) => round_up(length, TAIL_ALIGN).ok_or_else(too_big),
        None => {
            refuse_appended_data(draft.image)?;
            round_up(length, TAIL_ALIGN).ok_or_else(too_big)
        }
    }
}

/// The pieces that stand in the tail afterwards.
fn leaving(draft: &Draft<'_>, before: &Image<'_>, slot: Option<HeaderSlot>) -> Result<Vec<Piece>, ElfError> {
    let room = match slot {
        Some(HeaderSlot::Added(_)) => Some(header_room(before, 1)?),
        _ => None,
    };
    let leaves = |part: &&Part| {
        part.home.is_none_or(|home| {
            let in_way = room.is_some_and(|(start, end)| home.overlaps(start, end));
            in_way || home.kind == PieceKind::Strings || !draft.fits(&home)
        })
    };
    let leaving: Vec<&Part> = draft.parts.iter().filter(leaves).collect();
    let homes: Vec<Piece> = leaving.iter().filter_map(|part| part.home).collect();
    // Where the file has grown before, nothing was in the way.
    if let Some((start, end)) = room.filter(|_| draft.tail.is_none()) {
        refuse_immovable(before, &homes, start, end)?;
    }
    homes.iter().try_for_each(|piece| refuse_other_segments(before, piece))?;
    Ok(leaving.iter().map(|part| part.now).collect())
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
fn free_address(before: &Image<'_>, tail_at: u64, distance: u64) -> Result<u64, ElfError> {
    let page = page_size(before.header.machine);
    let mut end = 0;
    let mut align = page;
    for segment in before.loads() {
        end = end.max(segment.address.checked_add(segment.memory_size).ok_or_else(too_big)?);
        align = align.max(segment.align);
    }
    let start = end
        .checked_add(distance)
        .and_then(|end| round_up(end, align))
        .and_then(|start| start.checked_add(tail_at % page))
        .ok_or_else(too_big)?;
    // Keep clear of the end of what any loader maps.
    if start >= 1 << 47 { Err(too_big()) } else { Ok(start) }
}
