//! Writes the wanted state into a layout.

use object::elf;

use super::draft::Draft;
use super::growth::grow;
use super::growth::headers::{HeaderSlot, behind_loads, segment_bytes};
use super::growth::tail::{Part, segments_before, vacated_entries};
use super::layout::{Layout, at_home};
use super::moves::{entry_bytes, moved_segment, readdress, write_got, write_sections, write_symbols};
use super::patch_plan::Write;
use super::pieces::{Piece, PieceKind};
use crate::elf::image::SEGMENT_SIZE;
use crate::elf::{DynamicEntry, ElfError, Segment};

/// Lays the file out and plans the writes; gives them, where the tail begins, and the tail.
pub(super) fn write(mut draft: Draft<'_>) -> Result<(Vec<Write>, u64, Vec<u8>), ElfError> {
    let layout = match at_home(&draft) {
        Some(layout) => layout,
        None => grow::layout(&draft)?,
    };
    let image = draft.image;
    draft.write_needs(&layout.places)?;
    write_symbols(image, &mut draft.overlay, &layout.moves);
    write_sections(image, &mut draft.overlay, &layout.moves);
    let mut entries = draft.entries(&layout.places);
    readdress(&mut entries, &layout.moves);
    readdress(&mut draft.kept, &layout.moves);
    write_got(image, &mut draft.overlay, &entries, &layout.moves);

    // All content is read before any of it is written.
    let parts = draft.parts.iter();
    let mut contents: Vec<(u64, Vec<u8>)> =
        parts.filter_map(|part| content(&draft, &layout, &entries, part)).chain(layout.record.clone()).collect();
    vacate(&mut draft, &layout);
    write_segments(&mut draft, &layout);
    contents.sort_by_key(|(offset, _)| *offset);
    let mut tail = Vec::new();
    for (offset, bytes) in contents {
        match offset.checked_sub(layout.tail_at) {
            Some(at) => {
                tail.resize(at as usize, 0);
                tail.extend_from_slice(&bytes);
            }
            None => draft.overlay.put(offset, &bytes),
        }
    }
    Ok((draft.overlay.into_writes(image.bytes(), layout.tail_at), layout.tail_at, tail))
}

/// Where the piece will be.
fn target(layout: &Layout, part: &Part) -> Piece {
    let it = layout.moves.iter().find(|it| it.from == part.now);
    it.map_or(part.now, |it| it.to)
}

/// The bytes of a piece that moves or is made anew, and where they go.
fn content(draft: &Draft<'_>, layout: &Layout, entries: &[DynamicEntry], part: &Part) -> Option<(u64, Vec<u8>)> {
    let to = target(layout, part);
    let moves = to.offset != part.now.offset || layout.segment.is_some() && to.offset >= layout.tail_at;
    let mut bytes = match to.kind {
        PieceKind::Strings => layout.strings.bytes().to_vec(),
        PieceKind::Dynamic => entry_bytes(entries),
        // The kernel wants a NUL at the end of the segment (fs/binfmt_elf.c); more are fine.
        PieceKind::Interpreter if moves || draft.interpreter.is_some() => {
            draft.wanted.interpreter.clone().unwrap_or_default().into_bytes()
        }
        _ if moves => draft.overlay.read(draft.image.bytes(), part.now.offset, part.now.size),
        _ => return None,
    };
    bytes.resize(to.size as usize, 0);
    Some((to.offset, bytes))
}

/// What is left where pieces were before the file grew, and where the tail was.
fn vacate(draft: &mut Draft<'_>, layout: &Layout) {
    for part in &draft.parts {
        let Some(home) = part.home.filter(|home| home.offset != target(layout, part).offset) else { continue };
        let mut bytes = match home.kind {
            PieceKind::Strings => draft.base.bytes().to_vec(),
            PieceKind::Dynamic => vacated_entries(&draft.kept, home.size),
            _ => Vec::new(),
        };
        bytes.resize(home.size as usize, 0);
        draft.overlay.put(home.offset, &bytes);
    }
    if let Some(tail) = &draft.tail {
        let own = draft.image.segments[tail.index];
        draft.overlay.put(own.offset, &vec![0; own.file_size as usize]);
    }
}

fn write_segments(draft: &mut Draft<'_>, layout: &Layout) {
    let image = draft.image;
    let mut segments: Vec<Segment> = match &draft.tail {
        Some(tail) => segments_before(&image.segments, tail, &layout.moves),
        None => image.segments.iter().map(|segment| moved_segment(&layout.moves, segment)).collect(),
    };
    match &layout.segment {
        Some((segment, Some(HeaderSlot::Unused(index)))) => segments[*index] = *segment,
        Some((segment, Some(HeaderSlot::Added(index)))) => segments.insert(*index, *segment),
        // Loaded segments stand in the order of their addresses.
        Some((segment, None)) => segments.insert(behind_loads(&segments), *segment),
        None => {}
    }
    let size = segments.len() as u64 * SEGMENT_SIZE;
    for headers in segments.iter_mut().filter(|segment| segment.kind == elf::PT_PHDR) {
        (headers.file_size, headers.memory_size) = (size, size);
    }
    let mut bytes = segment_bytes(&segments);
    bytes.resize(bytes.len().max(image.segments.len() * SEGMENT_SIZE as usize), 0);
    draft.overlay.put(image.header.segments_at, &bytes);
    draft.overlay.put(56, &(segments.len() as u16).to_le_bytes());
}
