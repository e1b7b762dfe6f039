//! One ELF file: linked, or an object.

use super::plan::{Order, SliceError, SlicePlan};
use super::{linked, object};
use crate::elf::Image;

/// Plans to slice it.
pub(super) fn slice(bytes: &[u8], order: Order<'_>) -> Result<SlicePlan, SliceError> {
    let image = Image::parse_within(bytes, order.budget.clone())?;
    let plan = match image.header.kind {
        ::object::elf::ET_REL => object::plan(&image, order)?,
        _ => linked::plan(&image, order)?,
    };
    image.spent()?;
    Ok(plan)
}
