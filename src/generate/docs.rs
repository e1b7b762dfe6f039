//! A page about the kernels of a recipe, for those who write what launches them.

use super::{FileSet, Model, Templates};
use crate::error::{Error, Result};

/// The page.
pub(super) fn files(model: &Model, templates: &Templates) -> Result<FileSet> {
    if model.tables.is_empty() {
        return Err(Error::recipe("the recipe has no kernel table").hint(
            "libraries that ship cut launch their own kernels; others name theirs as `table` of the kernel group",
        ));
    }
    let mut files = FileSet::default();
    files.add("kernels.md", templates.fill("docs/kernels.md", model)?);
    Ok(files)
}
