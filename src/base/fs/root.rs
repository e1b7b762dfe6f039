//! A directory as the root of another machine's files: links inside it lead to places inside it.

use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use super::Content;
use super::directories::{Directories, Directory};
use crate::error::Result;

/// As many links as Linux follows in one path.
const MOST_LINKS: usize = 40;

/// Files below a directory, by the absolute paths that a program sees whose root it is.
///
/// What is not there is not looked for a second time: a value is for one look at a tree that rests.
#[derive(Debug)]
pub struct Root {
    /// None for the machine's own root, where the kernel follows links.
    directory: Option<PathBuf>,
    /// Directories by the text of their path: libraries share few of them.
    known: RefCell<HashMap<PathBuf, PathBuf>>,
    /// Directories of this machine without links; None for what is no directory.
    real: RefCell<HashMap<PathBuf, Option<PathBuf>>>,
    directories: Directories,
}

/// An opened file; its bytes are read when they are asked for.
pub struct RootFile {
    /// Device and inode.
    pub id: (u64, u64),
    /// Permission bits.
    pub mode: u32,
    length: u64,
    file: std::fs::File,
    content: OnceCell<Content>,
}

impl RootFile {
    fn of(file: std::fs::File) -> io::Result<Self> {
        let data = file.metadata()?;
        if data.is_dir() {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        if !data.is_file() {
            return Err(io::Error::other("not a regular file"));
        }
        let (id, mode, length) = ((data.dev(), data.ino()), data.mode(), data.len());
        Ok(Self { id, mode, length, file, content: OnceCell::new() })
    }

    /// Its bytes; only the pages of a large file that are looked at are read. Of a file that can
    /// neither be mapped nor read there are none.
    pub fn bytes(&self) -> &[u8] {
        let content = self.content.get_or_init(|| {
            let content = Content::of(&self.file, self.length).or_else(|_| self.read());
            content.unwrap_or(Content::Held(Vec::new()))
        });
        content.bytes()
    }

    fn read(&self) -> io::Result<Content> {
        let mut bytes = vec![0; usize::try_from(self.length).map_err(io::Error::other)?];
        self.file.read_exact_at(&mut bytes, 0)?;
        Ok(Content::Held(bytes))
    }
}

impl AsRef<[u8]> for RootFile {
    fn as_ref(&self) -> &[u8] {
        self.bytes()
    }
}

impl Root {
    /// The machine's own root.
    pub fn machine() -> Self {
        Self {
            directory: None,
            known: RefCell::default(),
            real: RefCell::default(),
            directories: Directories::default(),
        }
    }

    /// The same root with at most `most` directories held open: where each of many threads has one.
    #[must_use]
    pub fn keeping(self, most: usize) -> Self {
        Self { directories: Directories::keeping(most), ..self }
    }

    /// A directory as root.
    ///
    /// # Errors
    /// It does not exist.
    pub fn at(directory: &Path) -> Result<Self> {
        let real = fs_err::canonicalize(directory)?;
        let own = real == Path::new("/");
        Ok(Self { directory: (!own).then_some(real), ..Self::machine() })
    }

    /// Opens a regular file.
    ///
    /// # Errors
    /// It is not there, may not be read, is a directory ([`io::ErrorKind::IsADirectory`]), or is neither.
    pub fn open(&self, path: &str) -> io::Result<RootFile> {
        let Some((parent, name)) = path.rsplit_once('/').filter(|(_, name)| !matches!(*name, "" | "." | "..")) else {
            return self.open_path(path);
        };
        let directory = self.directory(parent)?;
        if self.directories.is_absent(&directory, name) {
            return Err(io::ErrorKind::NotFound.into());
        }
        // A pipe without a writer would hold up a plain opening for ever. Links below another root are
        // not the kernel's to follow.
        let no_links = if self.directory.is_some() { libc::O_NOFOLLOW } else { 0 };
        match directory.open(name, libc::O_NONBLOCK | no_links) {
            None => self.open_path(path),
            Some(Err(error)) if no_links != 0 && error.raw_os_error() == Some(libc::ELOOP) => self.open_path(path),
            Some(Err(error)) => {
                if error.kind() == io::ErrorKind::NotFound {
                    self.directories.miss(&directory, name);
                }
                Err(error)
            }
            Some(Ok(file)) => RootFile::of(file),
        }
    }

    fn open_path(&self, path: &str) -> io::Result<RootFile> {
        let place = self.place(path)?;
        RootFile::of(std::fs::File::options().read(true).custom_flags(libc::O_NONBLOCK).open(place)?)
    }

    /// Whether a directory is there.
    pub fn is_directory(&self, path: &str) -> bool {
        self.directory(path.trim_end_matches('/')).is_ok()
    }

    /// The directory of a path, which is empty for the top.
    fn directory(&self, path: &str) -> io::Result<Directory> {
        self.directories.get(path, self.directory.is_none(), &|path| self.place(path))
    }

    /// Names in a directory, sorted; empty when it is none or may not be read.
    pub fn names(&self, path: &str) -> Vec<String> {
        self.list(path).unwrap_or_default()
    }

    /// Names in a directory that are text, sorted.
    ///
    /// # Errors
    /// It is not there, is no directory, or may not be read.
    pub fn list(&self, path: &str) -> io::Result<Vec<String>> {
        let entries = fs_err::read_dir(self.place(path)?)?;
        let mut names: Vec<String> = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect();
        names.sort();
        Ok(names)
    }

    /// Whether anything is there.
    pub fn exists(&self, path: &str) -> bool {
        self.place(path).is_ok_and(|place| place.exists())
    }

    /// Size, kind and times; of a link its own.
    ///
    /// # Errors
    /// It is not there, or may not be seen.
    pub fn metadata(&self, path: &str) -> io::Result<std::fs::Metadata> {
        fs_err::symlink_metadata(self.place(path)?)
    }

    /// Whether this process may read and write what is there; anything that is there, below another root.
    pub fn may_use(&self, path: &str) -> bool {
        use std::os::unix::ffi::OsStrExt;
        if self.directory.is_some() {
            return self.exists(path);
        }
        let Ok(path) = std::ffi::CString::new(std::ffi::OsStr::new(path).as_bytes()) else { return false };
        // SAFETY: the text ends with a zero byte and lives until the call returns.
        unsafe { libc::access(path.as_ptr(), libc::R_OK | libc::W_OK) == 0 }
    }

    /// The text of a small file such as those of `/proc`, which have no length; at most `most` bytes of it.
    pub fn text(&self, path: &str, most: u64) -> Option<String> {
        use std::io::Read;
        let place = self.place(path).ok()?;
        // Nothing that could hold up the reader: pipes and devices are no such files.
        if !fs_err::metadata(&place).ok()?.is_file() {
            return None;
        }
        let mut bytes = Vec::new();
        fs_err::File::open(place).ok()?.take(most).read_to_end(&mut bytes).ok()?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// The path without links, as a program inside sees it.
    pub fn real(&self, path: &str) -> Option<String> {
        let place = fs_err::canonicalize(self.place(path).ok()?).ok()?;
        let below = match &self.directory {
            None => place,
            Some(directory) => Path::new("/").join(place.strip_prefix(directory).ok()?),
        };
        below.to_str().map(str::to_owned)
    }

    /// The path as a program inside would name a file of this machine; `None` outside of the root.
    pub fn inside(&self, path: &Path) -> Option<String> {
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        let name = if parent.is_some() { Path::new(path.file_name()?) } else { path };
        let real = self.real_directory(parent.unwrap_or(Path::new(".")))?.join(name);
        let below = match &self.directory {
            None => real.as_path(),
            Some(directory) => real.strip_prefix(directory).ok()?,
        };
        Path::new("/").join(below).to_str().map(str::to_owned)
    }

    /// A directory of this machine without links.
    fn real_directory(&self, directory: &Path) -> Option<PathBuf> {
        if let Some(known) = self.real.borrow().get(directory) {
            return known.clone();
        }
        let real = fs_err::canonicalize(directory).ok();
        self.real.borrow_mut().insert(directory.to_owned(), real.clone());
        real
    }

    /// Where on this machine the path leads. The last part may be missing.
    fn place(&self, path: &str) -> io::Result<PathBuf> {
        match &self.directory {
            None => Ok(PathBuf::from(path)),
            Some(directory) => self.walk(directory, Path::new(path), &mut 0),
        }
    }

    fn walk(&self, root: &Path, path: &Path, links: &mut usize) -> io::Result<PathBuf> {
        let path = Path::new("/").join(path);
        if let Some(known) = self.known.borrow().get(&path) {
            return Ok(known.clone());
        }
        let (Some(parent), Some(name)) = (path.parent(), path.components().next_back()) else {
            return Ok(root.to_owned());
        };
        let directory = self.walk(root, parent, links)?;
        self.known.borrow_mut().insert(parent.to_owned(), directory.clone());
        let name = match name {
            std::path::Component::Normal(name) => name,
            std::path::Component::ParentDir if directory == root => return Ok(directory),
            std::path::Component::ParentDir => return Ok(directory.parent().unwrap_or(root).to_owned()),
            _ => return Ok(directory),
        };
        let place = directory.join(name);
        let Ok(target) = fs_err::read_link(&place) else { return Ok(place) };
        *links += 1;
        if *links > MOST_LINKS {
            return Err(io::Error::other("too many links"));
        }
        let inside = Path::new("/").join(directory.strip_prefix(root).unwrap_or(Path::new(""))).join(target);
        self.walk(root, &inside, links)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_stay_inside_and_dots_do_not_lead_out() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        fs_err::create_dir_all(at("usr/lib")).unwrap();
        fs_err::write(at("usr/lib/a"), "a").unwrap();
        for (link, target) in
            [("lib", "usr/lib"), ("usr/lib/b", "/lib/a"), ("usr/lib/c", "../../../../lib/b"), ("x", "x")]
        {
            fs_err::os::unix::fs::symlink(target, at(link)).unwrap();
        }
        let root = Root::at(dir.path()).unwrap();
        for path in ["/lib/a", "/lib/b", "/lib/c", "/usr/lib/../../lib/./b", "/../../lib/c"] {
            assert_eq!(root.open(path).unwrap().bytes(), b"a", "{path}");
            assert_eq!(root.real(path).as_deref(), Some("/usr/lib/a"), "{path}");
        }
        assert!(root.open("/x").is_err() && root.open("/lib").is_err());
        for path in ["/lib/none", "/lib/none", "/usr/lib/none", "/none/a", "/usr/none/a"] {
            assert_eq!(root.open(path).err().map(|error| error.kind()), Some(io::ErrorKind::NotFound), "{path}");
        }
        assert!(!root.is_directory("/usr/none") && !root.is_directory("/usr/none/") && root.is_directory("/"));
        assert!(root.is_directory("/lib/") && !root.is_directory("/lib/a"));
        assert_eq!(root.inside(&at("lib/a")).as_deref(), Some("/usr/lib/a"));
        assert_eq!(root.inside(Path::new("/")), None);
    }
}
