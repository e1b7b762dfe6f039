//! Plans to slice a file of any kind.

use super::pick::SliceSpec;
use super::plan::{FreedSpace, Order, SliceError, SlicePlan, TargetBytes};
use super::{archive, file};
use crate::budget::Budget;
use crate::manifest::Manifests;

/// Plans to slice the file with these bytes: a linked file, an object or a static archive.
///
/// # Errors
/// The file or its device code cannot be read or changed, or it has none.
pub fn plan(bytes: &[u8], ask: &SliceSpec, room: FreedSpace, manifests: &Manifests) -> Result<SlicePlan, SliceError> {
    made(bytes, Order::new(ask, room, manifests, &Budget::of(bytes)))
}

/// What of the device code would stay, and what would go, by headers alone: losses are not sought.
///
/// # Errors
/// As [`plan`].
pub fn holds(bytes: &[u8], ask: &SliceSpec, manifests: &Manifests) -> Result<Vec<TargetBytes>, SliceError> {
    let budget = Budget::of(bytes);
    Ok(made(bytes, Order { names: false, ..Order::new(ask, FreedSpace::Zero, manifests, &budget) })?.targets)
}

fn made(bytes: &[u8], order: Order<'_>) -> Result<SlicePlan, SliceError> {
    if archive::is_archive(bytes) { archive::slice(bytes, order) } else { file::slice(bytes, order) }
}
