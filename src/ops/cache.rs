//! `simpack cache`: what is in the artifact cache and in the build trees of a work directory, less of it, and whether the
//! artifacts are what was put there.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use schemars::JsonSchema;
use serde::Serialize;

use crate::amount::count;
use crate::engine::{
    Bounds, Cache, CachePlace, CacheStat, CacheVerdict, KindStat, TreeStat, Trimmed, entries, trees_limit,
    trim_headers, user_headers,
};
use crate::error::Result;
use crate::ui::{Ui, size};

/// Version of the JSON forms below.
const SCHEMA: u32 = 1;

/// `simpack cache stat --json`.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) struct Stat {
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
    /// Build trees in the work directory, in which host steps go on; they have a limit of their own.
    #[schemars(default)]
    build_trees: KindStat,
}

/// `simpack cache gc --json`.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) struct Collected {
    /// Always 1.
    schema: u32,
    #[serde(flatten)]
    trimmed: Trimmed,
    /// Lists of headers that were removed, because they were as long unused.
    #[schemars(default)]
    removed_headers: KindStat,
    /// Build trees that were removed from the work directory.
    #[schemars(default)]
    removed_build_trees: KindStat,
}

/// `simpack cache verify --json`.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Verdict {
    /// Always 1.
    schema: u32,
    #[serde(flatten)]
    verdict: CacheVerdict,
}

/// Counts what is there; answers the exit code.
///
/// # Errors
/// The cache, or the work directory `work`, cannot be read.
pub fn stat(work: &Path, ui: &Ui) -> Result<u8> {
    let CachePlace { root: directory, limit } = CachePlace::of_user()?;
    let stat = Cache::at(&directory).stat()?;
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let (headers, build_trees) = (user_headers()?.stat(), TreeStat::of(work)?.there);
    let stat = Stat { schema: SCHEMA, directory, limit, stat, headers, build_trees };
    if ui.json(&stat)? {
        return Ok(0);
    }
    let limit = limit.map_or("no limit".to_owned(), |limit| format!("of {}", size(limit)));
    let mut text = format!("{}\n", stat.directory.display());
    let (headers, trees, stat) = (stat.headers, stat.build_trees, stat.stat);
    text.push_str(&format!("  all        {:>14}  {:>9}  {limit}\n", entries(stat.entries), size(stat.bytes)));
    for (kind, of) in &stat.kinds {
        text.push_str(&format!("  {kind:<10} {:>14}  {:>9}\n", entries(of.entries), size(of.bytes)));
    }
    if headers.entries > 0 {
        let files = count(headers.entries, "file");
        text.push_str(&format!("  {:<10} {files:>14}  {:>9}  lists of headers\n", "headers", size(headers.bytes)));
    }
    if let (Some(oldest), Some(newest)) = (stat.oldest_use, stat.newest_use) {
        text.push_str(&format!("  last use   {} to {} ago\n", ago(now, newest), ago(now, oldest)));
    }
    if trees.entries > 0 {
        let (bytes, place) = (size(trees.bytes), work.display());
        text.push_str(&format!(
            "  trees      {:>14}  {bytes:>9}  build trees in {place}\n",
            count(trees.entries, "tree")
        ));
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

/// Removes what is beyond `max_size` bytes (without it, beyond the limit) or was not used for `older_than`, from the cache
/// and from the build trees in `work`, each within its own limit; answers the exit code.
///
/// # Errors
/// The cache cannot be read or written.
pub fn gc((max_size, older_than): (Option<u64>, Option<Duration>), work: &Path, ui: &Ui) -> Result<u8> {
    let CachePlace { root: directory, limit } = CachePlace::of_user()?;
    let bound = |limit| match (max_size, older_than) {
        (Some(bytes), _) => Some(bytes),
        // Who asks for an age asks for nothing else.
        (None, Some(_)) => None,
        (None, None) => limit,
    };
    let trees = TreeStat::trim(work, Bounds { bytes: bound(trees_limit()?), age: older_than })?;
    let bytes = bound(limit);
    let headers = user_headers()?;
    let bytes = bytes.map(|bytes| bytes.saturating_sub(headers.stat().bytes));
    let trimmed = Cache::at(directory).trim(Bounds { bytes, age: older_than })?;
    let removed_headers = trim_headers(&headers, Some(&trimmed), older_than);
    let text = trimmed.words();
    let removed_build_trees = trees.removed;
    if !ui.json(&Collected { schema: SCHEMA, trimmed: trimmed.clone(), removed_headers, removed_build_trees })? {
        ui.say(text);
        if removed_headers.entries > 0 {
            ui.say(format!("{} lists of headers removed ({})", removed_headers.entries, size(removed_headers.bytes)));
        }
        if trees.removed.entries > 0 {
            let (removed, left) = (count(trees.removed.entries, "build tree"), trees.there.entries);
            ui.say(format!("{removed} removed ({}), {left} left", size(trees.removed.bytes)));
        }
        if trimmed.leftovers > 0 {
            ui.say(format!("{} leftovers of killed runs removed", trimmed.leftovers));
        }
    }
    Ok(0)
}

/// Digests everything again; answers the exit code: 1 when something is damaged and stays.
///
/// # Errors
/// The cache cannot be read, or a damaged entry cannot be removed.
pub fn verify(remove: bool, ui: &Ui) -> Result<u8> {
    let directory = CachePlace::of_user()?.root;
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
