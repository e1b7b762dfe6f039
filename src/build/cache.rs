//! The artifact cache: a directory per content key, checked when it is read.
//!
//! An entry is complete or absent: it is written beside its place and renamed into it.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::bundle::{Artifact, ArtifactKind};
use crate::error::{Error, Result};
use crate::fs::{self, Digest, EntryKind};

/// Name of the list in an entry.
const LIST: &str = "entry.json";
/// Name of the tree in an entry.
const FILES: &str = "files";

/// The cache below one directory.
#[derive(Debug, Clone)]
pub struct Cache {
    root: PathBuf,
}

/// What one step made, found in the cache and checked.
#[derive(Debug, Clone)]
pub struct CacheEntry {
    /// Root of the files.
    pub root: PathBuf,
    /// Files and links, sorted by path.
    pub artifacts: Vec<Artifact>,
    /// Seconds that the step took when it ran.
    pub seconds: f64,
}

#[derive(Serialize, Deserialize)]
struct List {
    key: Digest,
    step: String,
    seconds: f64,
    artifacts: Vec<Artifact>,
}

impl Cache {
    /// The cache below `root`, which need not exist.
    pub fn at(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    fn place(&self, key: Digest) -> PathBuf {
        let name = key.to_string();
        self.root.join(&name[..2]).join(name)
    }

    /// The entry of `key` if it is there and every file has its digest. A damaged entry is removed
    /// and answers nothing, so that its step runs again.
    pub fn get(&self, key: Digest) -> Result<Option<CacheEntry>> {
        let place = self.place(key);
        let Ok(text) = std::fs::read(place.join(LIST)) else { return Ok(None) };
        let root = place.join(FILES);
        let list: Option<List> = serde_json::from_slice(&text).ok();
        if let Some(list) = list
            && list.key == key
            && artifacts_of(&root).is_ok_and(|found| found == list.artifacts)
        {
            return Ok(Some(CacheEntry { root, artifacts: list.artifacts, seconds: list.seconds }));
        }
        match std::fs::remove_dir_all(&place) {
            Ok(()) => Ok(None),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(Error::file(&place, "a damaged cache entry cannot be removed").because(error)),
        }
    }

    /// Moves the tree at `made` into the cache under `key`. Another run that was faster wins: both
    /// made the same.
    pub fn put(&self, key: Digest, step: &str, seconds: f64, made: &Path) -> Result<CacheEntry> {
        let place = self.place(key);
        let parent = place.parent().unwrap_or(&self.root);
        fs_err::create_dir_all(parent)?;
        let fresh = tempfile::Builder::new()
            .prefix(".new-")
            .tempdir_in(parent)
            .map_err(|error| Error::file(parent, "cannot write to the cache").because(error))?;
        let files = fresh.path().join(FILES);
        if std::fs::rename(made, &files).is_err() {
            super::host::copy_tree(made, &files)?;
        }
        let list = List { key, step: step.to_owned(), seconds, artifacts: artifacts_of(&files)? };
        let text = serde_json::to_vec_pretty(&list)
            .map_err(|error| Error::bug("a list does not print as JSON").because(error))?;
        fs::write_atomic(&fresh.path().join(LIST), &text)?;
        fs::set_mode(fresh.path(), 0o755)?;
        match std::fs::rename(fresh.path(), &place) {
            Ok(()) => {
                // The directory has its final name now; there is nothing left to clean up.
                let _ = fresh.keep();
            }
            Err(_) if place.join(LIST).is_file() => {}
            Err(error) => return Err(Error::file(&place, "cannot be put into the cache").because(error)),
        }
        Ok(CacheEntry { root: place.join(FILES), artifacts: list.artifacts, seconds })
    }
}

/// All files and links below `root` with digests, sorted by path.
pub(super) fn artifacts_of(root: &Path) -> Result<Vec<Artifact>> {
    let mut artifacts = Vec::new();
    for entry in fs::walk(root)? {
        let kind = match entry.kind {
            EntryKind::Directory => continue,
            EntryKind::Link(to) => ArtifactKind::Link { to },
            EntryKind::File { size, executable } => {
                ArtifactKind::File { sha256: Digest::of_file(&root.join(&entry.path))?, size, executable }
            }
        };
        artifacts.push(Artifact { path: entry.path, kind });
    }
    Ok(artifacts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_damaged_entry_is_gone_and_can_be_made_again() {
        let dir = tempfile::tempdir().unwrap();
        let cache = Cache::at(dir.path().join("cache"));
        let key = Digest::of(b"key");
        let make = || {
            let made = dir.path().join("made");
            std::fs::create_dir(&made).unwrap();
            std::fs::write(made.join("a.cubin"), b"code").unwrap();
            made
        };
        assert!(cache.get(key).unwrap().is_none());
        let entry = cache.put(key, "step", 1.0, &make()).unwrap();
        assert_eq!(cache.get(key).unwrap().unwrap().artifacts, entry.artifacts);
        std::fs::write(entry.root.join("a.cubin"), b"c0de").unwrap();
        assert!(cache.get(key).unwrap().is_none());
        cache.put(key, "step", 1.0, &make()).unwrap();
        std::fs::write(entry.root.join("extra"), b"").unwrap();
        assert!(cache.get(key).unwrap().is_none());
    }

    #[test]
    fn the_second_of_two_equal_results_is_dropped() {
        let dir = tempfile::tempdir().unwrap();
        let cache = Cache::at(dir.path().join("cache"));
        let key = Digest::of(b"key");
        for name in ["one", "two"] {
            let made = dir.path().join(name);
            std::fs::create_dir(&made).unwrap();
            std::fs::write(made.join("a"), b"same").unwrap();
            cache.put(key, "step", 1.0, &made).unwrap();
        }
        assert!(cache.get(key).unwrap().is_some());
        let left: Vec<_> = std::fs::read_dir(dir.path().join("cache").join(key.short(2))).unwrap().collect();
        assert_eq!(left.len(), 1);
    }
}
