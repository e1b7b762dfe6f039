//! Packages of Python: what wheels and source archives say of themselves ("Core metadata specifications"), and what
//! simpack says of those that it made.

use std::path::Path;

use super::super::Metadata;
use crate::bundle::{BundleManifest, is_manifest, read_manifest};
use crate::container::{Entry, Form, Limits, read};
use crate::error::{Error, Result};
use crate::fs::Content;

/// Whether a member of a package is the file in which it does.
pub fn is_metadata(path: &str) -> bool {
    path.ends_with(".dist-info/METADATA") || (path.ends_with("/PKG-INFO") && path.matches('/').count() == 1)
}

/// Headers as in mail, up to the empty line; none without a name or a version.
pub fn metadata(text: &str) -> Option<Metadata> {
    let (mut name, mut version, mut depends) = (None, None, Vec::new());
    for line in text.lines().take_while(|line| !line.is_empty()) {
        match line.split_once(": ") {
            Some(("Name", value)) => name = Some(value.to_owned()),
            Some(("Version", value)) => version = Some(value.to_owned()),
            Some(("Requires-Dist", value)) => depends.push(value.to_owned()),
            _ => {}
        }
    }
    Some(Metadata { name: name?, version: version?, depends })
}

/// The `simpack.json` files of a wheel, whose paths lie below the directory of its simulator; none of others' wheels.
///
/// # Errors
/// The wheel or one of the files is damaged.
pub fn manifests(wheel: &Path) -> Result<Vec<BundleManifest>> {
    let damaged = |why: String| Error::incomplete(wheel, why);
    let content = Content::open(wheel)?;
    let bytes = content.bytes();
    let mut found = Vec::new();
    let visited = read(Form::Zip, bytes, &Limits::USUAL.quota(bytes.len() as u64), &mut |entry| {
        let Entry { path, content, .. } = entry?;
        if let Some(below) = below_module(&path).filter(|below| is_manifest(below)) {
            let mut text = Vec::new();
            content.read_to_end(&mut text)?;
            found.push(read_manifest(below, &text).map_err(|error| damaged(error.to_string()))?);
        }
        Ok(())
    });
    visited.map_err(|stop| stop.error(|error| damaged(error.to_string())))?;
    Ok(found)
}

/// A path below the directory of a simulator, as it would be below a prefix.
fn below_module(path: &str) -> Option<&str> {
    path.split_once('/').map(|(_, below)| below)
}
