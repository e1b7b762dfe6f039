//! One step that writes the sources of a kernel group, and finds those in the source tree that are stale.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::sandbox::toolset::Toolset;
use crate::error::{Error, ErrorKind, Result};
use crate::fs::{self, Digest, EntryKind, Tree};
use crate::plan::Step;
use crate::process::Call;

/// What a generator is called with.
pub(super) struct GeneratorStep<'a> {
    pub command: &'a [String],
    /// What it is to write, below the source root.
    pub sources: &'a [String],
    /// Copy of what it declares to read.
    pub source: &'a Path,
    /// Directory of this step.
    pub work: &'a Path,
}

impl GeneratorStep<'_> {
    pub(super) fn call(&self, tools: &Toolset) -> Result<Call> {
        tools.command(self.command, (self.source, self.work))
    }

    /// The directory with what it has written.
    ///
    /// # Errors
    /// It has not written a source of its group, or another one than the source tree has, by the digests in `there`.
    pub(super) fn finish(&self, step: &Step, there: &BTreeMap<String, Digest>) -> Result<PathBuf> {
        let read: BTreeSet<&str> = step.inputs().map(|(path, _)| path).collect();
        let made = self.work.join("made");
        let (from, to) = (Tree::at(self.source)?, Tree::make(&made)?);
        let (mut stale, mut written) = (Vec::new(), BTreeSet::new());
        for entry in fs::walk(self.source)? {
            let EntryKind::File { .. } = entry.kind else { continue };
            let path = entry.path;
            // What it writes beside, and the source does not have, is its own affair: a cache of its language.
            let Some(digest) = there.get(&path).filter(|_| !read.contains(path.as_str())) else { continue };
            if Digest::of_open(&from.open(&path)?)? != *digest {
                stale.push(path.clone());
            }
            to.copy(&from.open(&path)?, &path, Some(0o644))?;
            written.insert(path);
        }
        if let Some(missing) = self.sources.iter().find(|path| !written.contains(*path)) {
            return Err(Error::build(format!("the generator does not write {missing}, a source of its kernel group"))
                .detail(format!("called in the source directory: {}", self.command.join(" "))));
        }
        let Some(first) = stale.first() else { return Ok(made) };
        let error =
            Error::new(ErrorKind::Stale, format!("{first} is stale: its generator writes something else today"));
        let error = stale.iter().skip(1).fold(error, |error, path| error.detail(format!("{path}, too")));
        Err(error
            .hint(format!("in the source directory, run `{}`, and look at what it changes", self.command.join(" "))))
    }
}
