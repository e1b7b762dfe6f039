//! The files that a loader sees: a machine's, another root's, or a list in memory.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::rc::Rc;

use super::Object;
use crate::fs::Root;

/// What makes a file the same file: device and inode.
pub type FileId = (u64, u64);

/// A file that could be opened.
pub struct OpenFile<'a> {
    /// Device and inode.
    pub id: FileId,
    /// The set-user-ID bit.
    pub setuid: bool,
    /// The set-group-ID bit.
    pub setgid: bool,
    /// What is in it.
    pub source: Source<'a>,
}

/// What is in a file.
pub enum Source<'a> {
    /// Its bytes.
    Bytes(Box<dyn AsRef<[u8]> + 'a>),
    /// What a loader would read of it: somebody else has read the file.
    Object(Rc<Object>),
}

impl OpenFile<'_> {
    /// Its bytes; none when only its object is known.
    pub fn bytes(&self) -> &[u8] {
        match &self.source {
            Source::Bytes(bytes) => (**bytes).as_ref(),
            Source::Object(_) => &[],
        }
    }
}

/// What lies at a path.
pub enum Opened<'a> {
    /// Nothing, or nothing that may be read.
    Absent,
    /// A file without permission to read it.
    Denied,
    /// A directory: it can be opened and not read.
    Directory,
    /// Something that cannot be opened, with the reason.
    Failed(String),
    /// A file.
    File(OpenFile<'a>),
}

/// Files by absolute path, links followed as inside that root.
pub trait Tree {
    /// Opens a file.
    fn open(&self, path: &str) -> Opened<'_>;
    /// Whether a directory is there.
    fn is_directory(&self, path: &str) -> bool;
    /// The path without links; `None` when nothing is there.
    fn real(&self, path: &str) -> Option<String>;
}

impl Tree for Root {
    fn open(&self, path: &str) -> Opened<'_> {
        match Root::open(self, path) {
            Ok(file) => Opened::File(OpenFile {
                id: file.id,
                setuid: file.mode & 0o4000 != 0,
                setgid: file.mode & 0o2000 != 0,
                source: Source::Bytes(Box::new(file)),
            }),
            Err(error) if error.kind() == ErrorKind::IsADirectory => Opened::Directory,
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Opened::Absent,
            Err(error) if error.kind() == ErrorKind::PermissionDenied => Opened::Denied,
            Err(error) => Opened::Failed(error.to_string()),
        }
    }

    fn is_directory(&self, path: &str) -> bool {
        Root::is_directory(self, path)
    }

    fn real(&self, path: &str) -> Option<String> {
        Root::real(self, path)
    }
}

/// Files in memory: a layout that is asked about without being on a disk.
#[derive(Debug, Clone, Default)]
pub struct MemoryTree {
    files: BTreeMap<String, (u64, Stored)>,
    links: BTreeMap<String, String>,
    /// How many files were stored: the number of the next.
    stored: u64,
}

#[derive(Debug, Clone)]
enum Stored {
    Bytes(Vec<u8>),
    Object(Rc<Object>),
}

impl MemoryTree {
    /// Adds a file; its directories come with it.
    pub fn file(&mut self, path: impl Into<String>, bytes: impl Into<Vec<u8>>) {
        self.store(path.into(), Stored::Bytes(bytes.into()));
    }

    /// Adds a file of which only is known what a loader would read of it.
    pub fn object(&mut self, path: impl Into<String>, object: Object) {
        self.store(path.into(), Stored::Object(Rc::new(object)));
    }

    fn store(&mut self, path: String, stored: Stored) {
        // A file that takes the place of another is another file.
        self.stored += 1;
        self.files.insert(path, (self.stored, stored));
    }

    /// Adds a link from a path (of a file or a directory) to an absolute path, or one that counts from the
    /// directory of the link.
    pub fn link(&mut self, path: impl Into<String>, to: impl Into<String>) {
        self.links.insert(path.into(), to.into());
    }

    /// The path with links followed, `.` and `..` removed.
    fn followed(&self, path: &str) -> Option<String> {
        let mut path = path.to_owned();
        // As many links as Linux follows.
        for _ in 0..40 {
            let mut at = String::new();
            let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
            let mut linked = None;
            for (index, part) in parts.iter().enumerate() {
                if *part == ".." {
                    at.truncate(at.rfind('/').unwrap_or(0));
                    continue;
                }
                let link = format!("{at}/{part}");
                if let Some(target) = self.links.get(&link) {
                    let from = if target.starts_with('/') { "" } else { &at };
                    linked = Some(format!("{from}/{target}/{}", parts[index + 1..].join("/")));
                    break;
                }
                at = link;
            }
            match linked {
                Some(next) => path = next,
                None => return Some(at),
            }
        }
        None
    }
}

impl Tree for MemoryTree {
    fn open(&self, path: &str) -> Opened<'_> {
        let Some(path) = self.followed(path) else { return Opened::Failed("too many links".to_owned()) };
        match self.files.get(&path) {
            Some((id, stored)) => Opened::File(OpenFile {
                id: (0, *id),
                setuid: false,
                setgid: false,
                source: match stored {
                    Stored::Bytes(bytes) => Source::Bytes(Box::new(bytes.as_slice())),
                    Stored::Object(object) => Source::Object(object.clone()),
                },
            }),
            None if Tree::is_directory(self, &path) => Opened::Directory,
            None => Opened::Absent,
        }
    }

    fn is_directory(&self, path: &str) -> bool {
        self.followed(path).is_some_and(|path| {
            let below = format!("{}/", path.trim_end_matches('/'));
            self.files.range(below.clone()..).next().is_some_and(|(name, _)| name.starts_with(&below))
        })
    }

    fn real(&self, path: &str) -> Option<String> {
        self.followed(path).filter(|path| self.files.contains_key(path) || Tree::is_directory(self, path))
    }
}
