//! Everything an edit does to a file, as a value.

use serde::{Deserialize, Serialize};

use super::intent::State;
use crate::elf::ElfError;

/// One text that changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// `runpath`, `rpath`, `soname`, `needed` or `interpreter`.
    pub what: String,
    /// Text before; nothing if there was none.
    pub from: Option<String>,
    /// Text after; nothing if it goes.
    pub to: Option<String>,
}

/// Bytes to write over existing ones.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Write {
    /// File offset.
    pub at: u64,
    /// What to write.
    pub bytes: Vec<u8>,
}

/// Everything an edit does to a file, as a value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PatchPlan {
    /// Bytes of the file it was made for.
    pub length: u64,
    /// What changes, in words.
    pub changes: Vec<Change>,
    /// Writes over existing bytes, sorted, without overlap, all below `tail_at`.
    pub writes: Vec<Write>,
    /// Where the tail goes: the file is cut or filled up with NULs to this length first.
    pub tail_at: u64,
    /// Bytes behind everything else.
    pub tail: Vec<u8>,
    /// The state that must be read back.
    pub wanted: State,
}

impl PatchPlan {
    /// Whether nothing has to be written.
    pub fn is_empty(&self) -> bool {
        self.writes.is_empty() && self.tail.is_empty() && self.tail_at == self.length
    }

    /// Length of the file afterwards.
    pub fn new_length(&self) -> u64 {
        self.tail_at + self.tail.len() as u64
    }

    /// The new bytes of the file.
    ///
    /// # Errors
    /// The bytes are not those that the plan was made for.
    pub fn apply(&self, file: &[u8]) -> Result<Vec<u8>, ElfError> {
        let wrong = || ElfError::damaged("the plan was made for another file");
        if file.len() as u64 != self.length {
            return Err(wrong());
        }
        let mut bytes = file.to_vec();
        bytes.resize(usize::try_from(self.tail_at).map_err(|_| wrong())?, 0);
        for write in &self.writes {
            let at = usize::try_from(write.at).map_err(|_| wrong())?;
            let end = at.checked_add(write.bytes.len()).ok_or_else(wrong)?;
            bytes.get_mut(at..end).ok_or_else(wrong)?.copy_from_slice(&write.bytes);
        }
        bytes.extend_from_slice(&self.tail);
        Ok(bytes)
    }
}
