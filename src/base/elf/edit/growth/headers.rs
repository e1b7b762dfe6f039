//! Room for one more program header: the table stays where it is, and what stands behind it moves.

use object::elf;

use crate::elf::edit::pieces::Piece;
use crate::elf::image::SEGMENT_SIZE;
use crate::elf::{ElfError, Image, Segment};

/// Where the program header of a new segment stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::elf::edit) enum HeaderSlot {
    /// An entry that is unused.
    Unused(usize),
    /// The table grows; the new entry stands at this index.
    Added(usize),
}

/// Loaded segments stand in the order of their addresses, so an unused entry must stand behind them.
pub(super) fn header_slot(segments: &[Segment]) -> HeaderSlot {
    let behind = behind_loads(segments);
    // Ours is taken back as an entry of NULs, so none is taken that says more.
    let unused = segments.iter().rposition(|segment| *segment == UNUSED);
    match unused.filter(|index| *index >= behind) {
        Some(index) => HeaderSlot::Unused(index),
        None => HeaderSlot::Added(behind),
    }
}

/// The index behind the last loaded segment.
pub(in crate::elf::edit) fn behind_loads(segments: &[Segment]) -> usize {
    segments.iter().rposition(|segment| segment.kind == elf::PT_LOAD).map_or(0, |last| last + 1)
}

/// An unused program header.
pub(in crate::elf::edit) const UNUSED: Segment = Segment {
    kind: elf::PT_NULL,
    flags: elf::ProgramFlags(0),
    offset: 0,
    address: 0,
    physical: 0,
    file_size: 0,
    memory_size: 0,
    align: 0,
};

/// The bytes that `count` more program headers take.
pub(super) fn header_room(image: &Image<'_>, count: u64) -> Result<(u64, u64), ElfError> {
    let start = image.header.segments_at + image.segments.len() as u64 * SEGMENT_SIZE;
    let end = start + count * SEGMENT_SIZE;
    // At 64 in what linkers write; elsewhere after some optimisers. The loader finds it either way.
    let covers = |load: &Segment| load.offset <= start && end <= load.offset + load.file_size;
    let loaded = image.loads().any(covers);
    if !loaded || image.segments.len() as u64 + count >= u64::from(elf::PN_XNUM) {
        return Err(ElfError::refused(
            "one more program header is needed and would not be loaded",
            "choose a text that is no longer than the present one",
        ));
    }
    Ok((start, end))
}

/// The pieces that stand where `count` more program headers go.
pub(in crate::elf::edit) fn in_the_way(
    image: &Image<'_>,
    pieces: &[Piece],
    count: u64,
) -> Result<Vec<Piece>, ElfError> {
    let (start, end) = header_room(image, count)?;
    let moved: Vec<Piece> = pieces.iter().filter(|piece| piece.overlaps(start, end)).copied().collect();
    refuse_immovable(image, &moved, start, end)?;
    moved.iter().try_for_each(|piece| refuse_other_segments(image, piece))?;
    Ok(moved)
}

/// What stands between `start` and `end` and is none of the pieces that make room.
pub(super) fn refuse_immovable(image: &Image<'_>, moved: &[Piece], start: u64, end: u64) -> Result<(), ElfError> {
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
pub(super) fn refuse_other_segments(image: &Image<'_>, piece: &Piece) -> Result<(), ElfError> {
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

/// Program headers as bytes.
pub(in crate::elf::edit) fn segment_bytes(segments: &[Segment]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(segments.len() * SEGMENT_SIZE as usize);
    for segment in segments {
        bytes.extend_from_slice(&segment.kind.0.to_le_bytes());
        bytes.extend_from_slice(&segment.flags.0.to_le_bytes());
        for value in
            [segment.offset, segment.address, segment.physical, segment.file_size, segment.memory_size, segment.align]
        {
            bytes.extend_from_slice(&value.to_le_bytes());
        }
    }
    bytes
}
