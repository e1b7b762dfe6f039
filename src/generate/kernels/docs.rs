//! A page about the kernels of a recipe, for those who write what launches them.

use crate::error::{Error, Result};
use crate::generate::{FileSet, Model, Templates};

/// The page.
pub(in crate::generate) fn files(model: &Model, templates: &Templates) -> Result<FileSet> {
    if model.tables.is_empty() {
        return Err(Error::recipe("the recipe has no kernel table").hint(
            "libraries that ship cut launch their own kernels; others name theirs as `table` of the kernel group",
        ));
    }
    let mut files = FileSet::default();
    files.add("kernels.md", templates.fill("docs/kernels.md", model)?);
    Ok(files)
}
