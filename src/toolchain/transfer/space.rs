//! Free space: refuses early what could not end well.

use std::path::Path;

use crate::error::{Error, Result};

/// Refuses to begin what needs more bytes than `dir` has.
///
/// # Errors
/// Both numbers, and what to do.
pub(crate) fn enough_space(dir: &Path, needed: u64) -> Result<()> {
    match free_bytes(dir) {
        Some(free) if free < needed => Err(no_space(dir, needed, free)),
        _ => Ok(()),
    }
}

fn no_space(dir: &Path, needed: u64, free: u64) -> Error {
    Error::toolchain(format!("not enough space in {}", dir.display()))
        .detail(format!("needed {} MB, free {} MB", needed.div_ceil(1_000_000), free / 1_000_000))
        .hint("free some space, or name another directory in SIMPACK_CACHE_DIR")
}

/// Bytes that an ordinary user may still write below `dir`.
fn free_bytes(dir: &Path) -> Option<u64> {
    use std::os::unix::ffi::OsStrExt;
    let path = std::ffi::CString::new(dir.as_os_str().as_bytes()).ok()?;
    // SAFETY: an all-zero statvfs is a valid value of this plain C structure.
    let mut data: libc::statvfs = unsafe { std::mem::zeroed() };
    // SAFETY: the path is NUL-terminated and `data` is a valid place for the answer.
    (unsafe { libc::statvfs(path.as_ptr(), &raw mut data) } == 0).then(|| data.f_bavail.saturating_mul(data.f_frsize))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn space_is_checked_before() {
        let dir = tempfile::tempdir().unwrap();
        assert!(free_bytes(dir.path()).unwrap() > 0);
        assert!(enough_space(dir.path(), 1).is_ok());
        let error = enough_space(dir.path(), u64::MAX).unwrap_err();
        assert!(error.to_string().contains("not enough space"), "{error}");
        assert!(error.hints()[0].contains("SIMPACK_CACHE_DIR"));
        // A file system that does not say how much is free does not stop anyone.
        assert!(enough_space(Path::new("/nowhere/at/all"), u64::MAX).is_ok());
    }
}
