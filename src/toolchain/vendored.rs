//! A directory with everything that a lock names, for machines without a network: files under their digests, trees of
//! repositories, and a list of both.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::store::Store;
use crate::error::{Error, Result};
use crate::fs::{self, Digest};
use crate::toolchain::sources::digest::tree_digest;

/// The list of what is in a directory.
pub const VENDORED: &str = "vendor.json";
/// Version of the list.
pub(super) const SCHEMA: u32 = 1;
/// Directory of the files.
pub(super) const FILES: &str = "files";
/// Directory of the trees of repositories.
pub(super) const TREES: &str = "trees";
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

    pub(super) fn write(&self, dir: &Path) -> Result<()> {
        let text = serde_json::to_vec_pretty(self)
            .map_err(|error| Error::bug("a list does not print as JSON").because(error))?;
        fs::write_atomic(&dir.join(VENDORED), &text)
    }
}

impl Store {
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
pub(super) const AGAIN: &str =
    "run `simpack vendor` once more on a machine with a network, and copy the directory again";

/// Puts a file under its digest into a directory, unless it lies there; answers its bytes.
pub(super) fn keep(path: &Path, sha256: Digest, into: &Path) -> Result<u64> {
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
