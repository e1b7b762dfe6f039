//! Why bytes could not be read as ELF, or an edit was refused.

use std::path::Path;

use crate::budget::OverBudget;
use crate::error::{Error, ErrorKind};

/// What is wrong with the bytes. The caller knows the file's name and adds it with [`ElfError::at`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ElfError {
    /// The first four bytes are not those of an ELF file.
    #[error("not an ELF file")]
    NotElf,
    /// A kind of ELF file that simpack does not read.
    #[error("{0} ELF files are not supported")]
    Unsupported(&'static str),
    /// The file ends before something it announces, or contradicts itself.
    #[error("damaged ELF file: {0}")]
    Damaged(String),
    /// Reading it takes more than a file of its size is worth.
    #[error(transparent)]
    Budget(#[from] OverBudget),
    /// The edit would break the file.
    #[error("cannot be changed: {reason}")]
    Refused {
        /// Why.
        reason: String,
        /// What to do instead.
        hint: &'static str,
    },
    /// Two of the requested edits cannot hold together.
    #[error("contradictory edits: {0}")]
    Contradiction(String),
}

impl ElfError {
    pub(crate) fn damaged(what: impl Into<String>) -> Self {
        Self::Damaged(what.into())
    }

    /// The edit would break the file.
    pub fn refused(reason: impl Into<String>, hint: &'static str) -> Self {
        Self::Refused { reason: reason.into(), hint }
    }

    /// simpack's error about the file `path`.
    pub fn at(self, path: &Path) -> Error {
        let error = match &self {
            Self::Contradiction(_) => Error::new(ErrorKind::Usage, format!("{}: {self}", path.display())),
            _ => Error::file(path, &self),
        };
        match self {
            Self::Refused { hint, .. } => error.hint(hint),
            Self::Unsupported(_) => error.hint("leave it out: only 64-bit little-endian files are read"),
            Self::Damaged(_) => error.hint("build or download the file again"),
            _ => error,
        }
    }
}
