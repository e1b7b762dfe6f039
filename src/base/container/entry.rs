//! One member of a container, checked, and what a container can be refused for.

use std::io::{self, Read};
use std::time::SystemTime;

use zip::write::SimpleFileOptions;

use crate::config::LIMITS;
use crate::error::Error;

/// A member. Its path stays inside, its links lead inside as far as their text says.
pub struct Entry<'a> {
    /// `/`-joined path without `.` and `..`.
    pub path: String,
    /// What it is.
    pub kind: Kind,
    /// Permission bits.
    pub mode: u32,
    /// Bytes, as the container says: reading may give fewer or fail.
    pub size: u64,
    /// When it was changed last; not of zip archives, whose times have no zone.
    pub modified: Option<SystemTime>,
    /// Its bytes where they lie unpacked in the container.
    pub stored: Option<&'a [u8]>,
    /// How a zip archive would hold it again.
    pub zip: Option<SimpleFileOptions>,
    /// Its bytes; they can be read once.
    pub content: &'a mut dyn Read,
}

/// What a member is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link with its text.
    Link(String),
    /// Another name of the file at this path.
    HardLink(String),
}

impl Entry<'_> {
    /// An error of the reader, with the member's name.
    pub fn unreadable(&self, error: io::Error) -> ContainerError {
        refused(&self.path, Refusal::Unreadable(error))
    }

    /// The permission bits that installers give: of all bits only the execute bit counts.
    pub fn installed_mode(&self) -> u32 {
        if self.mode & 0o111 == 0 { 0o644 } else { 0o755 }
    }
}

/// Why a container, or one member, is not read.
#[derive(Debug, thiserror::Error)]
pub enum ContainerError {
    /// It is not what its name or its first bytes say, or ends too early.
    #[error("damaged archive: {0}")]
    Damaged(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// It goes on and on.
    #[error("it unpacks to more than an honest archive of its size: {0} bytes; {limits}=8 allows eight times as much", limits = LIMITS.variable())]
    Bomb(u64),
    /// It has too many members.
    #[error("it has more than {0} members; {limits}=8 allows eight times as many", limits = LIMITS.variable())]
    Members(usize),
    /// A member is refused; the next may be read.
    #[error("{path} {why}")]
    Refused {
        /// Its name, as far as it is text.
        path: String,
        /// The reason.
        #[source]
        why: Refusal,
    },
    /// What was unpacked could not be written.
    #[error(transparent)]
    Write(#[from] Error),
}

impl From<io::Error> for ContainerError {
    fn from(error: io::Error) -> Self {
        Self::Write(error.into())
    }
}

/// Why a member is refused.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// `..`, or an absolute name.
    #[error("leaves the archive")]
    Name,
    /// No text.
    #[error("has a name that is not UTF-8")]
    NotText,
    /// A device, a pipe, or what nobody knows.
    #[error("is neither a file, nor a directory, nor a link")]
    Special,
    /// Its bytes are a list of pieces, which readers understand in different ways.
    #[error("is a sparse file")]
    Sparse,
    /// A link out of the tree.
    #[error("is a link that leaves the tree")]
    LinkOut,
    /// A circle of links.
    #[error("is a link that leads nowhere")]
    LinkLoop,
    /// Larger than any file that was seen.
    #[error("has more than {0} bytes")]
    Large(u64),
    /// A hard link without a file.
    #[error("is a second name of {0}, which is not there")]
    NoOriginal(String),
    /// Two members contradict each other.
    #[error("is a directory and a file")]
    Twice,
    /// A member lies below a file or a link.
    #[error("lies below something that is no directory")]
    BelowFile,
    /// In a `.conda` or `.deb` file there are two archives and a note.
    #[error("is no part of such a package")]
    Stranger,
    /// Encrypted, compressed in an unknown way, or damaged.
    #[error("cannot be unpacked: {0}")]
    Unreadable(#[source] io::Error),
}

/// What ends the reading of a container.
#[derive(Debug)]
pub enum Stop {
    /// The container itself, or a member that the caller does not want to do without.
    Container(ContainerError),
    /// Something that the caller did with a member.
    Caller(Error),
}

impl Stop {
    /// simpack's error; `container` says what it means that the container is at fault.
    pub fn error(self, container: impl FnOnce(ContainerError) -> Error) -> Error {
        match self {
            // That the disk is full is no fault of the container.
            Self::Container(ContainerError::Write(error)) => error,
            Self::Container(error) => container(error),
            Self::Caller(error) => error,
        }
    }
}

impl std::fmt::Display for Stop {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Container(error) => error.fmt(f),
            Self::Caller(error) => error.fmt(f),
        }
    }
}

impl From<ContainerError> for Stop {
    fn from(error: ContainerError) -> Self {
        Self::Container(error)
    }
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Self::Caller(error)
    }
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Self {
        Self::Caller(error.into())
    }
}

pub(super) fn refused(path: &str, why: Refusal) -> ContainerError {
    ContainerError::Refused { path: path.to_owned(), why }
}

/// The same path without `.`, when it cannot leave the tree; empty for the top.
pub(super) fn inside(name: &str) -> Result<String, Refusal> {
    if name.starts_with('/') || name.contains('\0') {
        return Err(Refusal::Name);
    }
    let parts: Vec<&str> = name.split('/').filter(|part| !matches!(*part, "" | ".")).collect();
    if parts.contains(&"..") { Err(Refusal::Name) } else { Ok(parts.join("/")) }
}

/// Refuses the text of a link at `path` that leads out as it stands; links through links are seen in a whole tree only.
pub(super) fn leads_inside(path: &str, text: &str) -> Result<(), Refusal> {
    let mut depth = path.matches('/').count();
    for part in text.split('/') {
        depth = match part {
            "" | "." => depth,
            ".." => depth.checked_sub(1).ok_or(Refusal::LinkOut)?,
            _ => depth + 1,
        };
    }
    if text.starts_with('/') { Err(Refusal::LinkOut) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_links_stay_inside() {
        assert_eq!(inside("./a//b/").ok().as_deref(), Some("a/b"));
        assert_eq!(inside("./").ok().as_deref(), Some(""));
        assert!(["/a", "..", "a/../b", "a\0b"].iter().all(|name| inside(name).is_err()));
        assert!(leads_inside("a/b", "../c").is_ok() && leads_inside("a", "b/../c").is_ok());
        assert!(leads_inside("a/b", "../../c").is_err() && leads_inside("a", "/c").is_err());
    }
}
