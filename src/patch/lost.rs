//! What a change costs on this machine: libraries that the loader found before it and does not find after.

use serde::Serialize;

use super::Subject;
use crate::elf::edit::State;
use crate::elf::resolve::{
    End, Environment, Loader, MemoryTree, Object, Opened, Process, Remembered, Resolution, Tree, read_object,
};
use crate::fs::Root;

/// A library that a file loses.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Lost {
    /// Name in `DT_NEEDED`.
    pub name: String,
    /// The file that was taken.
    pub was: String,
}

/// This machine as its loader sees it, for many files one after the other.
pub struct Machine<'a> {
    loader: &'a Loader,
    files: Remembered<Root>,
}

/// The machine's files, one of them with other texts.
struct Changed<'a> {
    files: &'a Remembered<Root>,
    path: &'a str,
    file: MemoryTree,
}

impl Tree for Changed<'_> {
    fn open(&self, path: &str) -> Opened<'_> {
        if path == self.path { self.file.open(path) } else { self.files.open(path) }
    }

    fn is_directory(&self, path: &str) -> bool {
        self.files.is_directory(path)
    }

    fn real(&self, path: &str) -> Option<String> {
        self.files.real(path)
    }
}

impl<'a> Machine<'a> {
    /// Directories that stay open.
    pub const DIRECTORIES: usize = 16;

    /// The machine's own files, which `loader` searches.
    pub fn new(loader: &'a Loader) -> Self {
        Self { loader, files: Remembered::new(Root::machine().keeping(Self::DIRECTORIES), loader.machine) }
    }

    /// Needed libraries that the loader takes as the file is and not as it will be. A search path that only
    /// grew loses nothing.
    pub fn lost(&self, subject: &Subject, before: &State, after: &State) -> Vec<Lost> {
        let path = |state: &State| state.runpath.clone().or(state.rpath.clone()).unwrap_or_default();
        if path(after).split(':').collect::<Vec<_>>().starts_with(&path(before).split(':').collect::<Vec<_>>()) {
            return Vec::new();
        }
        let file = self.files.tree().inside(subject.path());
        let (Some(file), Ok(object)) = (file, read_object(subject.bytes(), self.loader.machine)) else {
            // A file for another machine: this one's files say nothing about it.
            return Vec::new();
        };
        let changed = Object { rpath: after.rpath.clone(), runpath: after.runpath.clone(), ..object.clone() };
        let Some(is) = self.first(&file, changed) else { return Vec::new() };
        let gone = is.links.iter().filter(|link| link.from == 0 && link.end == End::Missing);
        let mut gone = gone.filter(|link| after.needed.contains(&link.name)).peekable();
        if gone.peek().is_none() {
            return Vec::new();
        }
        let Some(was) = self.first(&file, object) else { return Vec::new() };
        gone.filter_map(|link| Some(Lost { name: link.name.clone(), was: was.winner(0, &link.name)?.path.clone() }))
            .collect()
    }

    /// What the loader takes of the libraries that the file at `path` names, were it `object`.
    fn first(&self, path: &str, object: Object) -> Option<Resolution> {
        let mut file = MemoryTree::default();
        file.object(path, object);
        let tree = Changed { files: &self.files, path, file };
        let environment = Environment { directory: "/".to_owned(), ..Environment::default() };
        Some(Process::first(&tree, self.loader, &environment, path).ok()?.finish())
    }
}
