//! Unpacks source archives: tar with its compressions, and zip (wheels too). What an archive is, its
//! first bytes say.

use std::path::{Path, PathBuf};

use crate::container::{self, ContainerError, Form, links_stay_inside};
use crate::error::{Error, Result};
use crate::fs::Content;

/// Unpacks `archive` into the empty directory `into`; answers the directory that holds the files: `into`,
/// or the only directory at the archive's top.
///
/// # Errors
/// It is no archive of a known kind, it is damaged, or something in it would land or lead outside.
pub(in crate::toolchain) fn unpack(archive: &Path, into: &Path) -> Result<PathBuf> {
    let head = Content::open(archive)?;
    let form = Form::of_bytes(&head.bytes()[..head.bytes().len().min(512)]);
    let form = form.ok_or_else(|| {
        Error::toolchain("it is not an archive that simpack knows")
            .hint("known are zip and tar: plain or with gzip, bzip2, xz, zstd; check what the address gives")
    })?;
    container::unpack(archive, form, into, true, &mut |refused| Err(refused.into()))
        .map_err(|stop| stop.error(at_fault))?;
    let top = single_directory(into)?.unwrap_or_else(|| into.to_owned());
    links_stay_inside(&top).map_err(at_fault)?;
    Ok(top)
}

/// The error about an archive, or a tree, that is not what it should be.
pub(in crate::toolchain) fn at_fault(error: ContainerError) -> Error {
    Error::toolchain(error.to_string())
}

/// The only entry of `dir`, when that is a directory.
fn single_directory(dir: &Path) -> Result<Option<PathBuf>> {
    let mut entries = fs_err::read_dir(dir)?;
    let (first, second) = (entries.next().transpose()?, entries.next());
    Ok(match (first, second) {
        (Some(first), None) if first.file_type()?.is_dir() => Some(first.path()),
        _ => None,
    })
}
