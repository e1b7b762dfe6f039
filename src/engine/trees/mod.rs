//! Build trees of host steps: the directories in which build systems work. They are kept in the work directory when a step
//! has ended or failed, or was interrupted, and the next build of the same configuration goes on in them, so that what has
//! not changed is not compiled again.
//!
//! In the work directory:
//! - `tree-abcd.../`: one tree, named by its configuration, so that the absolute paths in it stay right;
//! - `tree-abcd....json`: what lies in it and how it was left. Steps cannot write this file;
//! - `tree-abcd....lock`: held by the build that works in it; another one at the same time takes an empty directory;
//! - `incremental/`: what was made in trees that were not empty. Nobody has proven that an empty one gives the same bytes,
//!   so this never comes into the cache, and a clean build says whether it was right.

mod record;
mod room;
mod sources;
mod tree;

use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

pub use self::room::{TreeStat, trees_limit};
pub(in crate::engine) use self::sources::Declared;
pub(in crate::engine) use self::tree::{AGAINST, Beginning, BuildTree, Left, SOURCE};
use super::cache::{Cache, CacheEntry, Made};
use super::step::sandbox::isolation::StepIsolation;
use crate::error::Result;
use crate::fs::Digest;
use crate::plan::Step;

/// Beginning of the names of trees.
const TREE: &str = "tree-";
/// Hex digits of a configuration in the name of its tree. It is short because sockets lie in trees, and their paths may
/// have 107 bytes; the whole digest stands in the record.
const DIGITS: usize = 12;
/// Directory of what was made incrementally.
const INCREMENTAL: &str = "incremental";

/// The trees of a work directory.
#[derive(Debug)]
pub(in crate::engine) struct BuildTrees {
    /// The work directory.
    dir: PathBuf,
    /// What was made incrementally.
    made: Cache,
    /// Whether steps may go on in trees; without, none is opened.
    is_used: bool,
}

impl BuildTrees {
    /// Those of the directory `work`, for steps that are isolated like this.
    ///
    /// # Errors
    /// It is not there.
    pub(in crate::engine) fn at(work: &Path, isolation: &StepIsolation, is_used: bool) -> Result<Self> {
        let dir = fs_err::canonicalize(work)?;
        let made = Cache::at(dir.join(INCREMENTAL)).requiring(isolation.kind());
        Ok(Self { made, dir, is_used })
    }

    /// The tree of a step with this configuration; none when another build works in it, or trees are not used.
    ///
    /// # Errors
    /// It cannot be made.
    pub(in crate::engine) fn open(&self, step: &Step, configuration: Digest) -> Result<Option<BuildTree>> {
        if !self.is_used {
            return Ok(None);
        }
        let name = self.dir.join(format!("{TREE}{}", configuration.short(DIGITS)));
        let lock = lock(&name)?;
        lock.map(|lock| BuildTree::open(name, lock, step, configuration)).transpose()
    }

    /// What was made incrementally under a key, where such a thing may be used.
    ///
    /// # Errors
    /// A damaged entry cannot be removed.
    pub(in crate::engine) fn get(&self, key: Digest) -> Result<Option<CacheEntry>> {
        if self.is_used { self.made.get(key) } else { Ok(None) }
    }

    /// Keeps what was made in a tree, in the place of what was made there before.
    ///
    /// # Errors
    /// The files cannot be read or written.
    pub(in crate::engine) fn put(
        &self,
        tree: &mut BuildTree,
        key: Digest,
        made: &Made,
        files: &Path,
    ) -> Result<CacheEntry> {
        if let Some(before) = tree.made(key)?.filter(|before| *before != key) {
            self.made.forget(before)?;
        }
        self.made.put(key, made, files)
    }

    /// Keeps what was made elsewhere of what was made in trees.
    ///
    /// # Errors
    /// The files cannot be read or written.
    pub(in crate::engine) fn keep(&self, key: Digest, made: &Made, files: &Path) -> Result<CacheEntry> {
        self.made.put(key, made, files)
    }

    /// Compares what a clean build made with what was made incrementally under the same key, which is then not needed any
    /// more. None where there is no such thing; otherwise the paths that differ.
    ///
    /// # Errors
    /// The incremental one cannot be read or removed.
    pub(in crate::engine) fn proven_by(&self, key: Digest, clean: &CacheEntry) -> Result<Option<Vec<String>>> {
        let Some(incremental) = self.made.get(key)? else { return Ok(None) };
        let differing = clean.differing(&incremental);
        self.made.forget(key)?;
        Ok(Some(differing))
    }
}

/// What earlier builds with the work directory `work` made incrementally, to look at it.
pub(crate) fn made_incrementally(work: &Path) -> Cache {
    Cache::at(work.join(INCREMENTAL))
}

/// The lock of the tree called `name`; none while another process holds it.
fn lock(name: &Path) -> Result<Option<File>> {
    let path = name.with_extension("lock");
    let file = fs_err::OpenOptions::new().create(true).truncate(false).write(true).open(&path)?.into_parts().0;
    if file.try_lock().is_err() {
        return Ok(None);
    }
    // Whoever removes a tree removes its lock, too, and may just have done so.
    let (own, there) = (file.metadata()?, std::fs::metadata(&path));
    Ok(there.is_ok_and(|there| (there.dev(), there.ino()) == (own.dev(), own.ino())).then_some(file))
}
