//! The toolchains in the user's cache: each unpacked once, whole or not at all, shared by all runs.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use serde::{Deserialize, Serialize};

use super::cuda::Toolchain;
use super::fetch::{Fetcher, Pace};
use super::host::HostCompiler;
use super::pins::{PinnedToolchain, Pins, Wheel};
use super::settings::IndexSettings;
use super::unpack::Contents;
use crate::data::Data;
use crate::error::{Error, ErrorKind, Result};
use crate::fs::{Digest, with_lock, write_atomic};
use crate::target::{CudaVersion, GlibcVersion};
use crate::ui::Ui;

/// Written last into a tree: a tree with it is whole.
const MARK: &str = "toolchain.json";
/// Transfers and unpackings at the same time.
const LANES: usize = 3;

/// The cache of toolchains below one directory.
pub struct Store {
    dir: PathBuf,
    pins: Pins,
    settings: Option<IndexSettings>,
    pace: Pace,
}

/// A fetched program, such as CMake.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Tool {
    /// Name in the manifest.
    pub name: String,
    /// Version.
    pub version: String,
    /// The program.
    pub program: PathBuf,
    /// Digest over its pins.
    pub digest: Digest,
}

/// One line of `simpack toolchain list`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Status {
    /// Name on the command line.
    pub name: String,
    /// One line for people.
    pub about: String,
    /// Project and version of every wheel.
    pub versions: BTreeMap<String, String>,
    /// Digest over the pins.
    pub digest: Digest,
    /// Bytes to fetch when it is not here.
    pub download_bytes: u64,
    /// Where it is, when it is here.
    pub root: Option<PathBuf>,
    /// Bytes that it takes on disk, when it is here.
    pub unpacked_bytes: Option<u64>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Mark {
    schema: u32,
    name: String,
    digest: Digest,
    unpacked_bytes: u64,
    wheels: Vec<Wheel>,
}

impl Store {
    /// The cache below `cache` (see [`crate::fs::cache_dir`]) with the embedded pins. Touches nothing.
    ///
    /// # Errors
    /// The embedded manifest is wrong.
    pub fn open(cache: impl Into<PathBuf>) -> Result<Self> {
        let pins = Pins::parse(&Data::here().text("manifests/toolchains.toml")?)?;
        Ok(Self { dir: cache.into(), pins, settings: None, pace: Pace::default() })
    }

    /// The same with other pins.
    #[must_use]
    pub fn pins_from(self, pins: Pins) -> Self {
        Self { pins, ..self }
    }

    /// Uses these places instead of asking the machine's pip.
    #[must_use]
    pub fn places_from(self, settings: IndexSettings) -> Self {
        Self { settings: Some(settings), ..self }
    }

    #[cfg(test)]
    pub(crate) fn pace(self, pace: Pace) -> Self {
        Self { pace, ..self }
    }

    /// What can be had.
    pub fn pins(&self) -> &Pins {
        &self.pins
    }

    /// A CUDA release from wheels, fetched when it is not here. `offline` uses no network.
    pub fn cuda_wheels(&self, cuda: CudaVersion, ui: &Ui, offline: bool) -> Result<Toolchain> {
        let pin = self.pins.cuda(cuda)?;
        let root = self.ensure(pin, ui, offline)?;
        Toolchain::of_wheels(pin, cuda, root)
    }

    /// A tool, fetched when it is not here.
    pub fn tool(&self, name: &str, ui: &Ui, offline: bool) -> Result<Tool> {
        let pin = self.pins.get(name)?;
        let root = self.ensure(pin, ui, offline)?;
        let version = pin.wheels.first().map(|wheel| wheel.version.clone()).unwrap_or_default();
        Ok(Tool { name: pin.name.clone(), version, program: root.join(&pin.program), digest: pin.digest() })
    }

    /// The zig wheel as a host compiler whose output needs no glibc newer than `glibc`.
    pub fn zig(&self, glibc: GlibcVersion, ui: &Ui, offline: bool) -> Result<HostCompiler> {
        let tool = self.tool("zig", ui, offline)?;
        Ok(HostCompiler::of_zig(&tool, glibc, &self.dir.join("zig")))
    }

    /// The tree of `name`, fetched when it is not here.
    pub fn fetch(&self, name: &str, ui: &Ui, offline: bool) -> Result<PathBuf> {
        self.ensure(self.pins.get(name)?, ui, offline)
    }

    /// State of every pinned toolchain, in the manifest's order.
    pub fn status(&self) -> Vec<Status> {
        let status = |pin: &PinnedToolchain| {
            let root = self.root(pin);
            let mark = mark(&root, pin);
            Status {
                name: pin.name.clone(),
                about: pin.about.clone(),
                versions: pin.versions(),
                digest: pin.digest(),
                download_bytes: pin.size(),
                unpacked_bytes: mark.as_ref().map(|mark| mark.unpacked_bytes),
                root: mark.map(|_| root),
            }
        };
        self.pins.all().iter().map(status).collect()
    }

    fn root(&self, pin: &PinnedToolchain) -> PathBuf {
        self.dir.join("toolchains").join(pin.directory())
    }

    fn ensure(&self, pin: &PinnedToolchain, ui: &Ui, offline: bool) -> Result<PathBuf> {
        let root = self.root(pin);
        // A tree that is whole needs neither lock nor write: the cache may be read-only.
        if mark(&root, pin).is_some() {
            return Ok(root);
        }
        let lock = self.dir.join("toolchains").join(format!(".{}.lock", pin.directory()));
        let here = |error| name_cache(error, &self.dir, pin, offline);
        fs_err::create_dir_all(self.dir.join("toolchains")).map_err(|error| here(Error::from(error)))?;
        with_lock(&lock, || {
            if mark(&root, pin).is_none() {
                self.make(pin, &root, ui, offline).map_err(here)?;
            }
            Ok(root.clone())
        })
    }

    /// Fetches and unpacks under the lock.
    fn make(&self, pin: &PinnedToolchain, root: &Path, ui: &Ui, offline: bool) -> Result<()> {
        let toolchains = self.dir.join("toolchains");
        let temporary = format!(".new-{}-", pin.directory());
        remove_leftovers(&toolchains, &temporary);
        let downloads = self.dir.join("downloads");
        fs_err::create_dir_all(&downloads)?;
        let discovered;
        let settings = match &self.settings {
            Some(settings) => settings,
            None if pin.wheels.iter().all(|wheel| downloads.join(wheel.sha256.to_string()).is_file()) => {
                discovered = IndexSettings::default();
                &discovered
            }
            None => {
                discovered = IndexSettings::discover()?;
                &discovered
            }
        };
        let started = Instant::now();
        let files = self.bring(pin, settings, &downloads, ui, offline)?;

        let contents: Vec<Contents> =
            files.iter().map(|file| Contents::read(file, pin)).collect::<Result<Vec<Contents>>>()?;
        let bytes = contents.iter().fold(0_u64, |sum, contents| sum.saturating_add(contents.bytes));
        enough_space(&toolchains, bytes)?;
        let tree = tempfile::Builder::new().prefix(&temporary).tempdir_in(&toolchains)?;
        let work: Vec<Mutex<Option<(&PathBuf, Contents)>>> =
            files.iter().zip(contents).map(|work| Mutex::new(Some(work))).collect();
        in_lanes(
            work.len(),
            || (),
            |index| {
                let work = work[index].lock().map_or(None, |mut work| work.take());
                work.map_or(Ok(()), |(file, contents)| contents.unpack(file, tree.path()))
            },
        )?;
        for (link, target) in &pin.links {
            let link = tree.path().join(link);
            if let Some(parent) = link.parent() {
                fs_err::create_dir_all(parent)?;
            }
            fs_err::os::unix::fs::symlink(target, link)?;
        }
        if !tree.path().join(&pin.program).is_file() {
            return Err(Error::toolchain(format!("the wheels of {} hold no {}", pin.name, pin.program))
                .hint("manifests/toolchains.toml names another place than the wheels: `strip`, `into`, `program`"));
        }
        self.seal(pin, root, tree, bytes)?;
        for wheel in &pin.wheels {
            // Unpacked and checked: the archive would only take space.
            let _ = fs_err::remove_file(downloads.join(wheel.sha256.to_string()));
        }
        ui.note(format!(
            "toolchain  {} ready in {:.0} s ({} MB on disk)",
            pin.name,
            started.elapsed().as_secs_f64(),
            bytes / 1_000_000
        ));
        Ok(())
    }

    fn bring(
        &self,
        pin: &PinnedToolchain,
        settings: &IndexSettings,
        downloads: &Path,
        ui: &Ui,
        offline: bool,
    ) -> Result<Vec<PathBuf>> {
        let part = |wheel: &Wheel| {
            let name = downloads.join(wheel.sha256.to_string());
            let length = |path: &Path| fs_err::metadata(path).map_or(0, |data| data.len());
            length(&name).max(length(&name.with_extension("part"))).min(wheel.size)
        };
        let missing = pin.wheels.iter().fold(0_u64, |sum, wheel| sum.saturating_add(wheel.size - part(wheel)));
        enough_space(downloads, missing)?;
        let wheels = if pin.wheels.len() == 1 { "1 wheel".to_owned() } else { format!("{} wheels", pin.wheels.len()) };
        if !ui.is_interactive() {
            ui.note(format!("toolchain  {}: {wheels}, {:.1} MB", pin.name, pin.size() as f64 / 1e6));
        }
        let bar = ui.bytes("toolchain", pin.size());
        bar.set_message(format!("{}  {wheels}", pin.name));
        let progress = |bytes: i64| if bytes >= 0 { bar.inc(bytes as u64) } else { bar.dec(bytes.unsigned_abs()) };
        let fetcher = Fetcher::new(settings, downloads.to_owned(), self.pace, offline);
        let files: Vec<Mutex<PathBuf>> = pin.wheels.iter().map(|_| Mutex::default()).collect();
        let result = in_lanes(
            pin.wheels.len(),
            || fetcher.stop(),
            |index| {
                let path = fetcher.wheel(&pin.wheels[index], &progress)?;
                if let Ok(mut slot) = files[index].lock() {
                    *slot = path;
                }
                Ok(())
            },
        );
        bar.finish_and_clear();
        result?;
        Ok(files.into_iter().map(|slot| slot.into_inner().unwrap_or_default()).collect())
    }

    /// Writes the mark and gives the tree its name, in this order.
    fn seal(&self, pin: &PinnedToolchain, root: &Path, tree: tempfile::TempDir, bytes: u64) -> Result<()> {
        let mark = Mark {
            schema: 1,
            name: pin.name.clone(),
            digest: pin.digest(),
            unpacked_bytes: bytes,
            wheels: pin.wheels.clone(),
        };
        let text = serde_json::to_string_pretty(&mark)
            .map_err(|error| Error::bug("a toolchain's description does not print as JSON").because(error))?;
        write_atomic(&tree.path().join(MARK), text.as_bytes())?;
        crate::fs::set_mode(tree.path(), 0o755)?;
        if root.exists() {
            // Without a mark, or with another's: it was never whole.
            fs_err::remove_dir_all(root)?;
        }
        let path = tree.keep();
        fs_err::rename(&path, root).inspect_err(|_| {
            let _ = fs_err::remove_dir_all(&path);
        })?;
        Ok(())
    }
}

/// The tree's description when it is whole and of these pins.
fn mark(root: &Path, pin: &PinnedToolchain) -> Option<Mark> {
    let text = fs_err::read_to_string(root.join(MARK)).ok()?;
    let mark: Mark = serde_json::from_str(&text).ok()?;
    (mark.schema == 1 && mark.digest == pin.digest()).then_some(mark)
}

/// Trees of runs that were killed; nobody else works on them while the lock is held.
fn remove_leftovers(toolchains: &Path, prefix: &str) {
    let entries = fs_err::read_dir(toolchains).into_iter().flatten().flatten();
    for entry in entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(prefix)) {
        let _ = fs_err::remove_dir_all(entry.path());
    }
}

/// Does `count` pieces of work on a few threads. After the first error `stop` is called, no new
/// piece begins, and that error is the answer.
fn in_lanes(count: usize, stop: impl Fn() + Sync, work: impl Fn(usize) -> Result<()> + Sync) -> Result<()> {
    let next = AtomicUsize::new(0);
    let failure: Mutex<Option<Error>> = Mutex::new(None);
    std::thread::scope(|scope| {
        for _ in 0..LANES.min(count) {
            scope.spawn(|| {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    if index >= count {
                        return;
                    }
                    if let Err(error) = work(index) {
                        next.store(count, Ordering::Relaxed);
                        if let Ok(mut failure) = failure.lock() {
                            failure.get_or_insert(error);
                        }
                        stop();
                    }
                }
            });
        }
    });
    match failure.into_inner() {
        Ok(None) => Ok(()),
        Ok(Some(error)) => Err(error),
        Err(_) => Err(Error::bug("a thread of the toolchain store panicked")),
    }
}

/// Refuses early what could not end well.
fn enough_space(dir: &Path, needed: u64) -> Result<()> {
    match free_bytes(dir) {
        Some(free) if free < needed => Err(no_space(dir, needed, free)),
        _ => Ok(()),
    }
}

fn no_space(dir: &Path, needed: u64, free: u64) -> Error {
    Error::toolchain(format!("not enough space in {}", dir.display()))
        .detail(format!("needed {} MB, free {} MB", needed.div_ceil(1_000_000), free / 1_000_000))
        .hint("free some space, or name another directory in SIMPACK_CACHE_DIR")
}

/// Bytes that an ordinary user may still write below `dir`.
fn free_bytes(dir: &Path) -> Option<u64> {
    use std::os::unix::ffi::OsStrExt;
    let path = std::ffi::CString::new(dir.as_os_str().as_bytes()).ok()?;
    // SAFETY: an all-zero statvfs is a valid value of this plain C structure.
    let mut data: libc::statvfs = unsafe { std::mem::zeroed() };
    // SAFETY: the path is NUL-terminated and `data` is a valid place for the answer.
    (unsafe { libc::statvfs(path.as_ptr(), &raw mut data) } == 0).then(|| data.f_bavail.saturating_mul(data.f_frsize))
}

/// Says which toolchain failed and what can be done about the cache.
fn name_cache(error: Error, dir: &Path, pin: &PinnedToolchain, offline: bool) -> Error {
    let mut named = Error::toolchain(format!("cannot get toolchain {}", pin.name));
    named = named.detail(error.to_string());
    for detail in error.details() {
        named = named.detail(detail);
    }
    for hint in error.hints() {
        named = named.hint(hint);
    }
    if error.kind() == ErrorKind::File {
        named = named.hint(format!("the cache is {}; SIMPACK_CACHE_DIR names another", dir.display()));
    }
    if offline {
        named = named.hint(format!("run `simpack toolchain fetch {}` with a network first", pin.name));
    }
    match std::error::Error::source(&error) {
        Some(cause) => named.detail(cause.to_string()),
        None => named,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn space_is_checked_before() {
        let dir = tempfile::tempdir().unwrap();
        assert!(free_bytes(dir.path()).unwrap() > 0);
        assert!(enough_space(dir.path(), 1).is_ok());
        let error = enough_space(dir.path(), u64::MAX).unwrap_err();
        assert!(error.to_string().contains("not enough space"), "{error}");
        assert!(error.hints()[0].contains("SIMPACK_CACHE_DIR"));
        // A file system that does not say how much is free does not stop anyone.
        assert!(enough_space(Path::new("/nowhere/at/all"), u64::MAX).is_ok());
    }
}
