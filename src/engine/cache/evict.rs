//! What goes when there is too much: least recently used first, never what a running build uses.

use std::io::{Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use schemars::JsonSchema;
use serde::Serialize;

use super::dirs::{GONE, NEW, make_dir, open};
use super::entry::{LIST, List, StepKind};
use super::runs;
use super::store::Cache;
use crate::error::{Error, Result};
use crate::fs::{self, Digest};

/// File with the bytes of all entries, about.
const SIZE: &str = ".size";
/// Lock of whoever removes entries.
const TRIMMING: &str = ".trimming";
/// Share of the limit that is left by a build that went over it, in percent: room until the next time.
const LEFT_PERCENT: u64 = 90;

/// What may stay.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Bounds {
    /// Bytes at most.
    pub bytes: Option<u64>,
    /// Used within this time.
    pub age: Option<Duration>,
}

/// What a removal did.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Trimmed {
    /// Entries that were removed.
    pub removed: usize,
    /// Their bytes.
    pub removed_bytes: u64,
    /// Entries that are left.
    pub entries: usize,
    /// Their bytes.
    pub bytes: u64,
    /// Entries that were to go, but that a running build uses.
    pub in_use: usize,
    /// Directories that killed runs left.
    pub leftovers: usize,
    /// Since when everything that is left was used: what leads to older entries leads to none.
    #[serde(skip)]
    pub since: Option<SystemTime>,
}

/// An entry as a look from outside shows it.
#[derive(Debug, Clone)]
pub(super) struct Listed {
    pub key: Digest,
    pub place: PathBuf,
    pub bytes: u64,
    pub kind: StepKind,
    pub step: String,
    pub used: SystemTime,
}

/// All entries, and the directories that are none.
pub(super) fn list(root: &Path) -> Result<(Vec<Listed>, Vec<PathBuf>)> {
    let (mut entries, mut leftovers) = (Vec::new(), Vec::new());
    for shelf in directories(root)? {
        let name = shelf.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if name.len() != 2 {
            continue;
        }
        for place in directories(&shelf)? {
            let name = place.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let listed = name.parse::<Digest>().ok().and_then(|key| listed(key, &place));
            match listed {
                Some(entry) => entries.push(entry),
                None if name.starts_with(NEW) || name.starts_with(GONE) || name.len() == 64 => leftovers.push(place),
                // Somebody else's.
                None => {}
            }
        }
    }
    Ok((entries, leftovers))
}

fn listed(key: Digest, place: &Path) -> Option<Listed> {
    let file = std::fs::File::open(place.join(LIST)).ok()?;
    let data = file.metadata().ok()?;
    let used = data.modified().ok()?;
    // A damaged list is an entry still: `get` and `verify` deal with it.
    let (bytes, kind, step) = match List::read(file) {
        Some(list) => (list.bytes(), list.kind, list.step),
        None => (0, StepKind::Unknown, String::new()),
    };
    Some(Listed { key, place: place.to_owned(), bytes: bytes.saturating_add(data.len()), kind, step, used })
}

/// Directories in a directory, sorted; none if it is not there.
fn directories(dir: &Path) -> Result<Vec<PathBuf>> {
    let entries = match fs_err::read_dir(dir) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error.into()),
    };
    let mut found = Vec::new();
    for entry in entries {
        let entry = entry?;
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            found.push(entry.path());
        }
    }
    found.sort();
    Ok(found)
}

/// Which entries go, and how many of those that should go are in use. `entries` come sorted by last
/// use, oldest first.
fn choose(entries: &[Listed], bounds: Bounds, now: SystemTime, horizon: SystemTime) -> (Vec<usize>, usize) {
    let mut bytes: u64 = entries.iter().fold(0, |sum, entry| sum.saturating_add(entry.bytes));
    let (mut going, mut in_use) = (Vec::new(), 0);
    for (index, entry) in entries.iter().enumerate() {
        let too_much = bounds.bytes.is_some_and(|limit| bytes > limit);
        // A last use in the future is none that is long ago.
        let too_old = bounds.age.is_some_and(|age| now.duration_since(entry.used).is_ok_and(|since| since > age));
        if !too_much && !too_old {
            continue;
        }
        if entry.used >= horizon {
            in_use += 1;
        } else {
            bytes -= entry.bytes;
            going.push(index);
        }
    }
    (going, in_use)
}

impl Cache {
    /// To be called when a build is through with its entries: notes what it added and, when the cache
    /// is over its limit, removes what was least recently used. None when there was nothing to do, or
    /// another process is at it. `beside` are bytes of what else the limit counts.
    ///
    /// # Errors
    /// The cache cannot be read or written.
    pub fn finish(self, beside: u64) -> Result<Option<Trimmed>> {
        let Some(limit) = self.limit().map(|limit| limit.saturating_sub(beside)) else { return Ok(None) };
        let (added, root, mode) = (self.added(), self.root().to_owned(), self.mode());
        // From here on this build uses nothing.
        drop(self);
        if counted(&root, mode, added)?.is_some_and(|bytes| bytes <= limit) {
            return Ok(None);
        }
        let cache = Self::at(root);
        let look = cache.trim_if_free(Bounds::default())?;
        match look {
            Some(look) if look.bytes > limit => {
                let bytes = Some(limit / 100 * LEFT_PERCENT);
                cache.trim_if_free(Bounds { bytes, age: None })
            }
            _ => Ok(None),
        }
    }

    /// Removes what is beyond the bounds, and what killed runs left.
    ///
    /// # Errors
    /// Something cannot be removed.
    pub fn trim(&self, bounds: Bounds) -> Result<Trimmed> {
        let lock = self.trimming_lock()?;
        lock.lock()?;
        self.trim_locked(bounds)
    }

    fn trim_if_free(&self, bounds: Bounds) -> Result<Option<Trimmed>> {
        let lock = self.trimming_lock()?;
        match lock.try_lock() {
            Ok(()) => self.trim_locked(bounds).map(Some),
            Err(_) => Ok(None),
        }
    }

    fn trimming_lock(&self) -> Result<std::fs::File> {
        make_dir(self.root(), self.mode())?;
        writable_by_all(&self.root().join(TRIMMING), self.mode())
    }

    fn trim_locked(&self, bounds: Bounds) -> Result<Trimmed> {
        let (_, horizon) = runs::living(self.root(), self.mode())?;
        let (mut entries, leftovers) = list(self.root())?;
        entries.sort_by_key(|entry| (entry.used, entry.key));
        let (going, in_use) = choose(&entries, bounds, SystemTime::now(), horizon);
        let mut trimmed = Trimmed { in_use, ..Trimmed::default() };
        let stays =
            (0..entries.len()).find(|index| going.binary_search(index).is_err()).map(|index| entries[index].used);
        trimmed.since = Some(stays.unwrap_or(horizon).min(horizon));
        for index in going {
            let entry = &entries[index];
            let Some(file) = open(&entry.place.join(LIST)) else { continue };
            let is_used = || file.metadata().and_then(|data| data.modified()).is_ok_and(|used| used >= horizon);
            // Somebody may have begun to use it since it was listed; whoever does holds or stamps it.
            if file.try_lock().is_err() || is_used() {
                trimmed.in_use += 1;
            } else if self.remove(&entry.place)? {
                trimmed.removed += 1;
                trimmed.removed_bytes = trimmed.removed_bytes.saturating_add(entry.bytes);
            }
        }
        for place in leftovers {
            let is_dead = std::fs::metadata(&place).and_then(|data| data.modified()).is_ok_and(|made| made < horizon);
            if is_dead && self.remove(&place)? {
                trimmed.leftovers += 1;
            }
        }
        let all = entries.iter().fold(0_u64, |sum, entry| sum.saturating_add(entry.bytes));
        trimmed.entries = entries.len() - trimmed.removed;
        trimmed.bytes = all - trimmed.removed_bytes;
        write_count(&mut count_file(self.root(), self.mode())?, trimmed.bytes)?;
        Ok(trimmed)
    }
}

/// Adds to the bytes that are written down; none when nothing trustworthy was.
fn counted(root: &Path, mode: u32, added: u64) -> Result<Option<u64>> {
    let mut file = count_file(root, mode)?;
    let mut text = String::new();
    file.read_to_string(&mut text).ok();
    let Ok(before) = text.trim().parse::<u64>() else { return Ok(None) };
    let bytes = before.saturating_add(added);
    if added > 0 {
        write_count(&mut file, bytes)?;
    }
    Ok(Some(bytes))
}

/// The file with the count, locked.
fn count_file(root: &Path, mode: u32) -> Result<std::fs::File> {
    let file = writable_by_all(&root.join(SIZE), mode)?;
    file.lock()?;
    Ok(file)
}

fn write_count(file: &mut std::fs::File, bytes: u64) -> Result<()> {
    // Always the same length, so that no kill leaves a mixture of two numbers.
    file.rewind()?;
    file.write_all(format!("{bytes:020}\n").as_bytes())?;
    Ok(())
}

fn writable_by_all(path: &Path, mode: u32) -> Result<std::fs::File> {
    let is_new = !path.exists();
    let file = std::fs::File::options()
        .create(true)
        .truncate(false)
        .read(true)
        .write(true)
        .open(path)
        .map_err(|error| Error::file(path, "cannot be opened").because(error))?;
    if is_new {
        fs::set_mode(path, mode & 0o666)?;
    }
    Ok(file)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::engine::{CacheSettings, Made};
    use crate::process::IsolationKind;

    fn entry(name: &str, bytes: u64, used: u64) -> Listed {
        let used = SystemTime::UNIX_EPOCH + Duration::from_secs(used);
        let key = Digest::of(name.as_bytes());
        Listed { key, place: PathBuf::from(name), bytes, kind: StepKind::Kernel, step: name.to_owned(), used }
    }

    #[test]
    fn the_least_recently_used_go_first_and_what_is_in_use_stays() {
        let at = |seconds| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
        let entries: Vec<Listed> = (1..=5).map(|n| entry("e", 10, n * 100)).collect();
        let bytes = |limit| Bounds { bytes: Some(limit), age: None };
        let never = at(10_000);
        assert_eq!(choose(&entries, bytes(50), at(600), never), (vec![], 0));
        assert_eq!(choose(&entries, bytes(49), at(600), never), (vec![0], 0));
        assert_eq!(choose(&entries, bytes(20), at(600), never), (vec![0, 1, 2], 0));
        assert_eq!(choose(&entries, bytes(0), at(600), at(300)), (vec![0, 1], 3));
        let age = Bounds { bytes: None, age: Some(Duration::from_secs(250)) };
        assert_eq!(choose(&entries, age, at(600), never), (vec![0, 1, 2], 0));
        // A clock that was set back makes nothing old.
        assert_eq!(choose(&entries, age, at(50), never), (vec![], 0));
    }

    fn put(cache: &Cache, dir: &Path, name: &str, bytes: usize) -> Digest {
        let tree = dir.join(name);
        std::fs::create_dir(&tree).unwrap();
        std::fs::write(tree.join("file"), vec![b'x'; bytes]).unwrap();
        let key = Digest::of(name.as_bytes());
        let made = Made {
            step: name.to_owned(),
            kind: StepKind::Kernel,
            seconds: 0.1,
            cpu: 0.0,
            peak: 0,
            isolation: IsolationKind::None,
            unused: Vec::new(),
            incremental: false,
        };
        cache.put(key, &made, &tree).unwrap();
        key
    }

    #[test]
    fn a_build_that_goes_over_the_limit_makes_room_but_not_from_another_builds_entries() {
        let dir = tempfile::tempdir().unwrap();
        let settings = CacheSettings { limit: Some(40_000), remote: None, instead: dir.path().join("instead") };
        let open = || Cache::open(dir.path().join("cache"), &settings).unwrap();
        let cache = open();
        let keys: BTreeMap<&str, Digest> =
            ["a", "b", "c"].into_iter().map(|name| (name, put(&cache, dir.path(), name, 10_000))).collect();
        assert_eq!(cache.finish(0).unwrap(), None, "there is no count yet, and it fits");
        // `a` was used long ago, but is used now by a build that goes on.
        for (name, days) in [("a", 9), ("b", 8), ("c", 7)] {
            let list = dir.path().join("cache").join(keys[name].short(2)).join(keys[name].to_string()).join(LIST);
            let file = std::fs::File::options().write(true).open(list).unwrap();
            file.set_modified(SystemTime::now() - Duration::from_secs(days * 86_400)).unwrap();
        }
        let other = open();
        assert!(other.get(keys["a"]).unwrap().is_some());
        let cache = open();
        put(&cache, dir.path(), "d", 10_000);
        let trimmed = cache.finish(0).unwrap().unwrap();
        assert_eq!((trimmed.removed, trimmed.entries), (1, 3), "{trimmed:?}");
        assert!(other.holds(keys["a"]) && !other.holds(keys["b"]) && other.holds(keys["c"]));
        let trimmed = Cache::at(dir.path().join("cache")).trim(Bounds { bytes: Some(0), age: None }).unwrap();
        assert_eq!((trimmed.removed, trimmed.in_use), (1, 2), "{trimmed:?}");
        drop(other);
        let trimmed = Cache::at(dir.path().join("cache")).trim(Bounds { bytes: Some(0), age: None }).unwrap();
        assert_eq!((trimmed.removed, trimmed.bytes), (2, 0), "{trimmed:?}");
    }

    #[test]
    fn what_killed_runs_left_goes_when_nobody_builds() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("cache");
        std::fs::create_dir_all(root.join("ab/.new-x/files")).unwrap();
        std::fs::create_dir_all(root.join("ab").join("ab".repeat(32))).unwrap();
        std::fs::create_dir_all(root.join("ab/mine")).unwrap();
        std::thread::sleep(Duration::from_millis(30));
        let trimmed = Cache::at(&root).trim(Bounds::default()).unwrap();
        assert_eq!(trimmed.leftovers, 2);
        assert!(root.join("ab/mine").is_dir());
    }
}
