//! Writing a patched file: a copy beside it, changed, read back, then put in its place in one step.
//! A hard link, a running program or a killed run never sees half.
//!
//! After a power cut the file is what the file system makes of a file renamed over another: the old or
//! the new one on ext4 and btrfs, which write the data first. Many files at once are exchanged instead,
//! which is several times faster there and gives no such order: they are flushed first, all together.

use std::collections::BTreeMap;
use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

use tempfile::{NamedTempFile, TempPath};

use super::leftover::temporary;
use super::{Subject, copy};
use crate::elf::edit::PatchPlan;
use crate::error::{Error, Result};
use crate::fs::exchange;

/// From so many files on, one flush costs less than the file system's own for each.
const MANY: usize = 8;
/// More bytes are not flushed before they count: that would take longer than all copying.
const MUCH: u64 = 64 << 20;

/// Smaller files are written in one go, with their changes: many single writes take longer.
const SMALL: u64 = 1 << 20;

/// A finished copy that waits to be put in its place. Dropped, it leaves no trace.
pub struct Replacement {
    copy: NamedTempFile,
    target: PathBuf,
    device: u64,
    bytes: u64,
}

/// Copies the subject, changes the copy as planned, and reads it back. It will replace `output`, with
/// mode, owner, extended attributes, times and holes of the subject.
///
/// # Errors
/// The copy cannot be made or does not read back as the plan wants.
pub fn prepare(subject: &Subject, output: &Path, plan: &PatchPlan) -> Result<Replacement> {
    // What a link names is patched, not the link.
    let is_link = || output.symlink_metadata().is_ok_and(|data| data.is_symlink());
    let in_its_place = subject.direct && output == subject.path();
    let target = if !in_its_place && is_link() { fs_err::canonicalize(output)? } else { output.to_owned() };
    let parent = target.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let (copy, own) = temporary(parent, &subject.data).map_err(|error| failed(&target, &error))?;
    let (from, to) = (subject.file.file(), copy.as_file());
    let written = if plan.new_length() <= SMALL && subject.data.blocks() * 512 >= subject.data.len() {
        whole(subject, to, plan)
    } else {
        copy::content(from, &subject.data, to, plan.length.min(plan.tail_at)).and_then(|()| write(to, plan))
    };
    written.map_err(|error| failed(&target, &error))?;
    subject.unchanged()?;
    super::read_back(copy.path(), to, plan.new_length(), &plan.wanted)?;
    copy::attributes(subject, to, &own).map_err(|error| failed(&target, &error))?;
    Ok(Replacement { copy, target, device: own.dev(), bytes: plan.new_length() })
}

/// Writes a small file in one go.
fn whole(subject: &Subject, to: &File, plan: &PatchPlan) -> std::io::Result<()> {
    let bytes = plan.apply(subject.bytes()).map_err(std::io::Error::other)?;
    to.write_all_at(&bytes, 0)
}

/// Changes a file that only simpack knows yet, where it is.
///
/// # Errors
/// It cannot be written, or does not read back as the plan wants; then it is of no use any more.
pub(super) fn in_place(subject: &Subject, plan: &PatchPlan) -> Result<()> {
    let reopened = match subject.writable {
        true => None,
        false => Some(fs_err::OpenOptions::new().read(true).write(true).open(subject.path())?),
    };
    let file = reopened.as_ref().unwrap_or(&subject.file).file();
    write(file, plan).map_err(|error| failed(subject.path(), &error))?;
    super::read_back(subject.path(), file, plan.new_length(), &plan.wanted)
}

fn write(file: &File, plan: &PatchPlan) -> std::io::Result<()> {
    if plan.tail_at != plan.length {
        file.set_len(plan.tail_at)?;
    }
    for write in &plan.writes {
        file.write_all_at(&write.bytes, write.at)?;
    }
    if !plan.tail.is_empty() {
        file.write_all_at(&plan.tail, plan.tail_at)?;
    }
    Ok(())
}

fn failed(target: &Path, error: &std::io::Error) -> Error {
    Error::from(std::io::Error::new(error.kind(), format!("failed to write {}: {error}", target.display())))
}

/// What became of copies that were put in their places.
pub struct Committed {
    /// One for each copy, in their order.
    pub results: Vec<Result<()>>,
    /// Files that were exchanged, under the names of the copies; they go when this is dropped. A program
    /// that writes more files drops it last: ext4 goes around numbers of files that were just removed,
    /// one by one, for each file it makes.
    pub old: Vec<TempPath>,
}

/// Puts copies in their places.
pub fn commit(replacements: Vec<Replacement>) -> Committed {
    let bytes: u64 = replacements.iter().map(|replacement| replacement.bytes).sum();
    let flushed = replacements.len() >= MANY && bytes <= MUCH && flush(&replacements);
    let mut old = Vec::new();
    let place = |Replacement { copy, target, .. }: Replacement| {
        if flushed && exchange(copy.path(), &target) {
            old.push(copy.into_temp_path());
            return Ok(());
        }
        copy.persist(&target).map(drop).map_err(|error| failed(&target, &error.error))
    };
    Committed { results: replacements.into_iter().map(place).collect(), old }
}

/// Has every file system that the copies are on write them down.
fn flush(replacements: &[Replacement]) -> bool {
    let systems: BTreeMap<u64, &NamedTempFile> = replacements.iter().map(|it| (it.device, &it.copy)).collect();
    // SAFETY: the descriptors are open; the call takes no pointers.
    systems.values().all(|copy| unsafe { libc::syncfs(copy.as_file().as_raw_fd()) } == 0)
}
