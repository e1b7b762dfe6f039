//! The room that build trees take: seen, and bounded.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::record::{self, Record};
use super::{BuildTrees, INCREMENTAL, TREE, lock};
use crate::engine::cache::{Bounds, Cache, KindStat};
use crate::error::Result;
use crate::{amount, config, fs};

/// Bytes that the trees of a work directory may take unless something else is said.
const DEFAULT_LIMIT: u64 = 10 << 30;

/// The bytes that a build leaves in trees at most, by the setting; none for any.
///
/// # Errors
/// The setting says nothing.
pub fn trees_limit() -> Result<Option<u64>> {
    match config::current().text("build-trees-size") {
        Some(text) => amount::bytes(text).map_err(|error| error.hint("this is what the setting build-trees-size says")),
        None => Ok(Some(DEFAULT_LIMIT)),
    }
}

/// A tree as a look from outside shows it.
struct Listed {
    name: PathBuf,
    bytes: u64,
    used: SystemTime,
}

/// The build trees of a work directory, in numbers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TreeStat {
    /// Those that are there.
    pub there: KindStat,
    /// Those that were removed.
    pub removed: KindStat,
}

impl TreeStat {
    /// Counts the trees in the work directory `work`, which need not be there.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn of(work: &Path) -> Result<Self> {
        let there = list(work)?.iter().fold(KindStat::default(), with);
        Ok(Self { there, removed: KindStat::default() })
    }

    /// Removes trees beyond the bounds, the least recently used first, and with them what was made in them. Those in
    /// which a build works stay.
    ///
    /// # Errors
    /// The directory cannot be read, or a tree cannot be removed.
    pub fn trim(work: &Path, bounds: Bounds) -> Result<Self> {
        let mut trees = list(work)?;
        trees.sort_by(|a, b| (a.used, &a.name).cmp(&(b.used, &b.name)));
        let mut bytes: u64 = trees.iter().fold(0, |sum, tree| sum.saturating_add(tree.bytes));
        let now = SystemTime::now();
        let mut stat = Self::default();
        for tree in &trees {
            let too_much = bounds.bytes.is_some_and(|limit| bytes > limit);
            let too_old = bounds.age.is_some_and(|age| now.duration_since(tree.used).is_ok_and(|since| since > age));
            match (too_much || too_old) && remove(work, &tree.name)? {
                true => {
                    bytes -= tree.bytes;
                    stat.removed = with(stat.removed, tree);
                }
                false => stat.there = with(stat.there, tree),
            }
        }
        Ok(stat)
    }
}

impl BuildTrees {
    /// Removes what is beyond so many bytes.
    ///
    /// # Errors
    /// As [`TreeStat::trim`].
    pub(in crate::engine) fn trim(&self, limit: Option<u64>) -> Result<TreeStat> {
        TreeStat::trim(&self.dir, Bounds { bytes: limit, age: None })
    }
}

fn with(sum: KindStat, tree: &Listed) -> KindStat {
    KindStat { entries: sum.entries + 1, bytes: sum.bytes.saturating_add(tree.bytes) }
}

/// All trees of a work directory.
fn list(work: &Path) -> Result<Vec<Listed>> {
    let entries = match fs_err::read_dir(work) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error.into()),
    };
    let mut found = Vec::new();
    for entry in entries {
        let entry = entry?;
        if !entry.file_name().to_string_lossy().starts_with(TREE) || !entry.file_type().is_ok_and(|kind| kind.is_dir())
        {
            continue;
        }
        let name = entry.path();
        // Without a record it is nobody's, and older than all.
        let used = std::fs::metadata(record::path(&name)).and_then(|data| data.modified());
        let used = used.unwrap_or(SystemTime::UNIX_EPOCH);
        found.push(Listed { bytes: bytes_below(&name), name, used });
    }
    Ok(found)
}

/// What the files below a directory take on the disk. What cannot be looked at counts nothing.
fn bytes_below(dir: &Path) -> u64 {
    use std::os::unix::fs::MetadataExt;
    let entries = walkdir::WalkDir::new(dir).into_iter().filter_map(|entry| entry.ok()?.metadata().ok());
    // The kernel counts blocks of 512 bytes, whatever those of the file system are (stat(2)).
    entries.fold(0, |sum, data| sum.saturating_add(data.blocks().saturating_mul(512)))
}

/// Removes a tree in which nobody works; answers whether it did.
fn remove(work: &Path, name: &Path) -> Result<bool> {
    let Some(_lock) = lock(name)? else { return Ok(false) };
    if let Some(made) = Record::read(name).and_then(|record| record.made) {
        Cache::at(work.join(INCREMENTAL)).forget(made)?;
    }
    // The record goes first: a tree without one is emptied before it is used.
    for file in [record::path(name), name.with_extension("lock")] {
        let _ = std::fs::remove_file(file);
    }
    fs::remove_gone(name)?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn the_least_recently_used_go_and_what_is_in_use_stays() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(format!("{TREE}{name}"));
        for (name, hours) in [("a", 3), ("b", 2), ("c", 1)] {
            fs_err::create_dir(at(name)).unwrap();
            fs_err::write(at(name).join("file"), vec![1; 100_000]).unwrap();
            Record::new(name, crate::fs::Digest::of(name.as_bytes())).write(&at(name)).unwrap();
            let file = std::fs::File::options().write(true).open(record::path(&at(name))).unwrap();
            file.set_modified(SystemTime::now() - Duration::from_secs(hours * 3600)).unwrap();
        }
        let all = TreeStat::of(dir.path()).unwrap().there;
        assert!(all.entries == 3 && all.bytes >= 300_000, "{all:?}");
        assert_eq!(TreeStat::trim(dir.path(), Bounds::default()).unwrap().there, all);
        let held = lock(&at("a")).unwrap().unwrap();
        let stat = TreeStat::trim(dir.path(), Bounds { bytes: Some(250_000), age: None }).unwrap();
        assert_eq!((stat.removed.entries, stat.there.entries), (1, 2));
        assert!(at("a").exists() && !at("b").exists() && !record::path(&at("b")).exists());
        drop(held);
        let stat = TreeStat::trim(dir.path(), Bounds { bytes: None, age: Some(Duration::from_secs(7200)) }).unwrap();
        assert_eq!((stat.removed.entries, stat.there.entries), (1, 1));
        TreeStat::trim(dir.path(), Bounds { bytes: Some(0), age: None }).unwrap();
        let left: Vec<_> = fs_err::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert!(left.is_empty(), "{left:?}");
        assert_eq!(TreeStat::of(&dir.path().join("none")).unwrap(), TreeStat::default());
    }
}
