//! A file laid out: which pieces go where. The layout follows from the file as it was before it first
//! grew, and from the wanted state, so that all ways to a state end at the same bytes.

use super::draft::{Draft, Places};
use super::growth::headers::HeaderSlot;
use super::growth::tail::Part;
use super::moves::Move;
use super::strings::Strings;
use crate::elf::Segment;

/// Where everything goes.
pub(super) struct Layout {
    /// Pieces that do not stay where they are.
    pub(super) moves: Vec<Move>,
    /// The dynamic strings with all texts.
    pub(super) strings: Strings,
    pub(super) places: Places,
    /// Where the file is cut or filled up to before the tail.
    pub(super) tail_at: u64,
    /// The segment of the tail; without a slot, its header is that of the present tail.
    pub(super) segment: Option<(Segment, Option<HeaderSlot>)>,
    /// What the segment says about the file before, and where.
    pub(super) record: Option<(u64, Vec<u8>)>,
}

/// The layout without growth, if everything fits where it was.
pub(super) fn at_home(draft: &Draft<'_>) -> Option<Layout> {
    let origin = match &draft.tail {
        None => None,
        Some(tail) => Some(tail.origin?),
    };
    let fits = |part: &Part| part.home.is_some_and(|home| draft.fits(&home));
    let mut strings = draft.base.clone();
    let places = draft.parts.iter().all(fits).then(|| strings.place(&draft.texts(), false)).flatten()?;
    let moves = draft.parts.iter().filter_map(|part| Some(Move { from: part.now, to: part.home? }));
    Some(Layout {
        moves: moves.filter(|it| it.from.offset != it.to.offset).collect(),
        strings,
        places,
        tail_at: origin.map_or(draft.image.bytes.len(), |origin| origin.length),
        segment: None,
        record: None,
    })
}
