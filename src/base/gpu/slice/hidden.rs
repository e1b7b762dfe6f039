//! Containers in ordinary data: shortened where they stand, whatever else points into them.

use super::plan::Disposition;
use super::survey::Survey;
use crate::elf::Image;
use crate::gpu::CodeError;
use crate::gpu::containers::in_data::{Ranges, containers_in};

/// What becomes of the containers outside the ranges in `seen` (file offsets), and a warning about them.
pub(super) fn shortened<'f>(
    image: &Image<'f>,
    seen: &[(u64, u64)],
    survey: &mut Survey<'_, 'f>,
    warnings: &mut Vec<String>,
) -> Result<Vec<(u64, u64, Disposition)>, CodeError> {
    let mut ranges = Ranges::default();
    for (from, to) in seen {
        ranges.add(*from, *to);
    }
    let mut fates = Vec::new();
    let whole = [(0, image.bytes().len() as u64)];
    for container in containers_in(image.bytes(), &whole, &ranges, &image.budget, None) {
        let (at, size) = (container.at, container.size);
        let remains = survey.container(image.bytes(), 0, container, "data")?;
        // A group that was taken apart may be larger than it was.
        if remains.size < size {
            let kept = at + remains.size;
            fates.push((at, kept, Disposition::Parts(remains.parts)));
            fates.push((kept, at + size, Disposition::Free));
        }
    }
    if !fates.is_empty() {
        let containers = match fates.len() / 2 {
            1 => "a container in ordinary data is".to_owned(),
            count => format!("{count} containers in ordinary data are"),
        };
        warnings.push(format!(
            "{containers} cut in place: whether the file finds its way there, only a run on a GPU can tell"
        ));
    }
    Ok(fates)
}
