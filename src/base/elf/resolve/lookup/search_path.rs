//! Search paths: which directories an object, the environment and the loader name, with tokens replaced.

use std::collections::HashSet;
use std::rc::Rc;

use super::musl;
use super::search_dir::{SearchDir, search_dir};
use super::tokens::{Tokens, normal};
use crate::elf::resolve::Libc;
use crate::elf::resolve::answer::PathEntry;
use crate::elf::resolve::process::{PROGRAM, Process};

impl Process<'_> {
    pub(in crate::elf::resolve) fn environment_path(&mut self) -> Rc<[SearchDir]> {
        let text = self.environment.library_path.clone().filter(|text| !text.is_empty() && !self.environment.secure);
        let Some(text) = text else { return Rc::from([]) };
        match self.loader.libc {
            Libc::Glibc => self.split(&text, &[':', ';'], PROGRAM),
            Libc::Musl => musl::split(&text),
        }
    }

    pub(in crate::elf::resolve) fn tokens(&self, index: usize) -> Tokens<'_> {
        let program = index == PROGRAM;
        Tokens {
            origin: &self.result.objects[index].origin,
            lib: &self.loader.lib,
            platform: &self.loader.cpu.platform,
            secure: self.environment.secure,
            trusted: program.then_some(&self.trusted),
        }
    }

    /// Directories of a list, each once, with tokens replaced for an object (`fillin_rpath`).
    fn split(&self, text: &str, separators: &[char], index: usize) -> Rc<[SearchDir]> {
        let mut found: Vec<SearchDir> = Vec::new();
        for entry in text.split(separators) {
            let Some(directory) = self.tokens(index).expand(entry) else { continue };
            // An empty entry is the current directory; one that becomes empty is dropped.
            if directory.is_empty() && !entry.is_empty() {
                continue;
            }
            let directory = search_dir(entry.to_owned(), &directory);
            if !found.iter().any(|known| known.path == directory.path) {
                found.push(directory);
            }
        }
        found.into()
    }

    /// RPATH (`false`) or RUNPATH (`true`) of an object; `None` when it has none or an empty one.
    pub(super) fn own_path(&mut self, index: usize, runpath: bool) -> Option<Rc<[SearchDir]>> {
        if let Some(known) = self.rpaths.get(&(index, runpath)) {
            return known.clone();
        }
        let object = &self.inside[index].object;
        let text =
            if runpath { object.runpath.clone() } else { object.rpath.clone().filter(|_| object.runpath.is_none()) };
        let text = text.filter(|text| !text.is_empty());
        let list = text.and_then(|text| match self.loader.libc {
            Libc::Glibc => Some(self.split(&text, &[':'], index)),
            Libc::Musl => {
                musl::own_path(&text, &self.result.objects[index].origin, index == PROGRAM && self.environment.secure)
            }
        });
        self.rpaths.insert((index, runpath), list.clone());
        list
    }

    /// The object, then the one that brought it, and so on.
    pub(in crate::elf::resolve) fn chain(&self, index: usize) -> Vec<usize> {
        let mut found = vec![index];
        while let Some(next) = found.last().and_then(|last| self.inside[*last].chain) {
            found.push(next);
        }
        found
    }

    /// Which of a directory's subdirectories exist, itself at the end; none if it does not.
    pub(super) fn existing(&mut self, directory: &str) -> Rc<[String]> {
        if let Some(known) = self.directories.get(directory) {
            return known.clone();
        }
        let there = |path: &str| self.tree.is_directory(&self.absolute(if path.is_empty() { "." } else { path }));
        let mut found = Vec::new();
        if there(directory) {
            let groups: HashSet<&str> = self.subdirectories.iter().filter_map(|sub| sub.split('/').next()).collect();
            let groups: HashSet<&str> =
                groups.into_iter().filter(|group| there(&format!("{directory}{group}"))).collect();
            let subdirectories = self.subdirectories.iter();
            found.extend(
                subdirectories
                    .filter(|sub| sub.split('/').next().is_some_and(|group| groups.contains(group)))
                    .map(|sub| format!("{directory}{sub}"))
                    .filter(|path| there(path)),
            );
            found.push(directory.to_owned());
        }
        let found: Rc<[String]> = found.into();
        self.directories.insert(directory.to_owned(), found.clone());
        found
    }

    /// Entries of every search path that an object carries, and of LD_LIBRARY_PATH.
    pub(in crate::elf::resolve) fn list_paths(&mut self) {
        let mut lists: Vec<(String, &'static str, Rc<[SearchDir]>)> =
            vec![("LD_LIBRARY_PATH".to_owned(), "LD_LIBRARY_PATH", self.library_path.clone())];
        for index in 0..self.result.objects.len() {
            for (runpath, tag) in [(false, "RPATH"), (true, "RUNPATH")] {
                if let Some(list) = self.own_path(index, runpath) {
                    lists.push((self.path_of(index).to_owned(), tag, list));
                }
            }
        }
        for (of, tag, list) in lists {
            for directory in list.iter() {
                let exists = !self.existing(&directory.path).is_empty();
                self.result.paths.push(PathEntry {
                    of: of.clone(),
                    tag,
                    entry: directory.entry.clone(),
                    directory: normal(&self.absolute(&directory.path)),
                    exists,
                    relative: !directory.path.starts_with('/'),
                });
            }
        }
    }
}
