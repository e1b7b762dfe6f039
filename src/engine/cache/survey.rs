//! What is in the cache, and whether it is what was put there.

use std::collections::BTreeMap;
use std::time::SystemTime;

use schemars::JsonSchema;
use serde::Serialize;

use super::dirs::open;
use super::entry::{LIST, List, StepKind};
use super::evict::list;
use super::runs;
use super::store::Cache;
use crate::error::Result;
use crate::fs::Digest;

/// Entries of one kind of step.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct KindStat {
    /// Entries.
    pub entries: usize,
    /// Their bytes.
    pub bytes: u64,
}

/// The cache in numbers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct CacheStat {
    /// Entries.
    pub entries: usize,
    /// Their bytes.
    pub bytes: u64,
    /// The same by kind of step.
    pub kinds: BTreeMap<StepKind, KindStat>,
    /// Last use of the entry that was not used for the longest time, in seconds since 1970.
    pub oldest_use: Option<u64>,
    /// Last use of any entry, in seconds since 1970.
    pub newest_use: Option<u64>,
    /// Builds that are running.
    pub running: usize,
    /// Directories that killed runs left.
    pub leftovers: usize,
}

/// An entry that is not what was put there.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
pub struct Damaged {
    /// Its key.
    pub key: Digest,
    /// Id of its step, if the list says.
    pub step: String,
    /// What is wrong.
    pub damage: String,
    /// Whether it was removed.
    pub removed: bool,
}

/// What a look at every byte found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct CacheVerdict {
    /// Entries that were looked at.
    pub entries: usize,
    /// Bytes of their files.
    pub bytes: u64,
    /// Those that are damaged, sorted by key.
    pub damaged: Vec<Damaged>,
}

impl Cache {
    /// Counts.
    ///
    /// # Errors
    /// The cache cannot be read.
    pub fn stat(&self) -> Result<CacheStat> {
        let (entries, leftovers) = list(self.root())?;
        let mut kinds: BTreeMap<StepKind, KindStat> = BTreeMap::new();
        for entry in &entries {
            let kind = kinds.entry(entry.kind).or_default();
            kind.entries += 1;
            kind.bytes = kind.bytes.saturating_add(entry.bytes);
        }
        // A cache that is not there, or cannot be written, has no running build that could be seen.
        let running = match self.root().is_dir() {
            true => runs::living(self.root(), self.mode()).map_or(0, |(count, _)| count),
            false => 0,
        };
        let seconds = |used: SystemTime| used.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs());
        Ok(CacheStat {
            entries: entries.len(),
            bytes: entries.iter().fold(0, |sum, entry| sum.saturating_add(entry.bytes)),
            kinds,
            oldest_use: entries.iter().map(|entry| seconds(entry.used)).min(),
            newest_use: entries.iter().map(|entry| seconds(entry.used)).max(),
            running,
            leftovers: leftovers.len(),
        })
    }

    /// Digests every file of every entry again. `seen` is called for each entry with how many there
    /// are. Damaged entries are removed when that is asked for.
    ///
    /// # Errors
    /// The cache cannot be read, or a damaged entry cannot be removed.
    pub fn verify(&self, remove: bool, seen: impl Fn(usize)) -> Result<CacheVerdict> {
        let (mut entries, _) = list(self.root())?;
        entries.sort_by_key(|entry| entry.key);
        let mut verdict = CacheVerdict { entries: 0, bytes: 0, damaged: Vec::new() };
        for entry in &entries {
            seen(entries.len());
            // It may have been removed meanwhile.
            let Some(file) = open(&entry.place.join(LIST)) else { continue };
            if let Err(std::fs::TryLockError::WouldBlock) = file.try_lock_shared() {
                continue;
            }
            let list = List::read(&file);
            let damage = match &list {
                Some(list) => list.damage(&entry.place, entry.key),
                None => Some("its list cannot be read".to_owned()),
            };
            verdict.entries += 1;
            verdict.bytes = verdict.bytes.saturating_add(entry.bytes);
            let Some(damage) = damage else { continue };
            let _ = file.unlock();
            let removed = remove && self.discard(&entry.place, &file)?;
            verdict.damaged.push(Damaged { key: entry.key, step: entry.step.clone(), damage, removed });
        }
        Ok(verdict)
    }
}
