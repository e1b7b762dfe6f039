//! What an archive says of itself in its `simpack.json`, read without unpacking it.

use std::path::Path;

use crate::bundle::{BundleManifest, is_manifest, read_manifest};
use crate::container::{Entry, Form, Limits, read};
use crate::error::{Error, Result};
use crate::fs::Content;

/// The `simpack.json` of a package that is laid out as a prefix (conda's, a plain archive); none of others' packages.
///
/// # Errors
/// It is damaged, or no archive.
pub fn manifest(archive: &Path) -> Result<Option<BundleManifest>> {
    let damaged = |why: String| Error::incomplete(archive, why);
    let form = Form::of_path(archive).ok_or_else(|| damaged("its name is that of no package".to_owned()))?;
    let content = Content::open(archive)?;
    let bytes = content.bytes();
    let mut found = None;
    let visited = read(form, bytes, &Limits::USUAL.quota(bytes.len() as u64), &mut |entry| {
        let Entry { path, content, .. } = entry?;
        if is_manifest(&path) {
            let mut text = Vec::new();
            content.read_to_end(&mut text)?;
            found = Some(read_manifest(&path, &text).map_err(|error| damaged(error.to_string()))?);
        }
        Ok(())
    });
    visited.map_err(|stop| stop.error(|error| damaged(error.to_string())))?;
    Ok(found)
}
