//! A `.tar.zst` in the making.

use std::io::{Read, Write};
use std::num::NonZeroUsize;

use crate::bundle::{Artifact, ArtifactKind};
use crate::error::{Error, Result};
use crate::package::{Content, Effort, Efforts, Frame};

/// A `.tar.zst` in the making, in which each file is compressed as it is worth.
pub(in crate::package) struct PackedTar<W: Write> {
    archive: tar::Builder<Frame<W>>,
    time: u64,
    efforts: Efforts,
}

impl<W: Write> PackedTar<W> {
    /// An archive that goes to `out`, compressed on so many threads; all entries have the time `time`.
    pub fn new(out: W, time: u64, efforts: Efforts, threads: NonZeroUsize) -> Self {
        let threads = u32::try_from(threads.get()).unwrap_or(u32::MAX);
        Self { archive: tar::Builder::new(Frame::new(out, threads)), time, efforts }
    }

    pub fn file(&mut self, artifact: &Artifact, content: Content<'_>) -> Result<()> {
        let ArtifactKind::File { size, executable, .. } = artifact.kind else {
            return Err(Error::bug(format!("{} is no file", artifact.path)));
        };
        let effort = self.efforts.get(&artifact.path);
        match content {
            Content::Bytes(bytes) => self.entry(&artifact.path, size, executable, effort, bytes),
            Content::File(file) => self.entry(&artifact.path, size, executable, effort, file.file()),
        }
    }

    /// A file of `size` bytes.
    pub fn entry(&mut self, path: &str, size: u64, executable: bool, effort: Effort, content: impl Read) -> Result<()> {
        self.archive.get_mut().turn_to(effort)?;
        let mode = if executable { 0o755 } else { 0o644 };
        let mut header = header(tar::EntryType::Regular, mode, size, self.time);
        Ok(self.archive.append_data(&mut header, path, content)?)
    }

    pub fn link(&mut self, path: &str, to: &str) -> Result<()> {
        let mut header = header(tar::EntryType::Symlink, 0o777, 0, self.time);
        Ok(self.archive.append_link(&mut header, path, to)?)
    }

    /// A file of bytes that are at hand.
    pub fn text(&mut self, path: &str, bytes: &[u8]) -> Result<()> {
        let mut header = header(tar::EntryType::Regular, 0o644, bytes.len() as u64, self.time);
        Ok(self.archive.append_data(&mut header, path, bytes)?)
    }

    /// Completes it.
    pub fn finish(self) -> Result<W> {
        Ok(self.archive.into_inner()?.finish()?)
    }
}

/// The header of an entry: nobody's, at the package's time.
pub(in crate::package) fn header(kind: tar::EntryType, mode: u32, size: u64, time: u64) -> tar::Header {
    let mut header = tar::Header::new_gnu();
    header.set_entry_type(kind);
    header.set_mode(mode);
    header.set_size(size);
    header.set_mtime(time);
    header.set_uid(0);
    header.set_gid(0);
    header
}
