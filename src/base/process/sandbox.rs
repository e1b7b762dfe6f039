//! What a program may see and write, as a value; and the means of this machine to hold it to that.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// The means to hold a program to what it may see.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Isolation {
    /// The program `bwrap`.
    Bubblewrap(PathBuf),
    /// Namespaces of the kernel, made by simpack itself. `user` is false where a privileged process
    /// needs no user namespace, and may not make one.
    Namespaces {
        /// With a user namespace.
        user: bool,
    },
    /// The kernel's Landlock: what is not allowed is there, but cannot be opened; no TCP.
    Landlock,
}

/// How a program was isolated, the weakest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum IsolationKind {
    /// Nobody knows: by a simpack that did not say.
    #[default]
    Unknown,
    /// Not at all.
    None,
    /// By Landlock.
    Landlock,
    /// By namespaces of the kernel.
    Namespaces,
    /// By the program `bwrap`.
    Bubblewrap,
}

impl IsolationKind {
    /// Whether it keeps in at least what `other` does; namespaces and `bwrap`, which makes them, do the same.
    pub fn is_as_strong_as(self, other: Self) -> bool {
        self >= other.min(Self::Namespaces)
    }
}

impl fmt::Display for IsolationKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Unknown => "unknown",
            Self::None => "none",
            Self::Landlock => "landlock",
            Self::Namespaces => "namespaces",
            Self::Bubblewrap => "bubblewrap",
        })
    }
}

impl Isolation {
    /// Without what is needed to use it.
    pub fn kind(&self) -> IsolationKind {
        match self {
            Self::Bubblewrap(_) => IsolationKind::Bubblewrap,
            Self::Namespaces { .. } => IsolationKind::Namespaces,
            Self::Landlock => IsolationKind::Landlock,
        }
    }
}

impl fmt::Display for Isolation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.kind().fmt(f)
    }
}

/// What one program may see and write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sandbox {
    /// The means.
    pub by: Isolation,
    /// Directories and files that can be read, by the name under which they are seen.
    pub read: BTreeSet<PathBuf>,
    /// Directories that can be written.
    pub write: BTreeSet<PathBuf>,
    /// Symbolic links of the top directory: `/lib` to `usr/lib`.
    pub links: BTreeMap<PathBuf, PathBuf>,
    /// What is seen as `/tmp`.
    pub temporary: PathBuf,
    /// An empty directory on which the program's root is made.
    pub root: PathBuf,
}

/// Devices that every program may expect.
pub(super) const DEVICES: [&str; 5] = ["null", "zero", "full", "random", "urandom"];

impl Sandbox {
    /// Everything that is seen, each with whether it can be written, parents before what is in them.
    pub(super) fn mounts(&self) -> Vec<(&Path, bool)> {
        let read = self.read.difference(&self.write).map(|path| (path.as_path(), false));
        let mut mounts: Vec<_> = read.chain(self.write.iter().map(|path| (path.as_path(), true))).collect();
        mounts.sort();
        mounts
    }
}

/// The means that this machine may have, the best first. Each has to be tried.
pub fn candidates() -> Vec<Isolation> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let bwrap = std::env::split_paths(&path).filter(|dir| dir.is_absolute()).map(|dir| dir.join("bwrap"));
    let bwrap = bwrap.into_iter().find(|path| path.is_file()).map(Isolation::Bubblewrap);
    let own = [Isolation::Namespaces { user: true }, Isolation::Namespaces { user: false }, Isolation::Landlock];
    bwrap.into_iter().chain(own).collect()
}
