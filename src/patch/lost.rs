//! What a change costs on this machine: libraries that the loader found before it and does not find after.

use serde::Serialize;

use super::Subject;
use crate::elf::edit::State;
use crate::elf::resolve::{
    End, Environment, Loader, MemoryTree, Object, Opened, Process, Resolution, Tree, read_object,
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

/// The machine's files, one of them with other texts.
struct Changed<'a> {
    root: &'a Root,
    path: &'a str,
    file: MemoryTree,
}

impl Tree for Changed<'_> {
    fn open(&self, path: &str) -> Opened<'_> {
        if path == self.path { self.file.open(path) } else { Tree::open(self.root, path) }
    }

    fn is_directory(&self, path: &str) -> bool {
        Tree::is_directory(self.root, path)
    }

    fn real(&self, path: &str) -> Option<String> {
        Tree::real(self.root, path)
    }
}

/// Needed libraries that the loader of this machine takes as the file is and not as it will be. A search
/// path that only grew loses nothing.
pub fn lost(subject: &Subject, before: &State, after: &State, loader: &Loader) -> Vec<Lost> {
    let path = |state: &State| state.runpath.clone().or(state.rpath.clone()).unwrap_or_default();
    if path(after).split(':').collect::<Vec<_>>().starts_with(&path(before).split(':').collect::<Vec<_>>()) {
        return Vec::new();
    }
    let root = Root::machine();
    let (Some(file), Ok(object)) = (root.inside(subject.path()), read_object(subject.bytes(), loader.machine)) else {
        // A file for another machine: this one's files say nothing about it.
        return Vec::new();
    };
    let first = |object: Object| -> Option<Resolution> {
        let mut tree = MemoryTree::default();
        tree.object(file.as_str(), object);
        let tree = Changed { root: &root, path: &file, file: tree };
        let environment = Environment { directory: "/".to_owned(), ..Environment::default() };
        Some(Process::first(&tree, loader, &environment, &file).ok()?.finish())
    };
    let changed = Object { rpath: after.rpath.clone(), runpath: after.runpath.clone(), ..object.clone() };
    let (Some(was), Some(is)) = (first(object), first(changed)) else { return Vec::new() };
    let gone = is.links.iter().filter(|link| link.from == 0 && link.end == End::Missing);
    let gone = gone.filter(|link| after.needed.contains(&link.name));
    gone.filter_map(|link| Some(Lost { name: link.name.clone(), was: was.winner(0, &link.name)?.path.clone() }))
        .collect()
}
