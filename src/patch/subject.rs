//! One file to look at and to plan for: its bytes, mapped and not read.

use std::path::{Path, PathBuf};

use crate::elf::edit::{Edits, PatchPlan, State, plan};
use crate::error::Result;

/// A mapped file.
pub struct Subject {
    path: PathBuf,
    bytes: memmap2::Mmap,
}

impl Subject {
    /// Opens and maps the file at `path`.
    ///
    /// # Errors
    /// It cannot be opened.
    pub fn open(path: &Path) -> Result<Self> {
        let file = fs_err::File::open(path)?;
        Ok(Self { path: path.to_owned(), bytes: super::file::map(&file)? })
    }

    /// The bytes of the file.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Its editable texts.
    ///
    /// # Errors
    /// It cannot be read as ELF.
    pub fn state(&self) -> Result<State> {
        State::read(&self.bytes).map_err(|error| error.at(&self.path))
    }

    /// What `edits` do to it.
    ///
    /// # Errors
    /// It cannot be read, or not safely changed.
    pub fn plan(&self, edits: &Edits) -> Result<PatchPlan> {
        plan(&self.bytes, edits).map_err(|error| error.at(&self.path))
    }
}
