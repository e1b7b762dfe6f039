//! Brings one pinned file: looks in every place the user's pip would, resumes what was cut, tries
//! again what may pass, and lets nothing through whose digest is not the pinned one.

use std::borrow::Cow;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use reqwest::StatusCode;
use reqwest::header::CONTENT_RANGE;
use url::Url;

use super::super::pins::Wheel;
use super::client::{Client, FetchError, unreachable};
use super::settings::IndexSettings;
use super::space::enough_space;
use crate::error::{Error, Result};
use crate::fs::{Digest, rename_flushed, with_lock};
use crate::index_page::{Link, shown};
use crate::process::{check_interrupted, interrupted};

/// How retry_text_busy to be.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RetryPolicy {
    /// How often to try again without any progress in between.
    pub retries: u32,
    /// Wait before the first new try; it doubles with each.
    pub pause: Duration,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self { retries: 5, pause: Duration::from_millis(500) }
    }
}

/// Fetches files into a directory of downloads.
pub(crate) struct Fetcher<'a> {
    pub(in crate::toolchain) settings: &'a IndexSettings,
    client: OnceLock<Client>,
    downloads: PathBuf,
    pace: RetryPolicy,
    pub(in crate::toolchain) offline: bool,
    stop: AtomicBool,
}

/// The one file that is wanted: what it is called, and its bytes.
pub(crate) struct Goal<'a> {
    /// Name for messages.
    pub file: &'a str,
    /// Digest of the file.
    pub sha256: Digest,
    /// Bytes of the file, when they are known beforehand.
    pub size: Option<u64>,
    /// What to do about other bytes than these.
    pub otherwise: Cow<'static, str>,
}

impl<'a> From<&'a Wheel> for Goal<'a> {
    fn from(wheel: &'a Wheel) -> Self {
        Self {
            file: &wheel.file,
            sha256: wheel.sha256,
            size: Some(wheel.size),
            otherwise: match &wheel.locked_at {
                Some(place) => Cow::from(format!(
                    "{place} has the digest: `simpack lock --update {}` takes that of this simpack's pins; if it is \
                     right, try another mirror (SIMPACK_INDEX_URL)",
                    wheel.project
                )),
                None => Cow::from("try again, or another mirror (SIMPACK_INDEX_URL)"),
            },
        }
    }
}

/// What happens during a transfer.
pub(crate) enum Event {
    /// The file has so many bytes, which were not known before.
    Size(u64),
    /// So many bytes are here.
    Came(u64),
    /// So many bytes have to be fetched again.
    Lost(u64),
    /// Something failed and is tried again; a line for people.
    Again(String),
}

/// Is told what happens.
pub(crate) type Progress<'a> = &'a (dyn Fn(Event) + Sync);

impl<'a> Fetcher<'a> {
    /// A fetcher into `downloads`; `offline` uses no network, only directories.
    pub fn new(settings: &'a IndexSettings, downloads: PathBuf, pace: RetryPolicy, offline: bool) -> Self {
        let pace = RetryPolicy { retries: settings.retries.unwrap_or(pace.retries), ..pace };
        Self { settings, client: OnceLock::new(), downloads, pace, offline, stop: AtomicBool::new(false) }
    }

    /// Makes the transfers of other threads end soon: one of them failed.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// A file with exactly the pinned bytes: where it lies already, or fetched.
    ///
    /// # Errors
    /// No place has it, or what the places have is something else.
    pub fn wheel(&self, wheel: &Wheel, progress: Progress) -> Result<PathBuf> {
        let target = self.downloads.join(wheel.sha256.to_string());
        if target.is_file() {
            // Only whole, checked files get this name.
            progress(Event::Came(wheel.size));
            return Ok(target);
        }
        let mut failures: Vec<Error> = Vec::new();
        let links = self.settings.find_links.iter().map(|place| (place, true));
        let indexes = self.settings.indexes.iter().map(|place| (place, false));
        for (place, is_links) in links.chain(indexes) {
            let found =
                if is_links { self.find_links(place, wheel, progress) } else { self.index(place, wheel, progress) };
            let found = match found {
                Ok(found) => found,
                Err(error) => {
                    failures.push(error);
                    continue;
                }
            };
            for link in found {
                match self.link(&link, &wheel.into(), progress) {
                    Ok(path) => return Ok(path),
                    Err(error) => failures.push(error),
                }
                if self.stop.load(Ordering::Relaxed) {
                    break;
                }
            }
        }
        Err(self.nowhere(wheel, failures))
    }

    fn nowhere(&self, wheel: &Wheel, failures: Vec<Error>) -> Error {
        let mut failures = failures.into_iter();
        let Some(first) = failures.next() else {
            if self.offline {
                return Error::toolchain(format!("{} is not here, and this run is offline", wheel.file))
                    .hint("or put it into a directory and name that in PIP_FIND_LINKS");
            }
            let error = Error::toolchain(format!("no find-links directory has {}, and there is no index", wheel.file));
            let error = self.settings.no_index.iter().fold(error, |error, line| error.detail(line));
            return error.hint("put the file there, or name an index in SIMPACK_INDEX_URL");
        };
        // The last failure is the index's, which says most; the earlier ones become its details.
        let rest: Vec<Error> = failures.collect();
        let mut earlier = vec![first];
        earlier.extend(rest);
        let last = earlier.pop().unwrap_or_else(|| Error::toolchain(format!("{} was not found", wheel.file)));
        earlier.into_iter().fold(last, |error, other| error.detail(format!("before that: {other}")))
    }

    pub(in crate::toolchain) fn client(&self) -> Result<&Client> {
        if let Some(client) = self.client.get() {
            return Ok(client);
        }
        let client = Client::new(self.settings)?;
        Ok(self.client.get_or_init(|| client))
    }

    /// The wanted file behind a link: where it lies already, or fetched.
    ///
    /// # Errors
    /// It cannot be had, or it is something else.
    pub(in crate::toolchain) fn link(&self, link: &Link, goal: &Goal, progress: Progress) -> Result<PathBuf> {
        let target = self.downloads.join(goal.sha256.to_string());
        if let Some(stated) = link.sha256.filter(|stated| *stated != goal.sha256) {
            return Err(wrong_bytes(goal, &shown(&link.url), &stated.to_string(), "nothing was fetched"));
        }
        if link.url.scheme() == "file" {
            let path = file_path(&link.url)?;
            let got = Digest::of_file(&path)?;
            if got != goal.sha256 {
                return Err(wrong_bytes(goal, &path.display().to_string(), &got.to_string(), "the file was not used"));
            }
            progress(Event::Came(length(&path)));
            return Ok(path);
        }
        if self.offline {
            return Err(Error::toolchain(format!("{} would need the network", goal.file)));
        }
        with_lock(&target.with_extension("lock"), || {
            if target.is_file() {
                progress(Event::Came(length(&target)));
            } else {
                self.download(link, goal, &target, progress)?;
            }
            Ok(target.clone())
        })
    }

    fn download(&self, link: &Link, goal: &Goal, target: &Path, progress: Progress) -> Result<()> {
        let part = target.with_extension("part");
        let length = || length(&part);
        let mut resumed = length() > 0;
        if resumed {
            progress(Event::Came(length().min(goal.size.unwrap_or(u64::MAX))));
            // A file of unknown length may be whole: no server could say how it goes on.
            if goal.size.is_none() && Digest::of_file(&part)? == goal.sha256 {
                return rename_flushed(&part, target);
            }
        }
        loop {
            self.complete(link, goal, &part, progress).inspect_err(|_| progress(Event::Lost(length())))?;
            let got = Digest::of_file(&part)?;
            if got == goal.sha256 {
                return rename_flushed(&part, target);
            }
            progress(Event::Lost(length()));
            fs_err::remove_file(&part)?;
            if !resumed {
                return Err(wrong_bytes(goal, &shown(&link.url), &got.to_string(), "the file was removed"));
            }
            // The beginning may be of an earlier run and of another server: once more, whole.
            resumed = false;
        }
    }

    /// Brings `part` to the wanted length, or to its server's end when that is unknown.
    fn complete(&self, link: &Link, goal: &Goal, part: &Path, progress: Progress) -> Result<()> {
        let mut most = 0;
        let mut tries = 0;
        loop {
            let have = length(part);
            if goal.size == Some(have) {
                return Ok(());
            }
            if have > most {
                (most, tries) = (have, 0);
            }
            let start = if goal.size.is_some_and(|size| have > size) { 0 } else { have };
            let trouble = match self.piece(link, goal, part, start, progress) {
                Ok(()) if goal.size.is_none() => return Ok(()),
                Ok(()) => continue,
                Err(trouble) => trouble,
            };
            match trouble {
                FetchError::Again(error, pause) => {
                    if !self.again(&error, &mut tries, pause, progress) {
                        return Err(error);
                    }
                }
                FetchError::Beyond if start > 0 => {
                    progress(Event::Lost(start));
                    fs_err::remove_file(part)?;
                }
                FetchError::Beyond => {
                    return Err(Error::toolchain(format!("{} refuses to send the file", shown(&link.url))));
                }
                FetchError::Absent(error) => {
                    return Err(match goal.size {
                        Some(_) => error.hint("the index lists the file and its server lacks it: try another mirror"),
                        None => error,
                    });
                }
                FetchError::Final(error) => return Err(error),
            }
        }
    }

    /// Appends to `part` what one connection gives from `start` on.
    fn piece(&self, link: &Link, goal: &Goal, part: &Path, start: u64, progress: Progress) -> Result<(), FetchError> {
        let mut response = self.client()?.file(&link.url, start)?;
        let from = match response.status() {
            StatusCode::PARTIAL_CONTENT => {
                let range = response.headers().get(CONTENT_RANGE).and_then(|range| range.to_str().ok());
                range.and_then(range_start).unwrap_or(start)
            }
            _ => 0,
        };
        if from != 0 && from != start {
            return Err(Error::toolchain(format!("{} sends another part than asked for", shown(&link.url))).into());
        }
        if let (None, Some(rest)) = (goal.size, response.content_length()) {
            enough_space(&self.downloads, rest)?;
            progress(Event::Size(from.saturating_add(rest)));
        }
        let mut file = fs_err::OpenOptions::new().create(true).truncate(false).write(true).open(part).map_err(io)?;
        if from == 0 {
            progress(Event::Lost(start));
        }
        file.file().set_len(from).map_err(io)?;
        std::io::Seek::seek(&mut file, std::io::SeekFrom::Start(from)).map_err(io)?;
        let mut buffer = vec![0; 1 << 16];
        let mut at = from;
        loop {
            check_interrupted()?;
            if self.stop.load(Ordering::Relaxed) {
                return Err(
                    Error::toolchain(format!("{} was stopped because another transfer failed", goal.file)).into()
                );
            }
            let count = match response.read(&mut buffer) {
                Ok(0) => break,
                Ok(count) => count,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(broken(&link.url, error)),
            };
            at += count as u64;
            if let Some(size) = Some(goal.size.unwrap_or(MOST_FILE)).filter(|&size| at > size) {
                drop(file);
                fs_err::remove_file(part).map_err(io)?;
                let got = format!("more than {size} bytes");
                return Err(wrong_bytes(goal, &shown(&link.url), &got, "the file was removed").into());
            }
            file.write_all(&buffer[..count]).map_err(io)?;
            progress(Event::Came(count as u64));
        }
        file.flush().map_err(io)?;
        if goal.size.is_some_and(|size| at < size) {
            return Err(broken(&link.url, std::io::Error::other("the connection ended early")));
        }
        Ok(())
    }

    /// Waits before another try, longer each time unless the server says how long; answers whether
    /// there is one.
    pub(in crate::toolchain) fn again(
        &self,
        error: &Error,
        tries: &mut u32,
        pause: Option<Duration>,
        progress: Progress,
    ) -> bool {
        if *tries >= self.pace.retries || self.stop.load(Ordering::Relaxed) || interrupted().is_some() {
            return false;
        }
        let doubled = self.pace.pause.saturating_mul(1 << (*tries).min(6));
        *tries += 1;
        progress(Event::Again(format!("{error}; trying again ({tries} of {})", self.pace.retries)));
        wait(pause.unwrap_or(doubled));
        interrupted().is_none()
    }

    /// Bytes that still have to be fetched; none when a find-links directory has a file of this name
    /// and size.
    pub fn missing(&self, wheel: &Wheel) -> u64 {
        let directories = self.settings.find_links.iter().filter_map(|place| match Url::parse(place) {
            Ok(url) if url.scheme() == "file" => file_path(&url).ok(),
            _ => Some(PathBuf::from(place)),
        });
        if directories.map(|directory| directory.join(&wheel.file)).any(|file| length(&file) == wheel.size) {
            return 0;
        }
        let target = self.downloads.join(wheel.sha256.to_string());
        wheel.size.saturating_sub(length(&target).max(length(&target.with_extension("part"))))
    }
}

/// Bytes of a file whose size nobody has said, at most.
const MOST_FILE: u64 = 32 << 30;

fn wrong_bytes(goal: &Goal, place: &str, got: &str, done: &str) -> Error {
    let size = goal.size.map(|size| format!(" ({size} bytes)")).unwrap_or_default();
    Error::toolchain(format!("{} is not the pinned file: {place}", goal.file))
        .detail(format!("expected sha256 {}{size}", goal.sha256))
        .detail(format!("got      {got}"))
        .hint(format!("{done}; {}", goal.otherwise))
}

/// Waits, but not when the run is interrupted.
fn wait(pause: Duration) {
    let begun = Instant::now();
    while let Some(left) = pause.checked_sub(begun.elapsed()).filter(|left| !left.is_zero()) {
        if interrupted().is_some() {
            return;
        }
        std::thread::sleep(left.min(Duration::from_millis(50)));
    }
}

/// Bytes of a file; none when there is no file.
fn length(path: &Path) -> u64 {
    fs_err::metadata(path).map_or(0, |data| data.len())
}

fn io(error: std::io::Error) -> FetchError {
    FetchError::Final(Error::from(error))
}

fn broken(url: &Url, error: std::io::Error) -> FetchError {
    // reqwest hands its own errors through as the inner error of an io error.
    match error.downcast::<reqwest::Error>() {
        Ok(error) => unreachable(url, error),
        Err(error) => FetchError::Again(
            Error::toolchain(format!("the transfer broke off: {}", shown(url)))
                .detail(error.to_string())
                .hint("what was fetched so far is kept, the next run goes on from there"),
            None,
        ),
    }
}

/// First byte in `bytes 100-199/200`.
fn range_start(text: &str) -> Option<u64> {
    text.trim().strip_prefix("bytes")?.trim_start().split('-').next()?.trim().parse().ok()
}

pub(in crate::toolchain) fn file_path(url: &Url) -> Result<PathBuf> {
    url.to_file_path().map_err(|()| Error::toolchain(format!("{} is not a local path", shown(url))))
}

#[cfg(test)]
mod tests {
    use super::range_start;

    #[test]
    fn content_ranges() {
        assert_eq!(range_start("bytes 100-199/200"), Some(100));
        assert_eq!(range_start("bytes */200"), None);
        assert_eq!(range_start("items 1-2/3"), None);
    }
}
