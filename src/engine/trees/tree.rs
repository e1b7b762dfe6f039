//! One build tree, held by the step that works in it.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

pub(in crate::engine) use super::record::Left;
use super::record::{Record, boot};
use super::sources::Declared;
use crate::build_system::{Begun, BuildSystem};
use crate::error::{Error, Result};
use crate::fs::{Digest, Tree};
use crate::plan::Step;

/// A tree, locked while the value lives.
#[derive(Debug)]
pub(in crate::engine) struct BuildTree {
    /// Its directory, beside which its record and its lock lie.
    name: PathBuf,
    record: Record,
    /// Whether what it holds may be gone on with.
    is_begun: bool,
    _lock: File,
}

/// The copy of the sources in the directory of a step.
pub(in crate::engine) const SOURCE: &str = "source";
/// What a build is built against, in the directory of a step.
pub(in crate::engine) const AGAINST: &str = "against";
/// What stays of a tree for the next build; all else is made anew.
const STAYS: [&str; 3] = [SOURCE, "build", AGAINST];

/// How a step begins in a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::engine) enum Beginning {
    /// In an empty one; why an earlier build's was emptied.
    Clean(Option<&'static str>),
    /// In what an earlier build left, with so many sources that differ.
    Incremental(usize),
}

impl BuildTree {
    pub(super) fn open(name: PathBuf, lock: File, step: &Step, configuration: Digest) -> Result<Self> {
        let known = Record::read(&name).filter(|record| record.configuration == configuration);
        let is_begun = known.is_some() && name.is_dir();
        fs_err::create_dir_all(&name)?;
        let record = known.unwrap_or_else(|| Record::new(&step.id, configuration));
        Ok(Self { name, record, is_begun, _lock: lock })
    }

    /// Its directory.
    pub(in crate::engine) fn path(&self) -> &Path {
        &self.name
    }

    /// Puts the sources into it: up to date, where the build system can go on with what lies there, else into an empty
    /// directory. Afterwards it counts as running.
    ///
    /// # Errors
    /// A source is not the one that the plan was made of, or the directory cannot be written.
    pub(in crate::engine) fn begin(&mut self, sources: &Declared<'_>, system: &dyn BuildSystem) -> Result<Beginning> {
        let beginning = match self.go_on(sources, system) {
            Ok(changed) => Beginning::Incremental(changed),
            Err(why) => {
                empty(&self.name, &[])?;
                self.record.left = Left::Running;
                self.record.sources.clear();
                self.record.write(&self.name)?;
                sources.copy(&self.name.join(SOURCE))?;
                Beginning::Clean(why)
            }
        };
        self.record.sources = sources.digests();
        self.left(Left::Running)?;
        Ok(beginning)
    }

    /// Answers how many sources differ; or that the tree must be emptied, and why if there is anything in it.
    fn go_on(&self, sources: &Declared<'_>, system: &dyn BuildSystem) -> Result<usize, Option<&'static str>> {
        if !self.is_begun || self.record.sources.is_empty() {
            return Err(None);
        }
        if !self.record.is_whole() {
            return Err(Some("the machine was started anew while it was built"));
        }
        if newest(&self.name).is_none_or(|newest| newest > SystemTime::now()) {
            // What is written now would look older than what was made of it before.
            return Err(Some("it holds files of the future"));
        }
        let changes = sources.changes(&self.record.sources);
        let source = self.name.join(SOURCE);
        let ended = self.record.left == Left::Ended;
        let begun = Begun { work: &self.name, source: &source, changes: &changes, ended };
        match system.resume(&begun) {
            Ok(true) => {}
            Ok(false) if ended => return Err(Some("its build system would not notice all that has changed")),
            Ok(false) => return Err(Some("its build system was killed, and may have left half of a file")),
            Err(_) => return Err(Some("its files are not as the build left them")),
        }
        let stays = empty(&self.name, &STAYS);
        let updated = stays.and_then(|()| sources.update(&source, &self.record.sources, !system.builds_in_source()));
        updated.map(|()| changes.count()).map_err(|_| Some("its sources cannot be brought up to date"))
    }

    /// Notes how it is left.
    ///
    /// # Errors
    /// The record cannot be written.
    pub(in crate::engine) fn left(&mut self, left: Left) -> Result<()> {
        self.record.left = left;
        self.record.boot = boot();
        self.record.write(&self.name)
    }

    /// Notes the key of what is made in it incrementally; answers the one before.
    pub(super) fn made(&mut self, key: Digest) -> Result<Option<Digest>> {
        let before = self.record.made.replace(key);
        self.record.write(&self.name)?;
        Ok(before)
    }

    /// Removes what no later build needs of it.
    ///
    /// # Errors
    /// Something cannot be removed.
    pub(in crate::engine) fn tidy(&self) -> Result<()> {
        empty(&self.name, &STAYS)
    }

    /// Removes all that is in it, for the room that it takes.
    ///
    /// # Errors
    /// Something cannot be removed.
    pub(in crate::engine) fn discard(&mut self) -> Result<()> {
        self.record.sources.clear();
        self.record.write(&self.name)?;
        empty(&self.name, &[])
    }
}

/// Removes everything in a directory but these names. No link is followed.
fn empty(dir: &Path, stays: &[&str]) -> Result<()> {
    for entry in fs_err::read_dir(dir)? {
        let entry = entry?;
        if entry.file_name().to_str().is_some_and(|name| stays.contains(&name)) {
            continue;
        }
        let removed = match entry.file_type()?.is_dir() {
            true => std::fs::remove_dir_all(entry.path()),
            false => std::fs::remove_file(entry.path()),
        };
        removed.map_err(|error| Error::file(entry.path(), "what a build left cannot be removed").because(error))?;
    }
    // Nothing but directories may stand where a build goes on.
    let tree = Tree::at(dir)?;
    stays.iter().filter(|name| dir.join(name).symlink_metadata().is_ok()).try_for_each(|name| tree.directory(name))
}

/// The time of the file that was written last; none where something cannot be looked at.
fn newest(dir: &Path) -> Option<SystemTime> {
    let entries = walkdir::WalkDir::new(dir).into_iter();
    let times = entries.map(|entry| entry.ok()?.metadata().ok()?.modified().ok());
    times.collect::<Option<Vec<_>>>()?.into_iter().max()
}
