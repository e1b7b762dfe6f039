//! Temporary files beside the files they will replace, and those that killed runs left behind.
//!
//! Their maker holds a lock on each; the kernel drops it with the process. So one that can be locked
//! belongs to nobody.

use std::fs::Metadata;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use tempfile::NamedTempFile;

/// How their names begin.
pub const TEMPORARY: &str = ".simpack-patch-";

/// A new, locked temporary file in `dir`, for a copy of a file with metadata `of`, with what the file system says of
/// it. Only its owner may write it, or read it unless everybody may read that file.
pub(super) fn temporary(dir: &Path, of: &Metadata) -> std::io::Result<(NamedTempFile, Metadata)> {
    let is_public = of.mode() & 0o004 != 0;
    let mode = std::fs::Permissions::from_mode(if is_public { of.mode() & 0o755 | 0o600 } else { 0o600 });
    loop {
        let file = tempfile::Builder::new().prefix(TEMPORARY).permissions(mode.clone()).tempfile_in(dir)?;
        // A sweep may take it between its birth and the lock.
        let locked = match file.as_file().try_lock() {
            Ok(()) => true,
            Err(std::fs::TryLockError::WouldBlock) => false,
            // No locks on this file system: then no sweep finds it free either.
            Err(std::fs::TryLockError::Error(_)) => true,
        };
        let data = file.as_file().metadata()?;
        if locked && data.nlink() > 0 {
            return Ok((file, data));
        }
    }
}

/// Removes the temporary file at `path` if the run that made it is gone.
pub fn sweep(path: &Path) {
    let named = path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(TEMPORARY.as_bytes()));
    // Of a user who may not write it, it is none of ours.
    if named
        && let Ok(file) = crate::fs::open_lock(path)
        && file.try_lock().is_ok()
    {
        // Another sweep may be faster.
        let _ = std::fs::remove_file(path);
    }
}

/// Removes what killed runs left in `dir` itself.
pub fn sweep_dir(dir: &Path) {
    for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
        sweep(&entry.path());
    }
}
