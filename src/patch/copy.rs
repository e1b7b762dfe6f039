//! Copies of files: the content inside the kernel, holes as holes, and everything that belongs to a
//! file beside its content.

use std::fs::{File, Metadata};
use std::io::{Error, ErrorKind, Result};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, fchown};

use xattr::FileExt;

use super::Subject;

/// Copies the first `length` bytes of `from`, which the file system describes by `data`, to the empty file `to`: shared blocks where the file
/// system can, else what is not a hole.
pub(super) fn content(from: &File, data: &Metadata, to: &File, length: u64) -> Result<()> {
    // SAFETY: both descriptors are open; the call takes no pointers.
    if unsafe { libc::ioctl(to.as_raw_fd(), libc::FICLONE, from.as_raw_fd()) } == 0 {
        return Ok(());
    }
    if data.blocks() * 512 >= length {
        return range(from, to, 0, length);
    }
    to.set_len(length)?;
    let mut at = 0;
    while at < length {
        let Some(start) = seek(from, at, libc::SEEK_DATA)? else { break };
        let end = seek(from, start, libc::SEEK_HOLE)?.unwrap_or(length).min(length);
        range(from, to, start, end)?;
        at = end;
    }
    Ok(())
}

/// The next data or hole from `at`; nothing if there is none.
fn seek(file: &File, at: u64, what: libc::c_int) -> Result<Option<u64>> {
    // SAFETY: the descriptor is open; the call takes no pointers.
    let found = unsafe { libc::lseek64(file.as_raw_fd(), at.cast_signed(), what) };
    match u64::try_from(found) {
        Ok(found) => Ok(Some(found)),
        Err(_) => match Error::last_os_error() {
            error if error.raw_os_error() == Some(libc::ENXIO) => Ok(None),
            error => Err(error),
        },
    }
}

/// Copies the bytes from `start` to `end` to the same place.
fn range(from: &File, to: &File, start: u64, end: u64) -> Result<()> {
    let mut at = start;
    while at < end {
        let (mut in_at, mut out_at) = (at.cast_signed(), at.cast_signed());
        let count = usize::try_from(end - at).unwrap_or(usize::MAX);
        // SAFETY: both descriptors are open, and the offsets live through the call.
        let copied =
            unsafe { libc::copy_file_range(from.as_raw_fd(), &mut in_at, to.as_raw_fd(), &mut out_at, count, 0) };
        match u64::try_from(copied) {
            Ok(0) => return Err(Error::new(ErrorKind::UnexpectedEof, "the file was cut short meanwhile")),
            Ok(copied) => at += copied,
            Err(_) => match Error::last_os_error() {
                error if error.kind() == ErrorKind::Interrupted => {}
                // Old kernels cannot between file systems, others not on some.
                error
                    if matches!(
                        error.raw_os_error(),
                        Some(libc::EXDEV | libc::ENOSYS | libc::EOPNOTSUPP | libc::EINVAL)
                    ) =>
                {
                    return by_hand(from, to, at, end);
                }
                error => return Err(error),
            },
        }
    }
    Ok(())
}

fn by_hand(from: &File, to: &File, start: u64, end: u64) -> Result<()> {
    use std::os::unix::fs::FileExt;
    let mut buffer = vec![0; 1 << 16];
    let mut at = start;
    while at < end {
        let wanted = buffer.len().min(usize::try_from(end - at).unwrap_or(usize::MAX));
        let count = from.read_at(&mut buffer[..wanted], at)?;
        if count == 0 {
            return Err(Error::new(ErrorKind::UnexpectedEof, "the file was cut short meanwhile"));
        }
        to.write_all_at(&buffer[..count], at)?;
        at += count as u64;
    }
    Ok(())
}

/// Gives `to`, which is described by `own`, the owner, extended attributes, mode and times of the subject, as far
/// as the user's rights and the file system allow: only root may give files away.
pub(super) fn attributes(subject: &Subject, to: &File, own: &Metadata) -> Result<()> {
    let (from, data) = (subject.file.file(), &subject.data);
    let mut has_mode = own.mode() == data.mode();
    if (own.uid(), own.gid()) != (data.uid(), data.gid()) {
        // The group alone may be one of the user's own.
        let both = fchown(to, Some(data.uid()), Some(data.gid()));
        tolerated(both.or_else(|_| fchown(to, None, Some(data.gid()))))?;
        // It may have lost bits by that.
        has_mode = false;
    }
    // Behind the owner: a change of it takes file capabilities away (capabilities(7)).
    for name in subject.attributes() {
        if let Some(value) = tolerated(from.get_xattr(name))?.flatten() {
            tolerated(to.set_xattr(name, &value))?;
            // An access list changes the mode.
            has_mode = false;
        }
    }
    if !has_mode {
        to.set_permissions(data.permissions())?;
    }
    to.set_times(std::fs::FileTimes::new().set_modified(data.modified()?).set_accessed(data.accessed()?))
}

/// What is beyond the user's rights or the file system's means is left as it is.
fn tolerated<T>(result: Result<T>) -> Result<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error) if matches!(error.kind(), ErrorKind::PermissionDenied | ErrorKind::Unsupported) => Ok(None),
        Err(error) if error.raw_os_error() == Some(libc::EOPNOTSUPP) => Ok(None),
        Err(error) => Err(error),
    }
}
