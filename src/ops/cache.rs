//! `simpack cache`: what is in the artifact cache, less of it, and whether it is what was put there.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use schemars::JsonSchema;
use serde::Serialize;

use super::amount;
use crate::config;
use crate::engine::{
    Bounds, Cache, CacheSettings, CacheStat, CacheVerdict, DEFAULT_LIMIT, HeaderStore, KindStat, Trimmed,
};
use crate::error::Result;
use crate::fs;
use crate::ui::{Ui, size};

/// Directory of the artifacts below a cache directory.
const ARTIFACTS: &str = "artifacts";

/// Version of the JSON forms below.
const SCHEMA: u32 = 1;

/// `simpack cache stat --json`.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) struct Stat {
    /// Always 1.
    schema: u32,
    /// Where it is.
    directory: PathBuf,
    /// Bytes that a build leaves at most; none for no limit.
    limit: Option<u64>,
    #[serde(flatten)]
    stat: CacheStat,
    /// Lists of headers, by which kernels are found; they count for the limit, too.
    #[schemars(default)]
    headers: KindStat,
}

/// `simpack cache gc --json`.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) struct Collected {
    /// Always 1.
    schema: u32,
    #[serde(flatten)]
    trimmed: Trimmed,
    /// Lists of headers that were removed, because they were as long unused.
    #[schemars(default)]
    removed_headers: KindStat,
}

/// `simpack cache verify --json`.
#[derive(Serialize, JsonSchema)]
pub(super) struct Verdict {
    /// Always 1.
    schema: u32,
    #[serde(flatten)]
    verdict: CacheVerdict,
}

/// The user's artifacts, and the bytes that they may take.
fn place() -> Result<(PathBuf, Option<u64>)> {
    let limit = match config::current().text("cache-size") {
        Some(text) => amount::bytes(text).map_err(|error| error.hint("this is what the setting cache-size says"))?,
        None => Some(DEFAULT_LIMIT),
    };
    Ok((fs::cache_dir()?.join(ARTIFACTS), limit))
}

/// Directory of the lists of headers below a cache directory.
pub(super) const HEADERS: &str = "headers";

/// The user's lists of headers.
fn headers() -> Result<HeaderStore> {
    Ok(HeaderStore::at(fs::cache_dir()?.join(HEADERS)))
}

/// The second cache's lists of headers: its artifacts of kernels are found through them.
pub(super) fn remote_headers() -> Option<PathBuf> {
    Some(config::current().path("cache-remote")?.join(HEADERS))
}

/// The second cache, which is read when an artifact is not in the first.
fn remote() -> Option<PathBuf> {
    Some(config::current().path("cache-remote")?.join(ARTIFACTS))
}

/// Refuses settings that say nothing, also where no cache is needed.
pub(super) fn check() -> Result<()> {
    place().map(|_| ())
}

/// The cache of a build that works in `work`, or the one below `artifacts` alone.
pub(super) fn open(work: &Path, artifacts: Option<&Path>) -> Result<Cache> {
    let (root, limit) = place()?;
    if let Some(own) = artifacts {
        return Cache::open(own, &CacheSettings { limit: None, remote: None, instead: work.join(ARTIFACTS) });
    }
    Cache::open(root, &CacheSettings { limit, remote: remote(), instead: work.join(ARTIFACTS) })
}

/// The same to look at only.
pub(super) fn look() -> Result<Cache> {
    Ok(Cache::at(place()?.0).with_remote(remote()))
}

/// Ends a build's use of the cache and makes room if it is over its limit.
pub(super) fn finish(cache: Cache, ui: &Ui) {
    let trimmed = headers().and_then(|headers| {
        let trimmed = cache.finish(headers.stat().bytes)?;
        trim_headers(&headers, trimmed.as_ref(), None);
        Ok(trimmed)
    });
    match trimmed {
        Ok(Some(trimmed)) if trimmed.removed > 0 => ui.note(format!("  cache      {}", told(&trimmed))),
        Ok(_) => {}
        // The build is done all the same.
        Err(error) => ui.note(format!("  cache      could not be made smaller: {error}")),
    }
}

/// Removes the lists of headers that were not used for longer than everything that is left: they lead to
/// nothing any more. Without entries that were removed only those beyond the age go.
fn trim_headers(headers: &HeaderStore, trimmed: Option<&Trimmed>, age: Option<Duration>) -> KindStat {
    // Their stamps may be a day old.
    let useless = trimmed.filter(|trimmed| trimmed.removed > 0).and_then(|trimmed| {
        let day = Duration::from_secs(if trimmed.entries > 0 { 86_400 } else { 0 });
        trimmed.since?.checked_sub(day)
    });
    let too_old = age.and_then(|age| SystemTime::now().checked_sub(age));
    useless.max(too_old).map_or(KindStat::default(), |since| headers.trim(since))
}

fn told(trimmed: &Trimmed) -> String {
    let mut text = format!(
        "{} removed ({}), least recently used; {} left ({})",
        entries(trimmed.removed),
        size(trimmed.removed_bytes),
        entries(trimmed.entries),
        size(trimmed.bytes)
    );
    if trimmed.in_use > 0 {
        text.push_str(&format!("; {} in use by a running build stay", entries(trimmed.in_use)));
    }
    text
}

fn entries(count: usize) -> String {
    match count {
        1 => "1 entry".to_owned(),
        count => format!("{count} entries"),
    }
}

/// Counts what is there; answers the exit code.
pub fn stat(ui: &Ui) -> Result<u8> {
    let (directory, limit) = place()?;
    let stat = Cache::at(&directory).stat()?;
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let stat = Stat { schema: SCHEMA, directory, limit, stat, headers: headers()?.stat() };
    if ui.json(&stat)? {
        return Ok(0);
    }
    let limit = limit.map_or("no limit".to_owned(), |limit| format!("of {}", size(limit)));
    let mut text = format!("{}\n", stat.directory.display());
    let (headers, stat) = (stat.headers, stat.stat);
    text.push_str(&format!("  all        {:>14}  {:>9}  {limit}\n", entries(stat.entries), size(stat.bytes)));
    for (kind, of) in &stat.kinds {
        text.push_str(&format!("  {kind:<10} {:>14}  {:>9}\n", entries(of.entries), size(of.bytes)));
    }
    if headers.entries > 0 {
        let files = format!("{} files", headers.entries);
        text.push_str(&format!("  {:<10} {files:>14}  {:>9}  lists of headers\n", "headers", size(headers.bytes)));
    }
    if let (Some(oldest), Some(newest)) = (stat.oldest_use, stat.newest_use) {
        text.push_str(&format!("  last use   {} to {} ago\n", ago(now, newest), ago(now, oldest)));
    }
    if stat.running > 0 {
        text.push_str(&format!("  running    {} builds\n", stat.running));
    }
    if stat.leftovers > 0 {
        text.push_str(&format!("  leftovers  {} of killed runs; `simpack cache gc` removes them\n", stat.leftovers));
    }
    ui.say(text.trim_end());
    Ok(0)
}

/// `3 min`, `5 h`, `12 d`.
fn ago(now: u64, then: u64) -> String {
    match now.saturating_sub(then) {
        seconds @ 0..120 => format!("{seconds} s"),
        seconds @ 120..7_200 => format!("{} min", seconds / 60),
        seconds @ 7_200..172_800 => format!("{} h", seconds / 3_600),
        seconds => format!("{} d", seconds / 86_400),
    }
}

/// Removes what is beyond `max_size` bytes (without it, beyond the limit) or was not used for
/// `older_than`; answers the exit code.
pub fn gc(max_size: Option<u64>, older_than: Option<Duration>, ui: &Ui) -> Result<u8> {
    let (directory, limit) = place()?;
    let bytes = match (max_size, older_than) {
        (Some(bytes), _) => Some(bytes),
        // Who asks for an age asks for nothing else.
        (None, Some(_)) => None,
        (None, None) => limit,
    };
    let headers = headers()?;
    let bytes = bytes.map(|bytes| bytes.saturating_sub(headers.stat().bytes));
    let trimmed = Cache::at(directory).trim(Bounds { bytes, age: older_than })?;
    let removed_headers = trim_headers(&headers, Some(&trimmed), older_than);
    let text = told(&trimmed);
    if !ui.json(&Collected { schema: SCHEMA, trimmed: trimmed.clone(), removed_headers })? {
        ui.say(text);
        if removed_headers.entries > 0 {
            ui.say(format!("{} lists of headers removed ({})", removed_headers.entries, size(removed_headers.bytes)));
        }
        if trimmed.leftovers > 0 {
            ui.say(format!("{} leftovers of killed runs removed", trimmed.leftovers));
        }
    }
    Ok(0)
}

/// Digests everything again; answers the exit code: 1 when something is damaged and stays.
pub fn verify(remove: bool, ui: &Ui) -> Result<u8> {
    let (directory, _) = place()?;
    let bar = ui.steps("verify", 0);
    let verdict = Cache::at(directory).verify(remove, |all| {
        bar.set_length(all as u64);
        bar.inc(1);
    })?;
    bar.finish_and_clear();
    let stays = verdict.damaged.iter().any(|damaged| !damaged.removed);
    let verdict = Verdict { schema: SCHEMA, verdict };
    if !ui.json(&verdict)? {
        let verdict = verdict.verdict;
        let mut text = String::new();
        for damaged in &verdict.damaged {
            let done = if damaged.removed { "  (removed)" } else { "" };
            text.push_str(&format!("damaged  {}  {}: {}{done}\n", damaged.key.short(12), damaged.step, damaged.damage));
        }
        text.push_str(&format!(
            "{} with {} looked at, {} damaged",
            entries(verdict.entries),
            size(verdict.bytes),
            verdict.damaged.len()
        ));
        ui.say(text);
        if stays {
            ui.note("next: simpack cache verify --remove, and what is missing is built again when it is needed");
        }
    }
    Ok(u8::from(stays))
}
