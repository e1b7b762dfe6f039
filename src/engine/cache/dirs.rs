//! Directories of a cache: their modes, and where entries and objects lie.

use std::fs::File;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::entry::{CacheEntry, LIST, List};
use crate::error::Result;
use crate::fs::{self, Digest};

/// The sticky bit and everybody's right to write: of `/tmp`, but of nothing in it.
pub(in crate::engine) const OPEN_TO_ALL: u32 = 0o1002;

/// Beginning of the names of entries in the making.
pub(super) const NEW: &str = ".new-";
/// Beginning of the names of entries that are being removed.
pub(super) const GONE: &str = ".gone-";

pub(super) fn place(root: &Path, key: Digest) -> PathBuf {
    let name = key.to_string();
    root.join(&name[..2]).join(name)
}

/// The list of an entry, for stamping if that is allowed.
pub(super) fn open(list: &Path) -> Option<File> {
    let both = File::options().read(true).write(true).open(list);
    both.or_else(|_| File::open(list)).ok()
}

/// An entry of any level, checked; the error says what is damaged.
pub(super) fn whole(place: &Path, key: Digest) -> Result<Option<CacheEntry>, String> {
    let Ok(file) = File::open(place.join(LIST)) else { return Ok(None) };
    let list = List::read(file).ok_or("its list cannot be read")?;
    match list.damage(place, key) {
        None => Ok(Some(list.entry(place))),
        Some(damage) => Err(damage),
    }
}

pub(super) fn mode_of(dir: &Path) -> Option<u32> {
    let mode = std::fs::metadata(dir).ok()?.permissions().mode() & 0o7777;
    // Whatever the others may do, the owner must be able to go on.
    Some(mode | 0o700)
}

/// Makes a directory with this mode where it is not there yet.
pub(in crate::engine) fn make_dir(dir: &Path, mode: u32) -> Result<()> {
    if dir.is_dir() {
        return Ok(());
    }
    fs_err::create_dir_all(dir)?;
    match std::fs::metadata(dir)?.permissions().mode() & 0o7777 == mode {
        true => Ok(()),
        // Another run may have made it, and then it is that user's to set.
        false => fs::set_mode(dir, mode).or(Ok(())),
    }
}

/// Whether files can be made in `dir`, which is made if it can be.
pub(super) fn writable(dir: &Path) -> bool {
    std::fs::create_dir_all(dir).is_ok() && tempfile::tempfile_in(dir).is_ok()
}

/// The object of an entry.
pub(super) fn object_name(key: Digest) -> String {
    let name = key.to_string();
    format!("artifacts/{}/{name}.tar.zst", &name[..2])
}
