//! A tree that was written to be changed, and the file in it that says so.

use std::io::Read;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::fs::{Digest, Tree};
use crate::toolchain::Snapshot;

/// The file that says what a tree was made of.
const MARK: &str = ".simpack-source.json";
/// A longer one is none of ours.
const LONGEST_MARK: u64 = 1 << 16;
/// Whoever changes a tree may keep a repository in it.
const REPOSITORY: &str = ".git";

/// What the mark holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Mark {
    schema: u32,
    /// Directory of the source in the recipe's tree.
    pub into: String,
    /// Digests over what the recipe made of the source when the tree was written, and with patches made of it since.
    pub trees: Vec<Digest>,
}

impl Mark {
    /// That of a tree that was just made.
    pub(super) fn new(into: &str, tree: Digest) -> Self {
        Self { schema: 1, into: into.to_owned(), trees: vec![tree] }
    }

    /// That of a tree; none where there is none.
    ///
    /// # Errors
    /// It cannot be read, or says something else.
    pub(super) fn of(tree: &Tree, dir: &Path) -> Result<Option<Self>> {
        let Ok(file) = tree.open(MARK) else { return Ok(None) };
        let mut bytes = Vec::new();
        file.take(LONGEST_MARK).read_to_end(&mut bytes)?;
        match serde_json::from_slice::<Self>(&bytes) {
            Ok(mark) if mark.schema == 1 => Ok(Some(mark)),
            Ok(_) => Err(Error::file(dir.join(MARK), "is of another simpack")),
            Err(error) => Err(Error::file(dir.join(MARK), "was not written by simpack").because(error)),
        }
    }

    /// Writes it into a tree.
    ///
    /// # Errors
    /// It cannot be written.
    pub(super) fn write(&self, tree: &Tree) -> Result<()> {
        let text = serde_json::to_vec(self).map_err(|error| Error::bug("a mark is no JSON").because(error))?;
        tree.write(MARK, &text)
    }
}

/// What in the tree at `dir` is no part of the source: the mark, and the repository of whoever changes it.
pub(super) fn skipped(dir: &Path) -> &'static [&'static str] {
    match has_repository(dir) {
        true => &[MARK, REPOSITORY],
        false => &[MARK],
    }
}

/// Whether somebody keeps a repository in the tree at `dir`; archives may have a file of that name.
fn has_repository(dir: &Path) -> bool {
    fs_err::symlink_metadata(dir.join(REPOSITORY)).is_ok_and(|data| data.is_dir())
}

/// Whether there is a directory at `dir` that a tree takes the place of: one of ours in which nothing was changed.
///
/// # Errors
/// Something else is there, or changes would be lost.
pub(super) fn is_replaced(dir: &Path) -> Result<bool> {
    let shown = dir.display();
    match fs_err::symlink_metadata(dir) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(error.into()),
        Ok(data) if !data.is_dir() => return Err(Error::usage(format!("{shown} is no directory"))),
        Ok(_) => {}
    }
    if fs_err::read_dir(dir)?.next().is_none() {
        return Ok(true);
    }
    let Some(mark) = Mark::of(&Tree::at(dir)?, dir)? else {
        return Err(Error::usage(format!("{shown} holds something else")).hint("name a new directory"));
    };
    let now = Snapshot::of(dir, skipped(dir))?.digest();
    match mark.trees.contains(&now) && !has_repository(dir) {
        true => Ok(true),
        false => Err(Error::usage(format!("{shown} was changed since it was written, and the changes would be lost"))
            .hint(format!("`--from {shown} --name NAME.patch` makes a patch of them"))
            .hint("or remove it, or name another directory")),
    }
}
