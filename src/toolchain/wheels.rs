//! The toolchains in the user's cache: each unpacked once, whole or not at all, shared by all runs.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Instant;

use serde::{Deserialize, Serialize};

use super::cuda::Toolchain;
use super::pins::{PinnedToolchain, Wheel};
use super::store::{Store, remove_leftovers};
use super::unpack::Contents;
use crate::amount::count;
use crate::arch::CudaVersion;
use crate::error::{Error, ErrorKind, Result};
use crate::fs::{Digest, EntryKind, flush, walk, with_lock_or_wait, write_atomic};
use crate::toolchain::transfer::fetch::{Event, Fetcher};
use crate::toolchain::transfer::lanes::in_lanes;
use crate::toolchain::transfer::settings::IndexSettings;
use crate::toolchain::transfer::space::enough_space;
use crate::ui::{Ui, size};

/// Written last into a tree: a tree with it is whole.
const MARK: &str = "toolchain.json";

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

/// What `toolchain.json` says; written by simpack, not by people.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Mark {
    schema: u32,
    name: String,
    digest: Digest,
    unpacked_bytes: u64,
    wheels: Vec<Wheel>,
}

impl Store {
    /// A CUDA release from wheels, fetched when it is not here. `offline` uses no network.
    ///
    /// # Errors
    /// The release is not pinned, or cannot be fetched.
    pub fn cuda_wheels(&self, cuda: CudaVersion, ui: &Ui, offline: bool) -> Result<Toolchain> {
        let pin = self.pins().cuda(cuda)?;
        let root = self.ensure(pin, ui, offline)?;
        Toolchain::of_wheels(pin, cuda, root)
    }

    /// The directory of the toolchain of a release, where it is here.
    pub fn cuda_here(&self, cuda: CudaVersion) -> Option<PathBuf> {
        let pin = self.pins().cuda(cuda).ok()?;
        let root = self.root(pin);
        mark(&root, pin).map(|_| root)
    }

    /// A tool, fetched when it is not here.
    ///
    /// # Errors
    /// The tool is not pinned, or cannot be fetched.
    pub fn tool(&self, name: &str, ui: &Ui, offline: bool) -> Result<Tool> {
        let pin = self.pins().get(name)?;
        let root = self.ensure(pin, ui, offline)?;
        let version = pin.wheels.first().map(|wheel| wheel.version.clone()).unwrap_or_default();
        Ok(Tool { name: pin.name.clone(), version, program: root.join(&pin.program), digest: pin.digest() })
    }

    /// The tree of `name`, fetched when it is not here.
    ///
    /// # Errors
    /// The name is not pinned, or cannot be fetched.
    pub fn fetch(&self, name: &str, ui: &Ui, offline: bool) -> Result<PathBuf> {
        self.ensure(self.pins().get(name)?, ui, offline)
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
        self.pins().all().iter().map(status).collect()
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
        let waiting = || ui.note(format!("toolchain  {}: waiting for another simpack that fetches it", pin.name));
        let made = with_lock_or_wait(&lock, waiting, || match mark(&root, pin) {
            Some(_) => Ok(()),
            None => self.make(pin, &root, ui, offline),
        });
        made.map_err(|error| name_cache(error, &self.dir, pin, offline))?;
        Ok(root)
    }

    /// Fetches and unpacks, under the lock.
    fn make(&self, pin: &PinnedToolchain, root: &Path, ui: &Ui, offline: bool) -> Result<()> {
        let started = Instant::now();
        let downloads = self.dir.join("downloads");
        fs_err::create_dir_all(&downloads)?;
        let lender = self.lender(pin);
        let lent = lender.as_ref().map(|(_, mark)| mark.wheels.as_slice()).unwrap_or_default();
        let is_lent = |wheel: &Wheel| lent.iter().any(|other| other.sha256 == wheel.sha256);
        let missing: Vec<Wheel> = pin.wheels.iter().filter(|wheel| !is_lent(wheel)).cloned().collect();
        let added = PinnedToolchain { wheels: missing, ..pin.clone() };
        self.take_vendored(added.wheels.iter().map(|wheel| wheel.sha256))?;
        let all_here = added.wheels.iter().all(|wheel| downloads.join(wheel.sha256.to_string()).is_file());
        let settings = match &self.settings {
            Some(settings) => settings.clone(),
            None if all_here => IndexSettings::default(),
            None => IndexSettings::discover()?,
        };
        let files = self.bring(&added, &settings, &downloads, ui, offline)?;
        let bytes = self.unpack(pin, &files, lender.as_ref().map(|(root, _)| root.as_path()), root, ui)?;
        for wheel in &added.wheels {
            // Unpacked and checked: the archive would only take space.
            let _ = fs_err::remove_file(downloads.join(wheel.sha256.to_string()));
        }
        let seconds = started.elapsed().as_secs_f64();
        ui.note(format!("toolchain  {} ready in {seconds:.1} s, {} on disk", pin.name, size(bytes)));
        Ok(())
    }

    /// The files of all wheels, in the order of the pins.
    pub(super) fn bring(
        &self,
        pin: &PinnedToolchain,
        settings: &IndexSettings,
        downloads: &Path,
        ui: &Ui,
        offline: bool,
    ) -> Result<Vec<PathBuf>> {
        let fetcher = Fetcher::new(settings, downloads.to_owned(), self.pace, offline);
        let missing = pin.wheels.iter().fold(0_u64, |sum, wheel| sum.saturating_add(fetcher.missing(wheel)));
        enough_space(downloads, missing)?;
        let wheels = count(pin.wheels.len(), "wheel");
        if !ui.is_interactive() {
            ui.note(format!("toolchain  {}: {wheels}, {}", pin.name, size(pin.size())));
        }
        let bar = ui.bytes("toolchain", pin.size());
        bar.set_message(format!("{}  {wheels}", pin.name));
        let progress = |event| match event {
            Event::Size(bytes) => bar.set_length(bytes),
            Event::Came(bytes) => bar.inc(bytes),
            Event::Lost(bytes) => bar.dec(bytes),
            Event::Again(line) => ui.note(format!("toolchain  {line}")),
        };
        let files: Vec<Mutex<PathBuf>> = pin.wheels.iter().map(|_| Mutex::default()).collect();
        let stop = || fetcher.stop();
        let fetch = |index: usize| {
            let wheel = &pin.wheels[index];
            let path = fetcher.wheel(wheel, &progress)?;
            if !ui.is_interactive() && pin.wheels.len() > 1 {
                ui.note(format!("toolchain  {} {}, {}", wheel.project, wheel.version, size(wheel.size)));
            }
            if let Ok(mut slot) = files[index].lock() {
                *slot = path;
            }
            Ok(())
        };
        let result = in_lanes(pin.wheels.len(), stop, fetch);
        bar.finish_and_clear();
        result?;
        Ok(files.into_iter().map(|slot| slot.into_inner().unwrap_or_default()).collect())
    }

    /// The tree of the same toolchain without added libraries, where it is here and holds nothing else: its files need neither
    /// be fetched nor take room once more.
    fn lender(&self, pin: &PinnedToolchain) -> Option<(PathBuf, Mark)> {
        let root = self.dir.join("toolchains").join(pin.without_libraries.as_ref()?);
        let text = fs_err::read_to_string(root.join(MARK)).ok()?;
        let mark: Mark = serde_json::from_str(&text).ok()?;
        let is_ours = |wheel: &Wheel| pin.wheels.iter().any(|own| own.sha256 == wheel.sha256);
        (mark.schema == 1 && mark.wheels.iter().all(is_ours)).then_some((root, mark))
    }

    /// Makes the tree and gives it its name; answers its bytes.
    fn unpack(
        &self,
        pin: &PinnedToolchain,
        files: &[PathBuf],
        lender: Option<&Path>,
        root: &Path,
        ui: &Ui,
    ) -> Result<u64> {
        let toolchains = self.dir.join("toolchains");
        let temporary = format!(".new-{}-", pin.directory());
        remove_leftovers(&toolchains, &temporary);
        let contents = files.iter().map(|file| Contents::read(file, pin)).collect::<Result<Vec<Contents>>>()?;
        let bytes = contents.iter().fold(0_u64, |sum, contents| sum.saturating_add(contents.bytes));
        enough_space(&toolchains, bytes)?;
        let tree = tempfile::Builder::new().prefix(&temporary).tempdir_in(&toolchains)?;
        let bar = ui.bytes("unpack", bytes);
        bar.set_message(pin.name.clone());
        let work: Vec<Mutex<Option<(&PathBuf, Contents)>>> =
            files.iter().zip(contents).map(|work| Mutex::new(Some(work))).collect();
        let unpack = |index: usize| match work[index].lock().ok().and_then(|mut work| work.take()) {
            Some((file, contents)) => contents.unpack(file, tree.path(), |bytes| bar.inc(bytes)),
            None => Ok(()),
        };
        let result = in_lanes(work.len(), || (), unpack);
        bar.finish_and_clear();
        result?;
        let lent = lender.map(|lender| lend(lender, tree.path())).transpose()?.unwrap_or(0);
        let bytes = bytes.saturating_add(lent);
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
        Ok(bytes)
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
        flush(tree.path())?;
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

/// Gives the files of one tree to another, where they are not; answers their bytes. Nobody writes into either.
fn lend(from: &Path, to: &Path) -> Result<u64> {
    let mut bytes = 0_u64;
    for entry in walk(from)? {
        let (own, given) = (from.join(&entry.path), to.join(&entry.path));
        let EntryKind::File { size, .. } = entry.kind else { continue };
        if entry.path == MARK {
            continue;
        }
        if given.exists() {
            continue;
        }
        if let Some(parent) = given.parent() {
            fs_err::create_dir_all(parent)?;
        }
        if fs_err::hard_link(&own, &given).is_err() {
            fs_err::copy(&own, &given)?;
        }
        bytes = bytes.saturating_add(size);
    }
    Ok(bytes)
}

/// The tree's description when it is whole and of these pins.
fn mark(root: &Path, pin: &PinnedToolchain) -> Option<Mark> {
    let text = fs_err::read_to_string(root.join(MARK)).ok()?;
    let mark: Mark = serde_json::from_str(&text).ok()?;
    (mark.schema == 1 && mark.digest == pin.digest()).then_some(mark)
}

/// Says which toolchain failed and what can be done about the cache.
fn name_cache(error: Error, dir: &Path, pin: &PinnedToolchain, offline: bool) -> Error {
    let mut said = error.to_string();
    if let Some(cause) = std::error::Error::source(&error) {
        said.push_str(&format!(": {cause}"));
    }
    let mut named = Error::toolchain(format!("cannot get toolchain {}", pin.name)).detail(said);
    for detail in error.details() {
        named = named.detail(detail);
    }
    if offline {
        named = named.hint(format!("run `simpack toolchain fetch {}` with a network first", pin.name));
    }
    for hint in error.hints() {
        named = named.hint(hint);
    }
    if error.kind() == ErrorKind::File {
        named = named.hint(format!("the cache is {}; SIMPACK_CACHE_DIR names another", dir.display()));
    }
    named
}
