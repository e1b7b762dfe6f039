//! Files: atomic writes, sorted walks, digests. Whoever is killed here leaves the old or the new.

mod directories;
mod open;
mod root;
mod stamp;
mod tree;

use std::collections::BTreeMap;
use std::fmt;
use std::io::{Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

pub use open::{open, open_lock, read, read_short, read_to_string};
pub use root::{Root, RootFile};
pub use stamp::Stamp;
pub use tree::Tree;

use crate::error::{Error, Result};

/// A SHA-256 digest; prints and parses as 64 lowercase hex digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
pub struct Digest([u8; 32]);

impl Digest {
    /// Digest of `bytes`.
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// Digest of a file's content, read in pieces.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn of_file(path: &Path) -> Result<Self> {
        Self::of_open(&open(path)?)
    }

    /// Digest of an open file's content, whatever was read of it.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn of_open(file: &fs_err::File) -> Result<Self> {
        let mut file = file.file();
        file.rewind()?;
        let mut hasher = Sha256::new();
        let mut buffer = vec![0; 1 << 16];
        loop {
            let count = file.read(&mut buffer)?;
            if count == 0 {
                return Ok(Self(hasher.finalize().into()));
            }
            hasher.update(&buffer[..count]);
        }
    }

    /// The raw 32 bytes.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// The first `digits` hex digits, for names that people read.
    pub fn short(&self, digits: usize) -> String {
        self.to_string()[..digits].to_owned()
    }
}

impl From<[u8; 32]> for Digest {
    fn from(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Digest {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{text}` is not a sha256 digest of 64 hex digits");
        if text.len() != 64 || !text.is_ascii() {
            return Err(wrong());
        }
        let mut bytes = [0; 32];
        for (index, byte) in bytes.iter_mut().enumerate() {
            *byte = u8::from_str_radix(&text[2 * index..2 * index + 2], 16).map_err(|_| wrong())?;
        }
        Ok(Self(bytes))
    }
}

impl TryFrom<String> for Digest {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<Digest> for String {
    fn from(digest: Digest) -> Self {
        digest.to_string()
    }
}

/// Builds a digest from fields, each with its length before it, so that no two different lists of
/// fields give the same bytes.
#[derive(Default)]
pub struct DigestBuilder(Sha256);

impl DigestBuilder {
    /// Adds one field.
    #[must_use]
    pub fn field(mut self, bytes: impl AsRef<[u8]>) -> Self {
        let bytes = bytes.as_ref();
        self.0.update((bytes.len() as u64).to_le_bytes());
        self.0.update(bytes);
        self
    }

    /// The digest of all fields.
    pub fn finish(self) -> Digest {
        Digest(self.0.finalize().into())
    }
}

/// One entry of a walk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// `/`-joined path relative to the root of the walk.
    pub path: String,
    /// What it is.
    pub kind: EntryKind,
}

/// What a walk found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EntryKind {
    /// A regular file of so many bytes, and whether its owner may execute it.
    File {
        /// Bytes.
        size: u64,
        /// Owner's execute bit.
        executable: bool,
    },
    /// A symbolic link and the text it holds.
    Link(String),
    /// A directory.
    Directory,
}

/// All entries below `root`, sorted by path bytes, without `root` itself. Links are not followed.
///
/// # Errors
/// An entry cannot be read, a name is not UTF-8, or something is neither file nor link nor directory: a pipe, a socket
/// or a device, of which reading may never end.
pub fn walk(root: &Path) -> Result<Vec<Entry>> {
    let (entries, others) = walk_all(root)?;
    match others.first() {
        Some(other) => Err(Error::file(root.join(other), NO_FILE)),
        None => Ok(entries),
    }
}

/// As [`walk`], and beside it the sorted names of pipes, sockets and devices, for those who look at what others made.
///
/// # Errors
/// A directory cannot be read, or a name is not UTF-8.
pub fn walk_all(root: &Path) -> Result<(Vec<Entry>, Vec<String>)> {
    use std::os::unix::fs::PermissionsExt;
    let (mut entries, mut others) = (Vec::new(), Vec::new());
    for entry in walkdir::WalkDir::new(root).min_depth(1) {
        let entry = entry.map_err(|error| Error::file(root, error))?;
        let path = relative(root, entry.path())?;
        let kind = if entry.file_type().is_symlink() {
            let target = fs_err::read_link(entry.path())?;
            EntryKind::Link(utf8(&target)?.to_owned())
        } else if entry.file_type().is_dir() {
            EntryKind::Directory
        } else if !entry.file_type().is_file() {
            others.push(path);
            continue;
        } else {
            let data = entry.metadata().map_err(|error| Error::file(entry.path(), error))?;
            EntryKind::File { size: data.len(), executable: data.permissions().mode() & 0o100 != 0 }
        };
        entries.push(Entry { path, kind });
    }
    entries.sort_by(|a, b| a.path.cmp(&b.path));
    others.sort();
    Ok((entries, others))
}

/// What is said of pipes, sockets and devices.
pub const NO_FILE: &str = "is neither file nor link nor directory";

/// `path` below `root` as a `/`-joined string.
///
/// # Errors
/// The path is not below `root`, or not UTF-8.
pub fn relative(root: &Path, path: &Path) -> Result<String> {
    let below = path
        .strip_prefix(root)
        .map_err(|_| Error::bug(format!("{} is not below {}", path.display(), root.display())))?;
    Ok(utf8(below)?.to_owned())
}

/// The path as text; names that are not UTF-8 are refused.
///
/// # Errors
/// The path is not UTF-8.
pub fn utf8(path: &Path) -> Result<&str> {
    path.to_str().ok_or_else(|| Error::file(path, "the name is not UTF-8"))
}

/// Writes a file so that a reader sees the old content or the new, never half: a temporary file
/// beside it, flushed, then renamed over it. Mode 0644.
///
/// # Errors
/// The file cannot be written or renamed.
pub fn write_atomic(path: &Path, bytes: &[u8]) -> Result<()> {
    write_beside(path, bytes, true)
}

/// The same without waiting for the disk: for what may be lost, or come back empty, when the power fails.
///
/// # Errors
/// The file cannot be written or renamed.
pub fn write_renamed(path: &Path, bytes: &[u8]) -> Result<()> {
    write_beside(path, bytes, false)
}

fn write_beside(path: &Path, bytes: &[u8], is_flushed: bool) -> Result<()> {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    fs_err::create_dir_all(parent)?;
    let name = |error: std::io::Error| {
        Error::from(std::io::Error::new(error.kind(), format!("failed to write {}: {error}", path.display())))
    };
    let mut file = tempfile::Builder::new().prefix(".simpack-").tempfile_in(parent).map_err(name)?;
    file.write_all(bytes).map_err(name)?;
    if is_flushed {
        file.as_file().sync_data().map_err(name)?;
    }
    set_mode(file.path(), 0o644)?;
    file.persist(path).map_err(|error| name(error.error))?;
    Ok(())
}

/// Waits until everything below `dir` is on the disk: before a mark says that a tree is whole, because a mark that
/// comes back after a power cut must not speak for files that do not.
///
/// # Errors
/// The file system cannot write what it holds.
pub fn flush(dir: &Path) -> Result<()> {
    use std::os::fd::AsRawFd;
    let open = fs_err::File::open(dir)?;
    // SAFETY: the descriptor is open.
    match unsafe { libc::syncfs(open.file().as_raw_fd()) } {
        0 => Ok(()),
        _ => Err(Error::file(dir, "cannot be written to the disk").because(std::io::Error::last_os_error())),
    }
}

/// Gives a finished file its name, when its bytes are on the disk.
///
/// # Errors
/// It cannot be flushed or renamed.
pub fn rename_flushed(from: &Path, to: &Path) -> Result<()> {
    fs_err::OpenOptions::new().write(true).open(from)?.file().sync_all()?;
    Ok(fs_err::rename(from, to)?)
}

/// Says, as build systems do, that a directory can be made again: backups pass over it, and so does a source tree around it.
///
/// # Errors
/// It cannot be written.
pub fn mark_as_cache(dir: &Path) -> Result<()> {
    // The first line is fixed by the convention of that file.
    const TEXT: &[u8] = b"Signature: 8a477f597d28d172789f06886806bc55\n# simpack writes here, and can do so again\n";
    let tag = dir.join("CACHEDIR.TAG");
    match tag.exists() {
        true => Ok(()),
        false => write_atomic(&tag, TEXT),
    }
}

/// Sets permission bits.
///
/// # Errors
/// The file system refuses it.
pub fn set_mode(path: &Path, mode: u32) -> Result<()> {
    use std::os::unix::fs::PermissionsExt;
    Ok(fs_err::set_permissions(path, std::fs::Permissions::from_mode(mode))?)
}

/// Puts the complete directory `new` in the place of `target`. The old one is moved aside first and
/// removed last, so a kill leaves one whole directory under one of the two names.
///
/// # Errors
/// A directory cannot be renamed or removed.
pub fn replace_dir(new: &Path, target: &Path) -> Result<()> {
    if let Some(parent) = target.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        fs_err::create_dir_all(parent)?;
    }
    if exchange(new, target) {
        return remove_gone(new);
    }
    let old = target.with_file_name(format!(
        ".{}.old-{}",
        target.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default(),
        std::process::id()
    ));
    let had_old = target.exists();
    if had_old {
        fs_err::rename(target, &old)?;
    }
    fs_err::rename(new, target)?;
    if had_old {
        remove_gone(&old)?;
    }
    Ok(())
}

/// Removes a directory that another process may be removing too.
///
/// # Errors
/// Something in it cannot be removed.
pub fn remove_gone(dir: &Path) -> Result<()> {
    match fs_err::remove_dir_all(dir) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error.into()),
        _ => Ok(()),
    }
}

/// Copies the tree of `from` to `to`: files with their mode, links as links. A file that `replaced` names is moved from
/// there instead, on the same file system.
///
/// # Errors
/// A file cannot be read or written.
pub fn copy_tree(from: &Path, to: &Path, replaced: &BTreeMap<String, PathBuf>) -> Result<()> {
    let (source, tree) = (Tree::at(from)?, Tree::make(to)?);
    for entry in walk(from)? {
        match entry.kind {
            EntryKind::Directory => tree.directory(&entry.path)?,
            EntryKind::Link(text) => tree.symlink(&text, &entry.path)?,
            EntryKind::File { .. } => match replaced.get(&entry.path) {
                Some(other) => fs_err::rename(other, tree.place(&entry.path)?)?,
                None => tree.copy(&source.open(&entry.path)?, &entry.path, None)?,
            },
        }
    }
    Ok(())
}

/// Swaps two files or directories in one step where the kernel and the file system can; answers whether
/// it did.
pub fn exchange(a: &Path, b: &Path) -> bool {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    renameat_with(CWD, a, CWD, b, RenameFlags::EXCHANGE).is_ok()
}

/// The user's cache directory for simpack: the setting `cache-dir` (`SIMPACK_CACHE_DIR`), else
/// `$XDG_CACHE_HOME/simpack`.
///
/// # Errors
/// Neither a setting nor the environment says where it is.
pub fn cache_dir() -> Result<PathBuf> {
    use etcetera::BaseStrategy;
    // The variable may be no text, which a setting always is.
    if let Some(dir) = std::env::var_os("SIMPACK_CACHE_DIR").filter(|dir| !dir.is_empty() && dir.to_str().is_none()) {
        return Ok(PathBuf::from(dir));
    }
    if let Some(dir) = crate::config::current().path("cache-dir") {
        return Ok(dir.to_owned());
    }
    let base = etcetera::choose_base_strategy()
        .map_err(|error| Error::usage("no home directory to cache in").because(error).hint("set SIMPACK_CACHE_DIR"))?;
    Ok(base.cache_dir().join("simpack"))
}

/// Where `simpack compile` keeps what it made: the setting `compiled-dir` (`SIMPACK_COMPILED_DIR`), else
/// `$XDG_DATA_HOME/simpack/compiled`.
///
/// # Errors
/// Neither a setting nor the environment says where it is.
pub fn compiled_dir() -> Result<PathBuf> {
    use etcetera::BaseStrategy;
    if let Some(dir) = crate::config::current().path("compiled-dir") {
        return Ok(dir.to_owned());
    }
    let base = etcetera::choose_base_strategy().map_err(|error| {
        Error::usage("no home directory to keep results in").because(error).hint("set SIMPACK_COMPILED_DIR")
    })?;
    Ok(base.data_dir().join("simpack/compiled"))
}

/// Runs `work` while no other process holds the lock file `path`; the kernel drops the lock of a
/// process that dies.
///
/// # Errors
/// The lock file cannot be opened or locked, or `work` fails.
pub fn with_lock<T>(path: &Path, work: impl FnOnce() -> Result<T>) -> Result<T> {
    with_lock_or_wait(path, || (), work)
}

/// The same; `waiting` is called once when another process holds the lock.
///
/// # Errors
/// The lock file cannot be opened or locked, or `work` fails.
pub fn with_lock_or_wait<T>(path: &Path, waiting: impl FnOnce(), work: impl FnOnce() -> Result<T>) -> Result<T> {
    if let Some(parent) = path.parent() {
        fs_err::create_dir_all(parent)?;
    }
    let file = fs_err::OpenOptions::new().create(true).truncate(false).write(true).open(path)?;
    match file.file().try_lock() {
        Ok(()) => {}
        Err(std::fs::TryLockError::WouldBlock) => {
            waiting();
            file.file().lock()?;
        }
        Err(std::fs::TryLockError::Error(error)) => return Err(error.into()),
    }
    let result = work();
    drop(file);
    result
}

/// Tells the kernel that single pages of an open file will be read here and there, so that it reads no others ahead.
pub fn read_sparsely(file: &std::fs::File) {
    use std::os::fd::AsRawFd;
    // SAFETY: the call takes numbers and changes nothing but how far the kernel reads ahead. Only an advice: what it
    // answers does not matter.
    unsafe { libc::posix_fadvise(file.as_raw_fd(), 0, 0, libc::POSIX_FADV_RANDOM) };
}

/// Smaller files are read: that costs less than a map and its page faults.
const SMALL: u64 = 32 << 10;

/// The bytes of one file: mapped, so that only the pages that are looked at are read, or a small one whole.
pub enum Content {
    /// A small one.
    Held(Vec<u8>),
    /// A mapped one.
    Mapped(memmap2::Mmap),
}

impl Content {
    /// Opens a regular file.
    ///
    /// # Errors
    /// It cannot be opened or mapped.
    pub fn open(path: &Path) -> Result<Self> {
        Self::map(&open(path)?)
    }

    /// Maps an open file.
    ///
    /// # Errors
    /// It cannot be mapped.
    pub fn map(file: &fs_err::File) -> Result<Self> {
        let length = file.metadata()?.len();
        Self::of(file.file(), length).map_err(|error| Error::file(file.path(), format!("cannot be mapped: {error}")))
    }

    /// Maps or reads an opened file of `length` bytes.
    ///
    /// # Errors
    /// It cannot be mapped, or read.
    pub fn of(file: &std::fs::File, length: u64) -> std::io::Result<Self> {
        // What has no length but content (`/proc`) cannot be mapped either.
        if length <= SMALL {
            let mut bytes = vec![0; length as usize];
            std::os::unix::fs::FileExt::read_exact_at(file, &mut bytes, 0)?;
            return Ok(Self::Held(bytes));
        }
        let length = usize::try_from(length).map_err(std::io::Error::other)?;
        // SAFETY: the map is read only and private to this process. Somebody who truncates the file
        // meanwhile ends the program with SIGBUS; bundles and unpacked packages are simpack's own.
        let map = unsafe { memmap2::MmapOptions::new().len(length).map(file) }?;
        Ok(Self::Mapped(map))
    }

    /// Tells the kernel that single pages will be looked at here and there, so that it reads no others ahead.
    #[must_use]
    pub fn sparse(self) -> Self {
        if let Self::Mapped(map) = &self {
            // Only an advice: without it more is read.
            let _ = map.advise(memmap2::Advice::Random);
        }
        self
    }

    /// Gives back the memory of a part of the bytes that was read: what is looked at again comes from the file again.
    pub fn release(&self, part: &[u8]) {
        let Self::Mapped(map) = self else { return };
        let inside = (part.as_ptr() as usize).checked_sub(map.as_ptr() as usize);
        if let Some(at) = inside.filter(|at| at.checked_add(part.len()).is_some_and(|end| end <= map.len())) {
            // SAFETY: the map is shared with the file and read only, so the next access finds the same bytes. Only an
            // advice: without it more memory is held.
            let _ = unsafe { map.unchecked_advise_range(memmap2::UncheckedAdvice::DontNeed, at, part.len()) };
        }
    }

    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        match self {
            Self::Held(bytes) => bytes,
            Self::Mapped(map) => map,
        }
    }
}
