//! The bytes of one file: mapped, so that only the pages that are looked at are read.

use std::path::Path;

use memmap2::Mmap;

use crate::error::Result;

/// Bytes of a file.
pub(super) enum Content {
    /// An empty file cannot be mapped.
    Empty,
    /// A mapped one.
    Mapped(Mmap),
}

impl Content {
    /// Opens a regular file.
    pub(super) fn open(path: &Path) -> Result<Self> {
        let file = fs_err::File::open(path)?;
        if file.metadata()?.len() == 0 {
            return Ok(Self::Empty);
        }
        // SAFETY: the map is read only and private to this process. Somebody who truncates the file
        // meanwhile ends the program with SIGBUS; bundles and unpacked packages are simpack's own.
        let map = unsafe { Mmap::map(file.file()) }?;
        Ok(Self::Mapped(map))
    }

    /// The bytes.
    pub(super) fn bytes(&self) -> &[u8] {
        match self {
            Self::Empty => &[],
            Self::Mapped(map) => map,
        }
    }
}

/// Whether a file exists and is no link: used where the name comes from a user or a package.
pub(super) fn is_plain_file(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|data| data.is_file())
}
