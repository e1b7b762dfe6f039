//! Writing a patched file: a copy beside it, changed, read back, then renamed over the original.
//! A hard link, a running program or a killed run never sees half.

use std::fs::File;
use std::io::Seek;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;

use crate::elf::edit::PatchPlan;
use crate::error::{Error, Result};

/// A file's bytes without reading them.
pub(super) fn map(file: &fs_err::File) -> Result<memmap2::Mmap> {
    // SAFETY: simpack patches files of its own staging area; another process that cuts the file
    // short meanwhile could end this one, and nothing worse.
    unsafe { memmap2::Mmap::map(file.file()) }
        .map_err(|error| Error::file(file.path(), format!("cannot be mapped: {error}")))
}

/// Writes the planned result over `path`, keeping mode, owner, extended attributes and times.
///
/// # Errors
/// The copy cannot be made or does not read back as the plan wants; the original is untouched.
pub fn write_patched(path: &Path, plan: &PatchPlan) -> Result<()> {
    write_patched_to(path, path, plan)
}

/// Writes the planned result of `path` to `output`, in place of what is there.
///
/// # Errors
/// As [`write_patched`].
pub fn write_patched_to(path: &Path, output: &Path, plan: &PatchPlan) -> Result<()> {
    // What a link names is patched, not the link.
    let target = match output.exists() {
        true => fs_err::canonicalize(output)?,
        false => std::path::absolute(output)?,
    };
    let parent = target.parent().unwrap_or(Path::new("/"));
    let failed = |error: std::io::Error| {
        Error::from(std::io::Error::new(error.kind(), format!("failed to write {}: {error}", target.display())))
    };
    let original = fs_err::File::open(path)?;
    let data = original.metadata()?;
    if data.len() != plan.length {
        return Err(Error::file(path, "changed while it was being patched").hint("run the command again"));
    }
    let copy = tempfile::Builder::new().prefix(".simpack-").tempfile_in(parent).map_err(failed)?;
    duplicate(original.file(), copy.as_file()).map_err(failed)?;
    let file = copy.as_file();
    file.set_len(plan.tail_at).map_err(failed)?;
    for write in &plan.writes {
        file.write_all_at(&write.bytes, write.at).map_err(failed)?;
    }
    file.write_all_at(&plan.tail, plan.tail_at).map_err(failed)?;
    super::read_back(copy.path(), &plan.wanted)?;
    copy_attributes(original.file(), file);
    if let Err(error) = std::os::unix::fs::fchown(file, Some(data.uid()), Some(data.gid()))
        && error.kind() != std::io::ErrorKind::PermissionDenied
    {
        // Only root may give files away; everybody else's copy stays their own.
        return Err(failed(error));
    }
    file.set_permissions(data.permissions()).map_err(failed)?;
    let times = std::fs::FileTimes::new()
        .set_modified(data.modified().map_err(failed)?)
        .set_accessed(data.accessed().map_err(failed)?);
    file.set_times(times).map_err(failed)?;
    file.sync_data().map_err(failed)?;
    copy.persist(&target).map_err(|error| failed(error.error))?;
    Ok(())
}

/// Copies the content: shared blocks where the file system can, else inside the kernel.
fn duplicate(from: &File, to: &File) -> std::io::Result<()> {
    // SAFETY: both descriptors are open; the call takes no pointers.
    let cloned = unsafe { libc::ioctl(to.as_raw_fd(), libc::FICLONE, from.as_raw_fd()) } == 0;
    if cloned {
        return Ok(());
    }
    let (mut reader, mut writer) = (from, to);
    reader.rewind()?;
    // std copies with copy_file_range where both are regular files.
    std::io::copy(&mut reader, &mut writer).map(drop)
}

/// Copies extended attributes as far as the file system and the user's rights allow.
fn copy_attributes(from: &File, to: &File) {
    let mut names = vec![0u8; 1 << 16];
    // SAFETY: the buffer is as long as the call is told.
    let size = unsafe { libc::flistxattr(from.as_raw_fd(), names.as_mut_ptr().cast(), names.len()) };
    let Some(names) = usize::try_from(size).ok().and_then(|size| names.get(..size)) else { return };
    let mut value = vec![0u8; 1 << 16];
    for name in names.split_inclusive(|byte| *byte == 0) {
        let Ok(name) = std::ffi::CStr::from_bytes_with_nul(name) else { continue };
        // SAFETY: the name ends in NUL, and the buffer is as long as the calls are told.
        unsafe {
            let size = libc::fgetxattr(from.as_raw_fd(), name.as_ptr(), value.as_mut_ptr().cast(), value.len());
            if let Ok(size) = usize::try_from(size) {
                libc::fsetxattr(to.as_raw_fd(), name.as_ptr(), value.as_ptr().cast(), size, 0);
            }
        }
    }
}
