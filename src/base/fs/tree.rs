//! The one door to trees that others had a hand in: staged, packed, unpacked and sliced ones. A path is walked part by
//! part, from one open directory to the next, and no link is followed: whatever links a step or a package left, nothing
//! outside of the tree is opened or written.

use std::io::{self, Seek, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{AtFlags, FileType, Mode, OFlags};
use rustix::io::Errno;

use crate::error::{Error, Result};

/// A directory whose files are opened and written through here. The path of the directory itself is the caller's word.
#[derive(Debug)]
pub struct Tree {
    root: OwnedFd,
    path: PathBuf,
}

/// How a directory on the way is opened: for nothing but to go on from it.
const STEP: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
/// Temporary names differ within this process by a number, and between processes by theirs.
static COUNT: AtomicU64 = AtomicU64::new(0);

impl Tree {
    /// The tree of an existing directory.
    ///
    /// # Errors
    /// It is not there, or is no directory.
    pub fn at(path: &Path) -> Result<Self> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = rustix::fs::open(path, flags, Mode::empty()).map_err(|error| failed(path, error))?;
        Ok(Self { root, path: path.to_owned() })
    }

    /// The tree of a directory, which is made with its parents if it is not there.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn make(path: &Path) -> Result<Self> {
        fs_err::create_dir_all(path)?;
        Self::at(path)
    }

    /// Opens a regular file for reading.
    ///
    /// # Errors
    /// It is not there, is no regular file, or a link is on the way or in its place.
    pub fn open(&self, path: &str) -> Result<fs_err::File> {
        let (directory, name) = self.parent(path, false)?;
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let opened = rustix::fs::openat(&directory, name, flags, Mode::empty());
        let file = opened.map_err(|error| self.refusal(&directory, path, name, error))?;
        let file = fs_err::File::from_parts(std::fs::File::from(file), self.path.join(path));
        match file.metadata()?.is_file() {
            true => Ok(file),
            false => Err(Error::file(file.path(), "is no regular file")),
        }
    }

    /// All bytes of a regular file.
    ///
    /// # Errors
    /// As [`Tree::open`], or it cannot be read.
    pub fn read(&self, path: &str) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        io::Read::read_to_end(&mut self.open(path)?, &mut bytes)?;
        Ok(bytes)
    }

    /// Writes a new file with what `from` holds, with this mode or its own, and makes the directories above it.
    ///
    /// # Errors
    /// Something is there already, a link is on the way, or it cannot be written.
    pub fn copy(&self, from: &fs_err::File, path: &str, mode: Option<u32>) -> Result<()> {
        let mode = match mode {
            Some(mode) => mode,
            None => from.metadata()?.permissions().mode() & 0o7777,
        };
        let mut from = from.file();
        from.rewind()?;
        self.fill(path, mode, |file| io::copy(&mut from, file).map(drop))
    }

    /// Writes a new file with these bytes and makes the directories above it, without waiting for the disk.
    ///
    /// # Errors
    /// Something is there already, a link is on the way, or it cannot be written.
    pub fn file(&self, path: &str, bytes: &[u8], mode: u32) -> Result<()> {
        self.fill(path, mode, |file| file.write_all(bytes))
    }

    /// Puts a file with these bytes in the place of what is there, in one step, and makes the directories above it.
    ///
    /// # Errors
    /// A link or a directory is in its place, a link is on the way, or it cannot be written.
    pub fn write(&self, path: &str, bytes: &[u8]) -> Result<()> {
        let (directory, name) = self.parent(path, true)?;
        match rustix::fs::statat(&directory, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(data) if FileType::from_raw_mode(data.st_mode) != FileType::RegularFile => {
                return Err(self.refusal(&directory, path, name, Errno::EXIST));
            }
            _ => {}
        }
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let fresh = format!(".simpack-{}-{count}", std::process::id());
        let beside = match path.rsplit_once('/') {
            Some((parent, _)) => format!("{parent}/{fresh}"),
            None => fresh.clone(),
        };
        let written = self.fill(&beside, 0o644, |file| {
            file.write_all(bytes)?;
            file.sync_data()
        });
        let renamed = written.and_then(|()| {
            let renamed = rustix::fs::renameat(&directory, fresh.as_str(), &directory, name);
            renamed.map_err(|error| failed(&self.path.join(path), error))
        });
        if renamed.is_err() {
            let _ = rustix::fs::unlinkat(&directory, fresh.as_str(), AtFlags::empty());
        }
        renamed
    }

    /// Makes a symbolic link, and the directories above it.
    ///
    /// # Errors
    /// Something is there already, a link is on the way, or it cannot be made.
    pub fn symlink(&self, text: &str, path: &str) -> Result<()> {
        let (directory, name) = self.parent(path, true)?;
        let made = rustix::fs::symlinkat(text, &directory, name);
        made.map_err(|error| self.refusal(&directory, path, name, error))
    }

    /// Makes a directory with those above it; one that is there is fine.
    ///
    /// # Errors
    /// Something else is there, a link is on the way, or it cannot be made.
    pub fn directory(&self, path: &str) -> Result<()> {
        let (directory, name) = self.parent(path, true)?;
        self.step(&directory, path, name, true).map(drop)
    }

    /// Removes a file or link.
    ///
    /// # Errors
    /// It is not there, a link is on the way, or it cannot be removed.
    pub fn remove(&self, path: &str) -> Result<()> {
        let (directory, name) = self.parent(path, false)?;
        let removed = rustix::fs::unlinkat(&directory, name, AtFlags::empty());
        removed.map_err(|error| self.refusal(&directory, path, name, error))
    }

    /// Where a file goes that something else writes or renames into place: the directories above it are made and are
    /// directories, and nothing but a regular file is there.
    ///
    /// # Errors
    /// A link is on the way or in its place, or a directory cannot be made.
    pub fn place(&self, path: &str) -> Result<PathBuf> {
        let (directory, name) = self.parent(path, true)?;
        match rustix::fs::statat(&directory, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(data) if FileType::from_raw_mode(data.st_mode) != FileType::RegularFile => {
                Err(self.refusal(&directory, path, name, Errno::EXIST))
            }
            _ => Ok(self.path.join(path)),
        }
    }

    fn fill(&self, path: &str, mode: u32, fill: impl FnOnce(&mut &std::fs::File) -> io::Result<()>) -> Result<()> {
        self.create(path, mode, |mut file| {
            fill(&mut file).map_err(|error| Error::file(self.path.join(path), "cannot be written").because(error))
        })
    }

    /// Has `fill` write a new file, which gets this mode, and makes the directories above it.
    ///
    /// # Errors
    /// Something is there already, a link is on the way, or `fill` fails.
    pub fn create<E: From<Error>>(
        &self,
        path: &str,
        mode: u32,
        fill: impl FnOnce(&std::fs::File) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        let (directory, name) = self.parent(path, true)?;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let made = rustix::fs::openat(&directory, name, flags, Mode::RUSR | Mode::WUSR);
        let file = std::fs::File::from(made.map_err(|error| self.refusal(&directory, path, name, error))?);
        fill(&file)?;
        // The mode is said, whatever the umask.
        let set = file.set_permissions(std::fs::Permissions::from_mode(mode));
        Ok(set.map_err(|error| Error::file(self.path.join(path), error))?)
    }

    /// The directory of a path, open, and the last part of the path.
    fn parent<'a>(&self, path: &'a str, make: bool) -> Result<(OwnedFd, &'a str)> {
        let mut parts: Vec<&str> = path.split('/').collect();
        if parts.iter().any(|part| matches!(*part, "" | "." | "..")) {
            return Err(Error::file(self.path.join(path), "is no path below its tree"));
        }
        let name = parts.pop().unwrap_or(path);
        let root = rustix::io::fcntl_dupfd_cloexec(&self.root, 0).map_err(|error| failed(&self.path, error))?;
        let mut end = 0;
        let directory = parts.iter().try_fold(root, |directory, part| {
            end += part.len() + 1;
            self.step(&directory, &path[..end - 1], part, make)
        })?;
        Ok((directory, name))
    }

    /// One directory further.
    fn step(&self, directory: &OwnedFd, path: &str, name: &str, make: bool) -> Result<OwnedFd> {
        let open = || rustix::fs::openat(directory, name, STEP, Mode::empty());
        let opened = match open() {
            Err(Errno::NOENT) if make => match rustix::fs::mkdirat(directory, name, Mode::from_raw_mode(0o755)) {
                Ok(()) | Err(Errno::EXIST) => open(),
                Err(error) => Err(error),
            },
            opened => opened,
        };
        opened.map_err(|error| self.refusal(directory, path, name, error))
    }

    /// Why something is not opened or made, in words: a link is named as one.
    fn refusal(&self, directory: impl AsFd, path: &str, name: &str, error: Errno) -> Error {
        let whole = self.path.join(path);
        let kind = rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW);
        match kind.map(|data| FileType::from_raw_mode(data.st_mode)) {
            Ok(FileType::Symlink) => {
                Error::file(whole, "is a link, and nothing is opened or written through links here")
            }
            _ => failed(&whole, error),
        }
    }
}

fn failed(path: &Path, error: Errno) -> Error {
    Error::file(path, io::Error::from(error))
}

#[cfg(test)]
mod tests {
    use fs_err::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn nothing_is_opened_or_written_through_a_link_or_above_the_tree() {
        let dir = tempfile::tempdir().unwrap();
        let (outside, inside) = (dir.path().join("outside"), dir.path().join("tree"));
        let tree = Tree::make(&inside).unwrap();
        fs_err::create_dir(&outside).unwrap();
        fs_err::write(outside.join("file"), "theirs").unwrap();
        fs_err::write(dir.path().join("from"), "ours").unwrap();
        fs_err::create_dir(inside.join("deep")).unwrap();
        symlink(&outside, inside.join("absolute")).unwrap();
        symlink("../../outside", inside.join("deep/relative")).unwrap();
        symlink("deep", inside.join("within")).unwrap();
        symlink(outside.join("file"), inside.join("linked")).unwrap();
        symlink(outside.join("new"), inside.join("dangling")).unwrap();
        let from = dir.path().join("from");
        for path in [
            "absolute/file",
            "absolute/new",
            "absolute/a/b/new",
            "deep/relative/file",
            "deep/relative/new",
            "within/new",
            "linked",
            "dangling",
            "linked/below",
        ] {
            let errors = [
                tree.open(path).err(),
                tree.read(path).err(),
                tree.write(path, b"ours").err(),
                tree.copy(&crate::fs::open(&from).unwrap(), path, Some(0o644)).err(),
                tree.symlink("text", path).err(),
                tree.place(path).err(),
                tree.directory(path).err(),
            ];
            for (index, error) in errors.into_iter().enumerate() {
                let error = error.unwrap_or_else(|| panic!("{path} {index}")).to_string();
                assert!(error.contains("is a link"), "{path} {index}: {error}");
            }
        }
        assert!(tree.remove("absolute/file").is_err());
        for path in ["../outside/file", "deep/../../outside/file", "/etc/passwd", "", ".", "deep//file", "deep/"] {
            assert!(tree.open(path).is_err() && tree.write(path, b"").is_err(), "{path}");
            assert!(tree.place(path).is_err() && tree.remove(path).is_err() && tree.directory(path).is_err(), "{path}");
        }
        let there: Vec<_> = fs_err::read_dir(&outside).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(there, ["file"]);
        assert_eq!(fs_err::read(outside.join("file")).unwrap(), b"theirs");
        assert_eq!(fs_err::read_dir(inside.join("deep")).unwrap().count(), 1);
        // A link itself may be removed.
        tree.remove("linked").unwrap();
        assert!(outside.join("file").exists());
    }

    #[test]
    fn files_are_written_once_and_replaced_whole() {
        let dir = tempfile::tempdir().unwrap();
        let tree = Tree::at(dir.path()).unwrap();
        let at = |path: &str| dir.path().join(path);
        tree.write("a/b/file", b"one").unwrap();
        tree.write("a/b/file", b"two").unwrap();
        assert_eq!(tree.read("a/b/file").unwrap(), b"two");
        assert_eq!(fs_err::read_dir(at("a/b")).unwrap().count(), 1);
        tree.copy(&crate::fs::open(&at("a/b/file")).unwrap(), "c/copy", Some(0o755)).unwrap();
        tree.copy(&crate::fs::open(&at("c/copy")).unwrap(), "again", None).unwrap();
        let mode = |path: &str| fs_err::metadata(at(path)).unwrap().permissions().mode() & 0o7777;
        assert_eq!((mode("a/b/file"), mode("c/copy"), mode("again")), (0o644, 0o755, 0o755));
        assert!(tree.copy(&crate::fs::open(&at("a/b/file")).unwrap(), "c/copy", None).is_err(), "it is there");
        assert!(tree.write("a/b", b"").is_err() && tree.open("a/b").is_err(), "a directory");
        assert!(tree.open("a/b/file/below").is_err() && tree.open("none").is_err() && Tree::at(&at("none")).is_err());
        tree.symlink("../nowhere", "d/link").unwrap();
        assert_eq!(fs_err::read_link(at("d/link")).unwrap(), Path::new("../nowhere"));
        assert_eq!(tree.place("e/file").unwrap(), at("e/file"));
        assert!(at("e").is_dir() && !at("e/file").exists());
    }
}
