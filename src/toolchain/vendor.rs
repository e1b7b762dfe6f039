//! A directory with everything that a lock names, for machines without a network: files under their digests, trees of
//! repositories, and a list of both.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::compose::tree_digest;
use super::dependencies::PackageFile;
use super::settings::IndexSettings;
use super::source::{key, name, sha256};
use super::store::Store;
use crate::error::{Error, Result};
use crate::fs::{self, Digest};
use crate::recipe::Source;
use crate::ui::Ui;

/// The list of what is in a directory.
pub const VENDORED: &str = "vendor.json";
/// Version of the list.
const SCHEMA: u32 = 1;
/// Directory of the files.
const FILES: &str = "files";
/// Directory of the trees of repositories.
const TREES: &str = "trees";
/// The setting that names a directory to take from.
pub(super) const SETTING: &str = "vendor-dir";

/// What `vendor.json` says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Vendored {
    /// Always 1.
    pub schema: u32,
    /// Files, sorted by name; each lies below `files/` under its digest.
    pub files: Vec<VendoredFile>,
    /// Trees of repositories; each lies below `trees/` under its key.
    pub trees: Vec<VendoredTree>,
}

/// One file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct VendoredFile {
    /// What it is called where it comes from.
    pub name: String,
    /// SHA-256.
    pub sha256: Digest,
    /// Bytes.
    pub size: u64,
}

/// The tree of a commit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct VendoredTree {
    /// Repository and commit, without login data.
    pub name: String,
    /// What the cache knows it by.
    pub key: Digest,
    /// Digest over names, modes and contents.
    pub sha256: Digest,
}

impl Vendored {
    /// Reads the list of a directory; none where there is none.
    ///
    /// # Errors
    /// It is damaged or another version's.
    pub fn read(dir: &Path) -> Result<Option<Self>> {
        let path = dir.join(VENDORED);
        if !path.exists() {
            return Ok(None);
        }
        let wrong = |error: serde_json::Error| Error::file(&path, "is damaged").because(error);
        let list: Self = serde_json::from_slice(&fs::read(&path)?).map_err(wrong)?;
        match list.schema {
            SCHEMA => Ok(Some(list)),
            other => Err(Error::file(&path, format!("has version {other}, and this simpack reads version {SCHEMA}"))),
        }
    }

    fn write(&self, dir: &Path) -> Result<()> {
        let text = serde_json::to_vec_pretty(self)
            .map_err(|error| Error::bug("a list does not print as JSON").because(error))?;
        fs::write_atomic(&dir.join(VENDORED), &text)
    }
}

impl Store {
    /// Brings the files of toolchains, of a source and of packages of channels into `to`; what is there already is not
    /// fetched again, and what an earlier list names and nobody needs any more goes.
    ///
    /// # Errors
    /// `to` holds something else, or a file cannot be had.
    pub fn vendor(
        &self,
        tools: &[String],
        source: Option<&Source>,
        packages: &[PackageFile],
        to: &Path,
        (ui, offline): (&Ui, bool),
    ) -> Result<Vendored> {
        let before = Vendored::read(to)?;
        let is_empty = !to.exists() || fs_err::read_dir(to)?.next().is_none();
        if before.is_none() && !is_empty {
            return Err(Error::usage(format!("{} holds something that simpack did not put there", to.display()))
                .hint("choose an empty directory with --output"));
        }
        let into = to.join(FILES);
        fs_err::create_dir_all(&into)?;
        // From the first file on it is known whose directory this is.
        let mut list = Vendored { schema: SCHEMA, files: Vec::new(), trees: Vec::new() };
        if before.is_none() {
            list.write(to)?;
        }
        // Inside of a source tree it is no part of the source.
        fs::mark_as_cache(to)?;
        let mut add = |name: &str, sha256: Digest, path: &Path| -> Result<()> {
            let size = keep(path, sha256, &into)?;
            list.files.push(VendoredFile { name: name.to_owned(), sha256, size });
            Ok(())
        };
        for tool in tools {
            let pin = self.pins().get(tool)?;
            let all_here = pin.wheels.iter().all(|wheel| into.join(wheel.sha256.to_string()).is_file());
            let settings = match &self.settings {
                Some(settings) => settings.clone(),
                None if all_here => IndexSettings::default(),
                None => IndexSettings::discover()?,
            };
            let paths = self.bring(pin, &settings, &into, ui, offline)?;
            for (wheel, path) in pin.wheels.iter().zip(paths) {
                add(&wheel.file, wheel.sha256, &path)?;
            }
        }
        let paths = self.bring_packages(packages, &into, ui, offline)?;
        for (package, path) in packages.iter().zip(paths) {
            add(&package.file, package.sha256, &path)?;
        }
        for source in source.map(Source::fetched).unwrap_or_default() {
            if matches!(source, Source::Git { .. }) {
                list.trees.push(self.vendor_tree(source, to, ui, offline)?);
                continue;
            }
            let sha256 = sha256(source)?;
            let there = into.join(sha256.to_string());
            let path = match there.is_file() {
                true => there,
                false => self.transfer(source, into.clone(), ui, offline)?,
            };
            add(&name(source), sha256, &path)?;
        }
        list.files.sort();
        list.files.dedup();
        list.write(to)?;
        let before = before.unwrap_or_else(|| list.clone());
        for old in before.files.iter().filter(|old| list.files.iter().all(|file| file.sha256 != old.sha256)) {
            let _ = fs_err::remove_file(into.join(old.sha256.to_string()));
        }
        for old in before.trees.iter().filter(|old| list.trees.iter().all(|tree| tree.key != old.key)) {
            let _ = fs_err::remove_dir_all(to.join(TREES).join(old.key.to_string()));
        }
        // Locks of transfers.
        for entry in fs_err::read_dir(&into)?.flatten() {
            if entry.path().extension().is_some_and(|ending| ending == "lock") {
                let _ = fs_err::remove_file(entry.path());
            }
        }
        Ok(list)
    }

    fn vendor_tree(&self, source: &Source, to: &Path, ui: &Ui, offline: bool) -> Result<VendoredTree> {
        let (root, key) = (self.source(source, ui, offline)?, key(source)?);
        let place = to.join(TREES).join(key.to_string());
        if place.exists() {
            fs_err::remove_dir_all(&place)?;
        }
        fs::copy_tree(&root, &place, &BTreeMap::new())?;
        Ok(VendoredTree { name: name(source), key, sha256: tree_digest(&place)? })
    }

    /// Puts vendored files with these digests among the downloads, where they are looked for; each is digested on the way.
    pub(super) fn take_vendored(&self, wanted: impl Iterator<Item = Digest>) -> Result<()> {
        let Some(dir) = &self.vendored else { return Ok(()) };
        let downloads = self.dir.join("downloads");
        for sha256 in wanted {
            let from = dir.join(FILES).join(sha256.to_string());
            if from.is_file() && !downloads.join(sha256.to_string()).is_file() {
                keep(&from, sha256, &downloads)?;
            }
        }
        Ok(())
    }

    /// Copies the vendored tree of a repository's commit into the empty directory `to`; answers whether there is one.
    pub(super) fn take_vendored_tree(&self, wanted: Digest, to: &Path) -> Result<bool> {
        let Some(dir) = &self.vendored else { return Ok(false) };
        let Some(list) = Vendored::read(dir)? else { return Ok(false) };
        let Some(tree) = list.trees.iter().find(|tree| tree.key == wanted) else { return Ok(false) };
        let from = dir.join(TREES).join(wanted.to_string());
        fs::copy_tree(&from, to, &BTreeMap::new())?;
        match tree_digest(to)? == tree.sha256 {
            true => Ok(true),
            false => Err(Error::file(&from, "is not what was put there").hint(AGAIN)),
        }
    }
}

/// What to do about damage.
const AGAIN: &str = "run `simpack vendor` once more on a machine with a network, and copy the directory again";

/// Puts a file under its digest into a directory, unless it lies there; answers its bytes.
fn keep(path: &Path, sha256: Digest, into: &Path) -> Result<u64> {
    let place: PathBuf = into.join(sha256.to_string());
    if path != place {
        fs_err::create_dir_all(into)?;
        let fresh = tempfile::Builder::new().prefix(".new-").tempfile_in(into)?;
        fs_err::copy(path, fresh.path())?;
        if Digest::of_file(fresh.path())? != sha256 {
            return Err(Error::file(path, format!("does not have the digest {sha256}")).hint(AGAIN));
        }
        fs::set_mode(fresh.path(), 0o644)?;
        fresh.persist(&place).map_err(|error| Error::file(&place, "cannot be written").because(error))?;
    }
    Ok(fs_err::metadata(&place)?.len())
}
