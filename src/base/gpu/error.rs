//! Why device code could not be read.

use std::path::Path;

use crate::budget::{Budget, OverBudget};
use crate::elf::ElfError;
use crate::error::Error;

/// What is wrong with the bytes. The caller knows the file's name and adds it with [`CodeError::at`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CodeError {
    /// The bytes end before something they announce, or contradict themselves.
    #[error("damaged device code: {0}")]
    Damaged(String),
    /// A form that simpack does not read.
    #[error("{0} is not supported")]
    Unsupported(&'static str),
    /// A kind of code that simpack does not know, by its number.
    #[error("device code of an unknown kind ({0:#x})")]
    Unknown(u16),
    /// Reading it takes more than bytes of its number are worth.
    #[error(transparent)]
    Budget(#[from] OverBudget),
    /// The ELF file around it cannot be read.
    #[error(transparent)]
    Elf(#[from] ElfError),
}

impl CodeError {
    pub(crate) fn damaged(what: impl Into<String>) -> Self {
        Self::Damaged(what.into())
    }

    /// Why a reader stopped in the middle: its budget was spent, or what stands there is damaged.
    pub(crate) fn stopped(budget: &Budget, damaged: impl FnOnce() -> Self) -> Self {
        budget.finish().err().map_or_else(damaged, Self::Budget)
    }

    /// simpack's error about the file `path`.
    pub fn at(self, path: &Path) -> Error {
        match self {
            Self::Elf(error) => error.at(path),
            other => Error::file(path, other),
        }
    }
}
