//! What is known of a tree's files: each is digested, read as ELF and searched for device code once, whoever asks.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use crate::elf::{self, ElfError, Facts, Image};
use crate::error::Result;
use crate::fs::{Content, Digest};
use crate::gpu::{DeviceCode, device_code};

/// Facts of the files of one tree, by path below it, shared by everyone who holds a clone and by all threads.
///
/// It holds what was found and, but for a tree that is in memory alone, nothing of the files themselves. Whoever changes a
/// file calls [`Inventory::forget`].
#[derive(Debug, Clone, Default)]
pub struct Inventory {
    known: Arc<Mutex<BTreeMap<String, Arc<KnownFile>>>>,
    held: Option<Arc<BTreeMap<String, HeldFile>>>,
}

/// A file that is in memory and not on a disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeldFile {
    /// Its bytes.
    pub bytes: Arc<[u8]>,
    /// Its permission bits.
    pub mode: u32,
}

/// What is known of one file so far.
#[derive(Debug, Default)]
pub struct KnownFile {
    digest: OnceLock<Digest>,
    host: OnceLock<Option<Arc<Facts>>>,
    device: OnceLock<Arc<DeviceCode>>,
}

/// What is known of files is no part of what a bundle is.
impl PartialEq for Inventory {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Inventory {}

impl Inventory {
    /// That of a tree which is in memory, and of which nothing is known yet.
    pub fn holding(files: BTreeMap<String, HeldFile>) -> Self {
        Self { held: Some(Arc::new(files)), ..Self::default() }
    }

    /// The files of a tree that is in memory, by path below it; none of one on a disk.
    pub fn held(&self) -> Option<&BTreeMap<String, HeldFile>> {
        self.held.as_deref()
    }

    /// What is known of the file at `path` below the tree.
    pub fn file(&self, path: &str) -> Arc<KnownFile> {
        let mut files = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(files.entry(path.to_owned()).or_default())
    }

    /// The digest of the file at `path` below the tree, which lies at `root`.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn digest(&self, root: &Path, path: &str) -> Result<Digest> {
        self.file(path).digest_of(&root.join(path))
    }

    /// Forgets what was known of a file, which has changed.
    pub fn forget(&self, path: &str) {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).remove(path);
    }
}

impl KnownFile {
    /// Says the digest of a file that was just written.
    pub fn written(&self, digest: Digest) {
        self.digest.get_or_init(|| digest);
    }

    /// The digest, if somebody has computed it.
    pub fn digest(&self) -> Option<Digest> {
        self.digest.get().copied()
    }

    /// What the host's ELF file says, if somebody has read it.
    pub fn host(&self) -> Option<&Arc<Facts>> {
        self.host.get()?.as_ref()
    }

    /// Says what device code was found in the file, with its kernels.
    pub fn examined(&self, code: &Arc<DeviceCode>) {
        self.device.get_or_init(|| Arc::clone(code));
    }

    /// The device code of the file at `path`, with its kernels.
    ///
    /// # Errors
    /// It cannot be read, or is damaged.
    pub(super) fn device_of(&self, path: &Path) -> Result<Arc<DeviceCode>> {
        if let Some(known) = self.device.get() {
            return Ok(Arc::clone(known));
        }
        let found = device_code(Content::open(path)?.bytes()).map_err(|error| error.at(path))?;
        Ok(Arc::clone(self.device.get_or_init(|| Arc::new(found))))
    }

    /// The digest of the file at `path`.
    ///
    /// # Errors
    /// It cannot be read.
    pub(super) fn digest_of(&self, path: &Path) -> Result<Digest> {
        match self.digest() {
            Some(digest) => Ok(digest),
            None => Digest::of_file(path).map(|digest| *self.digest.get_or_init(|| digest)),
        }
    }

    /// What the ELF file at `path` says to the host; none for any other file, device code too.
    ///
    /// # Errors
    /// It cannot be read, or its tables are damaged.
    pub(super) fn host_of(&self, path: &Path) -> Result<Option<Arc<Facts>>> {
        if let Some(known) = self.host.get() {
            return Ok(known.clone());
        }
        let content = Content::open(path)?;
        let bytes = content.bytes();
        let found = if elf::is_elf(bytes) { host_facts(bytes).map_err(|error| error.at(path))? } else { None };
        Ok(self.host.get_or_init(|| found).clone())
    }
}

fn host_facts(bytes: &[u8]) -> Result<Option<Arc<Facts>>, ElfError> {
    let image = Image::parse(bytes)?;
    if image.is_device_code() {
        return Ok(None);
    }
    elf::facts_of(&image).map(|facts| Some(Arc::new(facts)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_once_until_it_is_said_to_have_changed() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a");
        let (inventory, write) = (Inventory::default(), |text: &[u8]| fs_err::write(&path, text).unwrap());
        write(b"one");
        assert_eq!(inventory.file("a").digest(), None);
        assert_eq!(inventory.file("a").digest_of(&path).unwrap(), Digest::of(b"one"));
        assert!(inventory.file("a").host_of(&path).unwrap().is_none());
        write(b"two");
        assert_eq!(inventory.clone().file("a").digest(), Some(Digest::of(b"one")));
        inventory.forget("a");
        assert_eq!(inventory.file("a").digest_of(&path).unwrap(), Digest::of(b"two"));
        inventory.file("b").written(Digest::of(b"three"));
        assert_eq!(inventory.file("b").digest_of(Path::new("/nowhere")).unwrap(), Digest::of(b"three"));
        assert!(inventory.file("b").digest_of(Path::new("/nowhere")).is_ok());
        assert!(inventory.file("c").digest_of(Path::new("/nowhere")).is_err());
        write(b".version 8.4\n.target sm_90\n.address_size 64\n");
        let found = inventory.file("a").device_of(&path).unwrap();
        assert_eq!(found.images.len(), 1);
        write(b"gone");
        assert_eq!(inventory.clone().file("a").device_of(&path).unwrap(), found);
        inventory.forget("a");
        assert!(inventory.file("a").device_of(&path).unwrap().is_empty());
        inventory.file("d").examined(&found);
        assert_eq!(inventory.file("d").device_of(Path::new("/nowhere")).unwrap(), found);
    }
}
