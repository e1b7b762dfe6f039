//! Packages that builds are given: the indexes of their channels, their files, and the prefixes in the user's cache that
//! they are put into, each made once, whole or not at all.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tempfile::TempDir;
use url::Url;

use super::store::{Store, remove_leftovers};
use crate::amount::count;
use crate::container::{self, Form, links_stay_inside};
use crate::error::{Error, Result};
use crate::fs::{Digest, DigestBuilder, flush, set_mode, with_lock_or_wait, write_atomic};
use crate::index_page::{Link, shown};
use crate::toolchain::sources::archive::at_fault;
use crate::toolchain::transfer::client::FetchError;
use crate::toolchain::transfer::fetch::{Event, Fetcher, Goal, file_path};
use crate::toolchain::transfer::lanes::in_lanes;
use crate::toolchain::transfer::settings::IndexSettings;
use crate::toolchain::transfer::space::enough_space;
use crate::ui::{Ui, size};

/// Written last beside a prefix: a prefix with it is whole.
const MARK: &str = "dependencies.json";
/// The prefix beside it.
const PREFIX: &str = "prefix";
/// Raised when unpacking changes, so that old prefixes are not used.
const LAYOUT: &str = "1";

/// Bytes of an index at most, as it is fetched and unpacked: the largest channel's have 60 MB and 400 MB.
const MOST_FETCHED: u64 = 512 << 20;
const MOST_INDEX: u64 = 2 << 30;

/// A package's file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackageFile {
    /// Its name.
    pub file: String,
    /// Where it is.
    pub url: Url,
    /// Digest of its bytes.
    pub sha256: Digest,
    /// Its bytes.
    pub size: u64,
    /// What to do where other bytes are there.
    pub otherwise: String,
}

/// What puts packages into a prefix.
pub trait IntoPrefix {
    /// What is known of the prefix then.
    type Known: Serialize + DeserializeOwned;

    /// Puts the packages, each unpacked into a directory, into the directory `tree`, which will be moved to `place`.
    ///
    /// # Errors
    /// A package is none.
    fn install(&self, unpacked: &[PathBuf], tree: &Path, place: &Path) -> Result<Self::Known>;
}

#[derive(Serialize, Deserialize)]
struct Mark<T> {
    schema: u32,
    key: Digest,
    known: T,
}

impl Store {
    /// The index of a subdirectory of a channel; none where it has no such subdirectory.
    ///
    /// # Errors
    /// The channel cannot be reached, or its index is damaged or too large.
    pub fn channel_index(&self, channel: &Url, subdir: &str, ui: &Ui, offline: bool) -> Result<Option<Vec<u8>>> {
        let names = ["repodata.json.zst", "repodata.json"].map(|name| format!("{subdir}/{name}"));
        for name in names {
            let url = below(channel, &name)?;
            let found = match url.scheme() {
                "file" => local(&file_path(&url)?)?,
                _ if offline => {
                    return Err(Error::toolchain(format!("{} would need the network", shown(&url)))
                        .hint("run the same command once without --offline: what is chosen stays in simpack.lock"));
                }
                _ => self.remote(&url, ui)?,
            };
            let Some(bytes) = found else { continue };
            return match name.ends_with(".zst") {
                true => unpacked(&bytes, &url).map(Some),
                false => Ok(Some(bytes)),
            };
        }
        Ok(None)
    }

    fn remote(&self, url: &Url, ui: &Ui) -> Result<Option<Vec<u8>>> {
        let settings = self.for_addresses();
        let fetcher = Fetcher::new(&settings, self.dir.join("downloads"), self.pace, false);
        let mut tries = 0;
        loop {
            match read_all(&fetcher, url) {
                Ok(bytes) => return Ok(Some(bytes)),
                Err(FetchError::Absent(_)) => return Ok(None),
                Err(FetchError::Again(error, pause)) => {
                    let tell = |event| {
                        if let Event::Again(line) = event {
                            ui.note(format!("channel  {line}"));
                        }
                    };
                    if !fetcher.again(&error, &mut tries, pause, &tell) {
                        return Err(error);
                    }
                }
                Err(FetchError::Beyond) => {
                    return Err(Error::toolchain(format!("{} refuses to send the index", shown(url))));
                }
                Err(FetchError::Final(error)) => return Err(error),
            }
        }
    }

    /// The settings of this machine's pip for connections: an address needs no index.
    fn for_addresses(&self) -> IndexSettings {
        self.settings.clone().unwrap_or_else(|| IndexSettings::discover().unwrap_or_default())
    }

    fn prefix_dir(&self, key: &Digest) -> PathBuf {
        self.dir.join("dependencies").join(key.short(32))
    }

    /// The prefix of packages in `<cache>/dependencies/`, made when it is not here, and what is known of it.
    ///
    /// # Errors
    /// A package cannot be fetched, is not the one that is locked, or cannot be unpacked.
    pub fn prefix<I: IntoPrefix>(
        &self,
        files: &[PackageFile],
        into: &I,
        ui: &Ui,
        offline: bool,
    ) -> Result<(PathBuf, I::Known)> {
        let key = key(files);
        let dir = self.prefix_dir(&key);
        // A prefix that is whole needs neither lock nor write: the cache may be read-only.
        if let Some(known) = whole(&dir, key) {
            return Ok((dir.join(PREFIX), known));
        }
        let lock = self.dir.join("dependencies").join(format!(".{}.lock", key.short(32)));
        let waiting = || ui.note("packages   waiting for another simpack that unpacks them");
        let known = with_lock_or_wait(&lock, waiting, || match whole(&dir, key) {
            Some(known) => Ok(known),
            None => self.make_prefix(files, into, (key, &dir), ui, offline),
        })?;
        Ok((dir.join(PREFIX), known))
    }

    fn make_prefix<I: IntoPrefix>(
        &self,
        files: &[PackageFile],
        into: &I,
        (key, dir): (Digest, &Path),
        ui: &Ui,
        offline: bool,
    ) -> Result<I::Known> {
        let parent = self.dir.join("dependencies");
        let temporary = format!(".new-{}-", key.short(16));
        remove_leftovers(&parent, &temporary);
        let downloads = self.dir.join("downloads");
        self.take_vendored(files.iter().map(|file| file.sha256))?;
        let paths = self.bring_packages(files, &downloads, ui, offline)?;
        let fresh = tempfile::Builder::new().prefix(&temporary).tempdir_in(&parent)?;
        let unpacked = unpack_all(files, &paths, &fresh)?;
        let tree = fresh.path().join(PREFIX);
        let known = into.install(&unpacked, &tree, &dir.join(PREFIX))?;
        links_stay_inside(&tree).map_err(at_fault)?;
        fs_err::remove_dir_all(fresh.path().join("packages"))?;
        let mark = Mark { schema: 1, key, known };
        let text = serde_json::to_vec_pretty(&mark)
            .map_err(|error| Error::bug("what is known of a prefix does not print as JSON").because(error))?;
        flush(fresh.path())?;
        write_atomic(&fresh.path().join(MARK), &text)?;
        set_mode(fresh.path(), 0o755)?;
        if dir.exists() {
            // Without a mark: it was never whole.
            fs_err::remove_dir_all(dir)?;
        }
        let fresh = fresh.keep();
        fs_err::rename(&fresh, dir).inspect_err(|_| drop(fs_err::remove_dir_all(&fresh)))?;
        for file in files {
            // Unpacked and checked: the archive would only take space.
            let _ = fs_err::remove_file(self.dir.join("downloads").join(file.sha256.to_string()));
        }
        ui.note(format!("packages   {} of channels ready", count(files.len(), "package")));
        Ok(mark.known)
    }

    /// The files of all packages, in their order.
    pub(super) fn bring_packages(
        &self,
        files: &[PackageFile],
        downloads: &Path,
        ui: &Ui,
        offline: bool,
    ) -> Result<Vec<PathBuf>> {
        fs_err::create_dir_all(downloads)?;
        let kept = |file: &PackageFile| downloads.join(file.sha256.to_string());
        let is_far = |file: &&PackageFile| file.url.scheme() != "file" && !kept(file).is_file();
        let far: Vec<&PackageFile> = files.iter().filter(is_far).collect();
        if let (true, Some(_)) = (offline, far.first()) {
            let names: Vec<&str> = far.iter().map(|file| file.file.as_str()).collect();
            let error = Error::toolchain(format!("this run is offline and lacks {}", count(far.len(), "package")));
            let error = names.into_iter().fold(error, |error, name| error.detail(name));
            return Err(error.hint("run the same command once without --offline: what it fetches stays in the cache"));
        }
        let bytes = far.iter().fold(0_u64, |sum, file| sum.saturating_add(file.size));
        enough_space(downloads, bytes)?;
        let settings = if far.is_empty() { IndexSettings::default() } else { self.for_addresses() };
        let fetcher = Fetcher::new(&settings, downloads.to_owned(), self.pace, offline);
        let bar = ui.bytes("packages", files.iter().fold(0_u64, |sum, file| sum.saturating_add(file.size)));
        if !far.is_empty() && !ui.is_interactive() {
            ui.note(format!("packages   {}, {}", count(far.len(), "package"), size(bytes)));
        }
        let progress = |event| match event {
            Event::Size(bytes) => bar.set_length(bytes),
            Event::Came(bytes) => bar.inc(bytes),
            Event::Lost(bytes) => bar.dec(bytes),
            Event::Again(line) => ui.note(format!("packages   {line}")),
        };
        let places: Vec<Mutex<PathBuf>> = files.iter().map(|_| Mutex::default()).collect();
        let result = in_lanes(
            files.len(),
            || fetcher.stop(),
            |index| {
                let file = &files[index];
                let goal = Goal {
                    file: &file.file,
                    sha256: file.sha256,
                    size: Some(file.size),
                    otherwise: file.otherwise.clone().into(),
                };
                let path = match kept(file).is_file() {
                    true => kept(file),
                    false => fetcher.link(&Link { url: file.url.clone(), sha256: None }, &goal, &progress)?,
                };
                if let Ok(mut slot) = places[index].lock() {
                    *slot = path;
                }
                Ok(())
            },
        );
        bar.finish_and_clear();
        result?;
        Ok(places.into_iter().map(|slot| slot.into_inner().unwrap_or_default()).collect())
    }
}

/// Digest that names the prefix of packages in the cache.
fn key(files: &[PackageFile]) -> Digest {
    let mut digests: Vec<&Digest> = files.iter().map(|file| &file.sha256).collect();
    digests.sort();
    digests
        .into_iter()
        .fold(DigestBuilder::default().field(LAYOUT), |key, digest| key.field(digest.as_bytes()))
        .finish()
}

fn whole<T: DeserializeOwned>(dir: &Path, key: Digest) -> Option<T> {
    let mark: Mark<T> = serde_json::from_slice(&fs_err::read(dir.join(MARK)).ok()?).ok()?;
    (mark.schema == 1 && mark.key == key && dir.join(PREFIX).is_dir()).then_some(mark.known)
}

/// The address of a file below a channel's.
fn below(channel: &Url, path: &str) -> Result<Url> {
    let mut url = channel.clone();
    match url.path_segments_mut() {
        Ok(mut segments) => drop(segments.pop_if_empty().extend(path.split('/'))),
        Err(()) => return Err(Error::recipe(format!("{} is not the address of a channel", shown(channel)))),
    }
    Ok(url)
}

/// A file of this machine; none where it is not.
fn local(path: &Path) -> Result<Option<Vec<u8>>> {
    match fs_err::metadata(path) {
        Err(_) => Ok(None),
        Ok(data) if data.len() > MOST_FETCHED => Err(too_large(&path.display().to_string())),
        Ok(_) => Ok(Some(crate::fs::read(path)?)),
    }
}

fn read_all(fetcher: &Fetcher<'_>, url: &Url) -> Result<Vec<u8>, FetchError> {
    let response = fetcher.client()?.file(url, 0)?;
    let mut bytes = Vec::new();
    response.take(MOST_FETCHED + 1).read_to_end(&mut bytes).map_err(|error| {
        let broke = Error::toolchain(format!("the index {} broke off", shown(url))).detail(error.to_string());
        FetchError::Again(broke.hint("check the network and the proxy variables"), None)
    })?;
    match bytes.len() as u64 > MOST_FETCHED {
        true => Err(too_large(&shown(url)).into()),
        false => Ok(bytes),
    }
}

fn unpacked(bytes: &[u8], url: &Url) -> Result<Vec<u8>> {
    let damaged =
        |error: std::io::Error| Error::toolchain(format!("the index {} is damaged", shown(url))).because(error);
    let mut text = Vec::new();
    let reader = zstd::Decoder::new(bytes).map_err(damaged)?;
    reader.take(MOST_INDEX + 1).read_to_end(&mut text).map_err(damaged)?;
    if text.len() as u64 > MOST_INDEX { Err(too_large(&shown(url))) } else { Ok(text) }
}

fn too_large(what: &str) -> Error {
    Error::toolchain(format!("{what} is larger than the index of any channel")).hint("name another channel")
}

/// Unpacks every package into a directory of its own.
fn unpack_all(files: &[PackageFile], paths: &[PathBuf], fresh: &TempDir) -> Result<Vec<PathBuf>> {
    let to = |index: usize| fresh.path().join("packages").join(index.to_string());
    fs_err::create_dir_all(fresh.path().join("packages"))?;
    in_lanes(
        files.len(),
        || (),
        |index| {
            let file = &files[index];
            let form = Form::of_name(&file.file).filter(|form| matches!(form, Form::Conda | Form::Tar(_)));
            let form = form.ok_or_else(|| Error::toolchain(format!("{} is no package of conda", file.file)))?;
            container::unpack(&paths[index], form, &to(index), false, &mut |refused| Err(refused.into()))
                .map_err(|stop| stop.error(at_fault))
                .map_err(|error| Error::toolchain(format!("{} cannot be unpacked: {error}", file.file)))
        },
    )?;
    Ok((0..files.len()).map(to).collect())
}
