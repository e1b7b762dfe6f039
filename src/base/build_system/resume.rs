//! Build trees that earlier builds left: what has changed since, and what a build system would notice of it by itself.

use std::path::Path;

/// In what the sources of a build differ from those that its tree was built from; paths in the source, sorted.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SourceChanges {
    /// Sources that are new.
    pub added: Vec<String>,
    /// Sources with other bytes.
    pub changed: Vec<String>,
    /// Sources that are gone.
    pub removed: Vec<String>,
}

impl SourceChanges {
    /// How many sources differ.
    pub fn count(&self) -> usize {
        self.added.len() + self.changed.len() + self.removed.len()
    }
}

/// A build tree that an earlier build left. Nothing runs in it, and its sources are still as that build had them.
#[derive(Debug, Clone, Copy)]
pub struct Begun<'a> {
    /// Directory of the step.
    pub work: &'a Path,
    /// The copy of the sources in it.
    pub source: &'a Path,
    /// What will be another one.
    pub changes: &'a SourceChanges,
    /// Whether the earlier build came to its end by itself, failed or not: it was not killed while it wrote.
    pub ended: bool,
}
