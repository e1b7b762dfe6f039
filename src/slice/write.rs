//! Writing a slice beside its place: pieces of the old file and new bytes, then one rename.

use std::fs::File;
use std::io::{Seek, SeekFrom, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::path::Path;

use crate::error::{Error, Result};
use crate::fs::{self, Content, exchange};
use crate::gpu::slice::{FreedSpace, Part, SlicePlan, SliceSpec};
use crate::manifest::Manifests;

/// Up to this size a piece is copied through memory; the kernel copies larger ones from file to file.
const SMALL: u64 = 1 << 16;
/// Bytes that are copied through memory at a time.
const CHUNK: usize = 1 << 18;
/// Pages of the page cache.
const PAGE: u64 = 4096;

/// Writes the slice of `path` that `plan` describes to `output`, with the mode of the original.
///
/// # Errors
/// The file cannot be written, or does not read back as planned; then `output` is as it was.
pub fn write_slice(
    path: &Path,
    output: &Path,
    plan: &SlicePlan,
    room: FreedSpace,
    ask: &SliceSpec,
    manifests: &Manifests,
) -> Result<()> {
    let parent = output.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    fs_err::create_dir_all(parent)?;
    let failed = |error: std::io::Error| {
        Error::from(std::io::Error::new(error.kind(), format!("failed to write {}: {error}", output.display())))
    };
    let original = fs::open(path)?;
    let data = original.metadata()?;
    if data.len() != plan.length {
        return Err(Error::file(path, "changed while it was being sliced").hint("run the command again"));
    }
    let content = Content::open(path)?;
    let slice = tempfile::Builder::new().prefix(".simpack-").tempfile_in(parent).map_err(failed)?;
    let mut out = std::io::BufWriter::with_capacity(1 << 20, slice.as_file());
    for part in &plan.parts {
        put(part, original.file(), content.bytes(), &mut out, room).map_err(failed)?;
    }
    out.flush().map_err(failed)?;
    drop(out);
    slice.as_file().set_len(plan.new_length).map_err(failed)?;
    super::read_back(path, slice.path(), plan, ask, manifests)?;
    slice.as_file().set_permissions(data.permissions()).map_err(failed)?;
    // Not flushed, as `cp` does not: what it was cut from is still there after a power cut, and flushing takes
    // longer than the copy. A rename over an older slice would begin to flush on ext4 and btrfs; an exchange does
    // not, and the older one goes under the temporary name.
    let is_older = output.symlink_metadata().is_ok_and(|older| older.is_file());
    if !(is_older && exchange(slice.path(), output)) {
        slice.persist(output).map_err(|error| failed(error.error))?;
    }
    Ok(())
}

fn put(
    part: &Part,
    original: &File,
    content: &[u8],
    out: &mut std::io::BufWriter<&File>,
    room: FreedSpace,
) -> std::io::Result<()> {
    match part {
        Part::Copy { from, size } if *size > SMALL => {
            out.flush()?;
            copy(original, *from, *size, out.get_ref())
        }
        Part::Copy { from, size } => {
            let bytes = usize::try_from(*from).ok().and_then(|from| content.get(from..from + *size as usize));
            out.write_all(bytes.ok_or(std::io::ErrorKind::UnexpectedEof)?)
        }
        Part::Bytes(bytes) => out.write_all(bytes),
        // What is never written is a hole, as far as the file system has them.
        Part::Zeros(size) if room == FreedSpace::Sparse || *size > SMALL => {
            out.seek(SeekFrom::Current(i64::try_from(*size).map_err(|_| std::io::ErrorKind::InvalidInput)?)).map(drop)
        }
        Part::Zeros(size) => out.write_all(&vec![0; *size as usize]),
    }
}

/// Copies a range to the end of what was written.
fn copy(from: &File, at: u64, size: u64, mut to: &File) -> std::io::Result<()> {
    let place = to.stream_position()?;
    // The kernel copies whole pages from file to file, or shares them. Where pages do not lie on pages it
    // would handle each of them twice.
    let start = match at % PAGE == place % PAGE {
        true => size.min((PAGE - at % PAGE) % PAGE),
        false => size,
    };
    through_memory(from, at, start, to)?;
    in_kernel(from, at + start, size - start, to)
}

fn through_memory(from: &File, mut at: u64, size: u64, mut to: &File) -> std::io::Result<()> {
    let end = at + size;
    let mut buffer = vec![0; usize::try_from(size).unwrap_or(CHUNK).min(CHUNK)];
    while at < end {
        let wanted = buffer.len().min(usize::try_from(end - at).unwrap_or(CHUNK));
        let count = from.read_at(&mut buffer[..wanted], at)?;
        if count == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        to.write_all(&buffer[..count])?;
        at += count as u64;
    }
    Ok(())
}

fn in_kernel(from: &File, start: u64, size: u64, to: &File) -> std::io::Result<()> {
    let mut at = i64::try_from(start).map_err(|_| std::io::ErrorKind::InvalidInput)?;
    let mut left = size;
    while left > 0 {
        let count = usize::try_from(left).unwrap_or(usize::MAX);
        // SAFETY: both descriptors are open, and `at` lives through the call.
        let copied =
            unsafe { libc::copy_file_range(from.as_raw_fd(), &mut at, to.as_raw_fd(), std::ptr::null_mut(), count, 0) };
        match u64::try_from(copied) {
            Ok(0) => return Err(std::io::ErrorKind::UnexpectedEof.into()),
            Ok(count) => left -= count,
            // Across file systems, or on one without the call.
            Err(_) => return through_memory(from, start + size - left, left, to),
        }
    }
    Ok(())
}
