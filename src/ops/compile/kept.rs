//! What was compiled, where loaders look for it: a tree for each thing, and a record of what it was made from.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::report::{Item, State, What};
use crate::arch::Version;
use crate::bundle::{Artifact, ArtifactKind};
use crate::error::{Error, Result};
use crate::fs::{self, Digest, EntryKind};
use crate::process::check_interrupted;

/// Version of the records.
const SCHEMA: u32 = 1;
/// How unfinished work is named, which whoever comes next removes.
const PARTIAL: &str = ".partial-";
/// Directory of records in that of a release.
const RECORDS: &str = "records";
/// Most bytes of a record.
const LARGEST: u64 = 16 << 20;

/// The user's directory of what was compiled; whoever has it open is alone in it.
pub(super) struct Kept {
    /// The directory.
    pub root: PathBuf,
}

/// One thing that was compiled.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) struct Record {
    schema: u32,
    /// Digest over all that it was made from.
    pub key: Digest,
    pub package: String,
    pub simulator: String,
    pub version: Version,
    pub what: What,
    /// Target of device code; name of a model.
    pub name: String,
    /// Directory below that of the release, for people.
    pub path: String,
    pub compilers: Vec<String>,
    pub sets: BTreeMap<String, String>,
    pub seconds: f64,
    /// Files below the directory of the release.
    files: Vec<Artifact>,
}

/// What is to be kept.
pub(super) struct New {
    pub key: Digest,
    pub package: String,
    pub simulator: String,
    pub version: Version,
    pub what: What,
    pub name: String,
    /// Where it goes below the directory of the release.
    pub path: String,
    pub compilers: Vec<String>,
    /// Variables that lead programs to it.
    pub sets: BTreeMap<String, String>,
}

impl New {
    /// Directory of its release below the root.
    fn release(&self) -> String {
        release(&self.simulator, self.version)
    }

    /// Name of its record's file. Versions of CUDA share a target's name, so the path tells them apart.
    fn record(&self) -> String {
        format!("{}.json", self.path.replace('/', "-"))
    }
}

/// Directory of a release, in which its own loader looks: `volley-1.0.0`.
fn release(simulator: &str, version: Version) -> String {
    format!("{simulator}-{version}")
}

impl Kept {
    /// Works in the directory, alone and without what killed runs left.
    ///
    /// # Errors
    /// It cannot be made, or `work` fails.
    pub fn with<T>(root: &Path, work: impl FnOnce(&Self) -> Result<T>) -> Result<T> {
        fs_err::create_dir_all(root)?;
        let kept = Self { root: fs_err::canonicalize(root)? };
        fs::with_lock(&kept.root.join("lock"), || {
            for entry in fs_err::read_dir(&kept.root)? {
                let entry = entry?;
                if entry.file_name().to_string_lossy().starts_with(PARTIAL) {
                    fs_err::remove_dir_all(entry.path())?;
                }
            }
            work(&kept)
        })
    }

    /// An empty directory for unfinished work, on the same file system.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn scratch(&self) -> Result<tempfile::TempDir> {
        let made = tempfile::Builder::new().prefix(PARTIAL).tempdir_in(&self.root);
        made.map_err(|error| Error::file(&self.root, "cannot make a directory").because(error))
    }

    /// Where the output of a program that failed goes.
    pub fn log(&self, new: &New) -> PathBuf {
        self.root.join(new.release()).join(RECORDS).join(new.record()).with_extension("log")
    }

    /// Directory that something goes into.
    pub fn place(&self, new: &New) -> PathBuf {
        self.root.join(new.release()).join(&new.path)
    }

    /// What is there already, made from the same, byte for byte.
    ///
    /// # Errors
    /// A file cannot be read.
    pub fn current(&self, new: &New) -> Result<Option<Record>> {
        let file = self.root.join(new.release()).join(RECORDS).join(new.record());
        let Some(record) = read(&file) else { return Ok(None) };
        Ok(if record.key == new.key && self.is_whole(&record)? { Some(record) } else { None })
    }

    fn is_whole(&self, record: &Record) -> Result<bool> {
        let release = self.root.join(release(&record.simulator, record.version));
        for Artifact { path, kind } in &record.files {
            let ArtifactKind::File { sha256, .. } = kind else { return Ok(false) };
            match fs::open(&release.join(path)) {
                Ok(file) if Digest::of_open(&file)? == *sha256 => {}
                _ => return Ok(false),
            }
        }
        Ok(true)
    }

    /// Puts the directories of a finished tree into their places, each in one step, then the record.
    ///
    /// # Errors
    /// Something cannot be written; or the run was interrupted before anything was.
    pub fn keep(&self, new: New, tree: &Path, seconds: f64) -> Result<Record> {
        let release = self.root.join(new.release());
        let mut files = Vec::new();
        for entry in fs::walk(tree)? {
            if let EntryKind::File { size, executable } = entry.kind {
                let sha256 = Digest::of_file(&tree.join(&entry.path))?;
                files.push(Artifact { path: entry.path, kind: ArtifactKind::File { sha256, size, executable } });
            }
        }
        check_interrupted()?;
        let file = release.join(RECORDS).join(new.record());
        match std::fs::remove_file(&file) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(Error::file(&file, "cannot be removed").because(error));
            }
            _ => {}
        }
        // Of a model nothing of before may stay; targets and variants of kernels lie beside each other.
        let dirs = match new.what {
            What::Model => vec![new.path.clone()],
            What::Kernels => leaves(&files),
        };
        for dir in dirs {
            fs::replace_dir(&tree.join(&dir), &release.join(&dir))?;
        }
        let New { key, package, simulator, version, what, name, path, compilers, sets } = new;
        let record = Record {
            schema: SCHEMA,
            key,
            package,
            simulator,
            version,
            what,
            name,
            path,
            compilers,
            sets,
            seconds,
            files,
        };
        let text =
            serde_json::to_vec_pretty(&record).map_err(|error| Error::bug("a record is no JSON").because(error))?;
        fs_err::create_dir_all(release.join(RECORDS))?;
        fs::write_atomic(&file, &text)?;
        Ok(record)
    }

    /// Everything that is there, with whether it is whole.
    ///
    /// # Errors
    /// A directory cannot be read.
    pub fn list(&self) -> Result<Vec<Item>> {
        let mut found = Vec::new();
        for entry in fs::walk(&self.root)? {
            let is_record = |path: &str| path.split('/').nth(1) == Some(RECORDS) && path.ends_with(".json");
            if matches!(entry.kind, EntryKind::File { .. })
                && is_record(&entry.path)
                && let Some(record) = read(&self.root.join(&entry.path))
            {
                let state = if self.is_whole(&record)? { State::Current } else { State::Damaged };
                found.push(self.item(record, state));
            }
        }
        Ok(found)
    }

    /// Removes everything of these simulators; of all without a name.
    ///
    /// # Errors
    /// Something cannot be removed.
    pub fn clean(&self, simulator: Option<&str>) -> Result<Vec<Item>> {
        let mut found = self.list()?;
        found.retain(|item| simulator.is_none_or(|simulator| item.simulator == simulator));
        // Also what nothing was compiled of yet: it holds the logs of what failed.
        for entry in fs_err::read_dir(&self.root)? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let is_asked = |of: &str| name.rsplit_once('-').is_some_and(|(simulator, _)| simulator == of);
            if entry.file_type()?.is_dir() && entry.path().join(RECORDS).is_dir() && simulator.is_none_or(is_asked) {
                fs::remove_gone(&entry.path())?;
            }
        }
        found.iter_mut().for_each(|item| item.state = State::Removed);
        Ok(found)
    }

    /// A record as it is told.
    pub fn item(&self, record: Record, state: State) -> Item {
        let place = self.root.join(release(&record.simulator, record.version)).join(&record.path);
        Item {
            package: record.package,
            simulator: record.simulator,
            version: record.version,
            what: record.what,
            name: record.name,
            path: place.display().to_string(),
            state,
            compilers: record.compilers,
            sets: record.sets,
            seconds: record.seconds,
        }
    }
}

/// A record that this simpack wrote; any other says nothing.
fn read(file: &Path) -> Option<Record> {
    let length = std::fs::symlink_metadata(file).ok().filter(|data| data.is_file())?.len();
    let bytes = (length <= LARGEST).then(|| fs::read(file).ok())??;
    let record: Record = serde_json::from_slice(&bytes).ok()?;
    // It names what is removed with it, and lies in the directory that it names.
    let above = file.parent()?.parent()?.file_name()?.to_str()?;
    (record.schema == SCHEMA && above == release(&record.simulator, record.version)).then_some(record)
}

/// Directories that hold files and lie in no other such directory: each is one thing that is replaced.
fn leaves(files: &[Artifact]) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut dirs: Vec<&str> = files.iter().filter_map(|file| Some(file.path.rsplit_once('/')?.0)).collect();
    dirs.sort_unstable();
    for dir in dirs {
        if !found.iter().any(|above| dir == above || dir.starts_with(&format!("{above}/"))) {
            found.push(dir.to_owned());
        }
    }
    found
}
