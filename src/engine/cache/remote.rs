//! Entries in an object store: each is one object, an archive of its list and its files, checked as an entry of a directory
//! is.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;

use super::dirs::object_name;
use super::entry::{CacheEntry, FILES, LIST, List};
use super::store::Cache;
use crate::bundle::ArtifactKind;
use crate::error::{Error, Result};
use crate::fs::{Digest, Tree};
use crate::toolchain::ObjectStore;

/// Bytes of an object at most, and of the files in it.
const MOST: u64 = 5 << 30;
const MOST_UNPACKED: u64 = 16 << 30;
/// Bytes of a list at most.
const MOST_LIST: u64 = 64 << 20;
/// Level of zstd: the network is slower than this, and the next levels than it.
const LEVEL: i32 = 3;

impl Cache {
    /// Fetches an entry of the object store, and checks it.
    pub(super) fn fetch_stored(&self, store: &ObjectStore, key: Digest) -> Result<Option<CacheEntry>> {
        let Some(object) = store.file(&object_name(key), MOST, self.root()) else { return Ok(None) };
        let fresh = self.fresh(key)?;
        match unpack(object, key, fresh.path()) {
            Ok(list) if !self.accepts(list.isolation) => Ok(None),
            Ok(list) => self.settle(key, &list.made(), fresh).map(Some),
            Err(damage) => {
                let (place, short) = (store.describe(), key.short(12));
                self.note(format!("an entry of the store {place} is damaged: {short}: {damage}; it is not used"));
                Ok(None)
            }
        }
    }

    /// Gives the object store what this run has made. What it does not take, others make again.
    pub(super) fn to_store(&self, key: Digest, entry: &CacheEntry) {
        let Some(store) = self.store.as_ref().filter(|store| store.is_written()) else { return };
        let list = List::new(key, &entry.made, entry.artifacts.clone());
        let packed = tempfile::tempfile_in(self.root()).and_then(|mut file| {
            pack(&list, &entry.root, &mut file)?;
            Ok(file)
        });
        match packed {
            Ok(file) => store.put_file(&object_name(key), &file),
            Err(error) => self.note(format!("{} is not put into the store: {error}", entry.made.step)),
        }
    }
}

/// Writes the entry that `list` describes, whose files lie below `root`.
pub(super) fn pack(list: &List, root: &Path, to: &mut dyn Write) -> io::Result<()> {
    let other = |error: Error| io::Error::other(error.to_string());
    let mut archive = tar::Builder::new(zstd::Encoder::new(to, LEVEL)?);
    let text = serde_json::to_vec(list)?;
    archive.append_data(&mut header(text.len() as u64, 0o644), list_name(Digest::of(&text)), text.as_slice())?;
    let tree = Tree::at(root).map_err(other)?;
    for artifact in &list.artifacts {
        if let ArtifactKind::File { size, executable, .. } = artifact.kind {
            let file = tree.open(&artifact.path).map_err(other)?;
            let mode = if executable { 0o755 } else { 0o644 };
            let path = format!("{FILES}/{}", artifact.path);
            archive.append_data(&mut header(size, mode), path, file.take(size))?;
        }
    }
    archive.into_inner()?.finish().map(drop)
}

/// Name of the list in an archive: files have their digests in the list, and the list has its own here.
fn list_name(digest: Digest) -> String {
    format!("{LIST}.{digest}")
}

fn header(size: u64, mode: u32) -> tar::Header {
    let mut header = tar::Header::new_gnu();
    header.set_size(size);
    header.set_mode(mode);
    header.set_mtime(0);
    header
}

/// Unpacks an object into the empty directory `place`: its list, and its files below [`FILES`]. All of it is compared with
/// the list, which must be that of `key`.
///
/// # Errors
/// What is damaged, in words.
pub(super) fn unpack(object: File, key: Digest, place: &Path) -> std::result::Result<List, String> {
    let broken = |error: io::Error| format!("it cannot be unpacked ({})", error.kind());
    let reader = zstd::Decoder::new(object).map_err(broken)?.take(MOST_UNPACKED);
    let mut archive = tar::Archive::new(reader);
    let mut entries = archive.entries().map_err(broken)?;
    let mut next = |what: &str, most: u64| match entries.next() {
        Some(Ok(entry)) if entry.header().entry_type().is_file() && entry.size() <= most => Ok(entry),
        Some(Ok(_)) => Err(format!("{what} is not what should be there")),
        Some(Err(error)) => Err(broken(error)),
        None => Err(format!("{what} is missing")),
    };
    let mut text = Vec::new();
    let mut first = next("its list", MOST_LIST)?;
    first.read_to_end(&mut text).map_err(broken)?;
    if *first.path_bytes() != *list_name(Digest::of(&text)).as_bytes() {
        return Err("its list is not what was put there".to_owned());
    }
    let list = List::read(text.as_slice()).ok_or("its list cannot be read")?;
    let cannot = |error: Error| error.to_string();
    let tree = Tree::make(&place.join(FILES)).map_err(cannot)?;
    for artifact in &list.artifacts {
        match &artifact.kind {
            ArtifactKind::Link { to } => tree.symlink(to, &artifact.path).map_err(cannot)?,
            ArtifactKind::File { size, executable, .. } => {
                // Which file it is does not matter: it has the digest that the list says, or not.
                let mut entry = next(&artifact.path, *size)?;
                let fill = |mut file: &File| -> Result<()> { Ok(io::copy(&mut entry, &mut file).map(drop)?) };
                tree.create(&artifact.path, if *executable { 0o755 } else { 0o644 }, fill).map_err(cannot)?;
            }
        }
    }
    match list.damage(place, key) {
        None => Ok(list),
        Some(damage) => Err(damage),
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Seek, SeekFrom};

    use super::super::entry::{Made, StepKind, artifacts_of};
    use super::*;
    use crate::process::IsolationKind;

    /// An object of three files and a link, as its bytes.
    fn object(key: Digest, change: impl Fn(&mut List)) -> Vec<u8> {
        let dir = tempfile::tempdir().unwrap();
        fs_err::create_dir_all(dir.path().join("lib/deep")).unwrap();
        for (name, bytes) in [("lib/a.so", vec![7; 70_000]), ("lib/deep/b", b"b".to_vec()), ("empty", Vec::new())] {
            fs_err::write(dir.path().join(name), bytes).unwrap();
        }
        crate::fs::set_mode(&dir.path().join("lib/a.so"), 0o755).unwrap();
        fs_err::os::unix::fs::symlink("a.so", dir.path().join("lib/a")).unwrap();
        let made = Made {
            step: "host core".to_owned(),
            kind: StepKind::Host,
            seconds: 1.0,
            cpu: 1.0,
            peak: 1,
            isolation: IsolationKind::Namespaces,
            unused: Vec::new(),
            incremental: false,
        };
        let mut list = List::new(key, &made, artifacts_of(dir.path()).unwrap());
        change(&mut list);
        let mut bytes = Vec::new();
        pack(&list, dir.path(), &mut bytes).unwrap();
        bytes
    }

    fn unpacked(bytes: &[u8], key: Digest) -> std::result::Result<List, String> {
        let place = tempfile::tempdir().unwrap();
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(bytes).unwrap();
        file.seek(SeekFrom::Start(0)).unwrap();
        unpack(file, key, place.path())
    }

    #[test]
    fn an_entry_comes_back_as_it_was_and_whatever_is_damaged_does_not() {
        let key = Digest::of(b"key");
        let whole = object(key, |_| ());
        let list = unpacked(&whole, key).unwrap();
        assert_eq!(list.artifacts.len(), 4);
        assert_eq!(list.made().isolation, IsolationKind::Namespaces);
        assert!(unpacked(&whole, Digest::of(b"other")).unwrap_err().contains("its list is that of"));
        for length in [0, 1, 20, whole.len() / 2] {
            assert!(unpacked(&whole[..length], key).is_err(), "{length}");
        }
        // Any byte: the archive, a header, a file, or nothing that counts.
        for at in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[at] ^= 0x55;
            if let Ok(found) = unpacked(&bytes, key) {
                assert_eq!(found.artifacts, list.artifacts, "{at}");
            }
        }
        let digest = |list: &mut List| {
            if let Some(ArtifactKind::File { sha256, .. }) = list.artifacts.iter_mut().map(|it| &mut it.kind).next() {
                *sha256 = Digest::of(b"no");
            }
        };
        assert!(unpacked(&object(key, digest), key).unwrap_err().contains("is not what was put there"));
        assert!(unpacked(&object(key, |list| list.artifacts.reverse()), key).is_err());
    }

    #[test]
    fn nothing_is_unpacked_outside() {
        let key = Digest::of(b"key");
        for path in ["../out", "/out", "lib/../../out"] {
            let leads_out = |list: &mut List| {
                list.artifacts.retain(|artifact| matches!(artifact.kind, ArtifactKind::Link { .. }));
                list.artifacts.iter_mut().for_each(|artifact| artifact.path = path.to_owned());
            };
            assert!(unpacked(&object(key, leads_out), key).is_err(), "{path}");
        }
    }
}
