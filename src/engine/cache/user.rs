//! The user's cache: where it is, how large it may be, and the second one that is read besides.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, SystemTime};

use super::evict::Trimmed;
use super::store::{Cache, CacheSettings, DEFAULT_LIMIT};
use super::survey::KindStat;
use crate::engine::HeaderStore;
use crate::error::Result;
use crate::toolchain::{ObjectSettings, ObjectStore};
use crate::ui::{Ui, size};
use crate::{amount, config, fs};

/// Directory of the artifacts below a cache directory.
const ARTIFACTS: &str = "artifacts";
/// Directory of the lists of headers below a cache directory.
const HEADERS: &str = "headers";

/// A directory of artifacts, and the bytes that they may take.
pub struct CachePlace {
    /// The directory.
    pub root: PathBuf,
    /// Bytes that a build leaves at most; none for no limit.
    pub limit: Option<u64>,
}

impl CachePlace {
    /// The user's.
    ///
    /// # Errors
    /// A setting says nothing, or no directory is known.
    pub fn of_user() -> Result<Self> {
        let limit = match config::current().text("cache-size") {
            Some(text) => {
                amount::bytes(text).map_err(|error| error.hint("this is what the setting cache-size says"))?
            }
            None => Some(DEFAULT_LIMIT),
        };
        Ok(Self { root: fs::cache_dir()?.join(ARTIFACTS), limit })
    }
}

/// The user's lists of headers.
///
/// # Errors
/// No directory is known.
pub fn user_headers() -> Result<HeaderStore> {
    Ok(HeaderStore::at(fs::cache_dir()?.join(HEADERS)))
}

/// A directory of the second cache, which is read when something is not in the first.
fn remote(name: &str) -> Option<PathBuf> {
    Some(config::current().path("cache-remote")?.join(name))
}

/// The object store that settings name, if they name one: the same for a whole run, so that what is said of it is said once.
///
/// # Errors
/// A setting says no place, or credentials are missing.
pub(crate) fn object_store() -> Result<Option<Arc<ObjectStore>>> {
    static STORE: OnceLock<Arc<ObjectStore>> = OnceLock::new();
    if let Some(store) = STORE.get() {
        return Ok(Some(Arc::clone(store)));
    }
    let Some(settings) = ObjectSettings::of_user(config::current()) else { return Ok(None) };
    let store = Arc::new(ObjectStore::open(&settings)?);
    Ok(Some(Arc::clone(STORE.get_or_init(|| store))))
}

/// The same with those of the second cache and of an object store: their artifacts of kernels are found through them.
pub(crate) fn build_headers(store: Option<Arc<ObjectStore>>) -> Result<HeaderStore> {
    Ok(user_headers()?.with_remote(remote(HEADERS)).with_store(store))
}

/// The cache of a build that works in `work`, with an object store behind it, or the one below `artifacts` alone.
pub(crate) fn open_cache(work: &Path, artifacts: Option<&Path>, store: Option<Arc<ObjectStore>>) -> Result<Cache> {
    let CachePlace { root, limit } = CachePlace::of_user()?;
    let instead = work.join(ARTIFACTS);
    match artifacts {
        Some(own) => Cache::open(own, &CacheSettings { limit: None, remote: None, instead }),
        None => {
            let cache = Cache::open(root, &CacheSettings { limit, remote: remote(ARTIFACTS), instead })?;
            Ok(cache.with_store(store))
        }
    }
}

/// The user's cache, to look at only.
pub(crate) fn look_into_cache() -> Result<Cache> {
    Ok(Cache::at(CachePlace::of_user()?.root).with_remote(remote(ARTIFACTS)))
}

/// Ends a build's use of the cache and makes room if it is over its limit.
pub(crate) fn finish_cache(cache: Cache, ui: &Ui) {
    let trimmed = user_headers().and_then(|headers| {
        let trimmed = cache.finish(headers.stat().bytes)?;
        trim_headers(&headers, trimmed.as_ref(), None);
        Ok(trimmed)
    });
    match trimmed {
        Ok(Some(trimmed)) if trimmed.removed > 0 => ui.note(format!("  cache      {}", trimmed.words())),
        Ok(_) => {}
        // The build is done all the same.
        Err(error) => ui.note(format!("  cache      could not be made smaller: {error}")),
    }
}

/// Removes the lists of headers that were not used for longer than everything that is left: they lead to
/// nothing any more. Without entries that were removed only those beyond the age go.
pub fn trim_headers(headers: &HeaderStore, trimmed: Option<&Trimmed>, age: Option<Duration>) -> KindStat {
    // Their stamps may be a day old.
    let useless = trimmed.filter(|trimmed| trimmed.removed > 0).and_then(|trimmed| {
        let day = Duration::from_secs(if trimmed.entries > 0 { 86_400 } else { 0 });
        trimmed.since?.checked_sub(day)
    });
    let too_old = age.and_then(|age| SystemTime::now().checked_sub(age));
    useless.max(too_old).map_or(KindStat::default(), |since| headers.trim(since))
}

impl Trimmed {
    /// What was removed and what is left.
    pub fn words(&self) -> String {
        let mut text = format!(
            "{} removed ({}), least recently used; {} left ({})",
            entries(self.removed),
            size(self.removed_bytes),
            entries(self.entries),
            size(self.bytes)
        );
        if self.in_use > 0 {
            text.push_str(&format!("; {} in use by a running build stay", entries(self.in_use)));
        }
        text
    }
}

/// So many entries in words.
pub fn entries(count: usize) -> String {
    crate::amount::count(count, "entry")
}
