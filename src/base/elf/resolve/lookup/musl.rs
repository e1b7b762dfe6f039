//! Where musl looks for a name (`ldso/dynlink.c`: `load_library`, `path_open`, `fixup_rpath`).
//!
//! RPATH and RUNPATH are the same there and both inherited; LD_LIBRARY_PATH comes first; there is no
//! cache, and a file for another machine is taken and fails.

use std::rc::Rc;

use super::search::{Found, Search};
use super::search_dir::{SearchDir, search_dir};
use super::tokens::musl_expand;
use crate::elf::resolve::answer::{Outcome, Rule};
use crate::elf::resolve::process::Process;

/// Libraries that are the C library itself, as far as their names go.
const RESERVED: [&str; 7] = ["c", "pthread", "rt", "m", "dl", "util", "xnet"];

/// Whether a name means the C library, which is the loader.
pub(in crate::elf::resolve) fn is_own(name: &str, loader: &str) -> bool {
    let reserved = name
        .strip_prefix("lib")
        .and_then(|rest| rest.split_once('.'))
        .is_some_and(|(stem, _)| RESERVED.contains(&stem));
    reserved || name == loader
}

/// Directories of LD_LIBRARY_PATH, of the path file, or built in.
pub(in crate::elf::resolve) fn split(text: &str) -> Rc<[SearchDir]> {
    let entries = text.split([':', '\n']).filter(|entry| !entry.is_empty());
    entries.map(|entry| search_dir(entry.to_owned(), entry)).collect()
}

/// The search path of an object; `None` when musl ignores it.
pub(super) fn own_path(text: &str, origin: &str, secure: bool) -> Option<Rc<[SearchDir]>> {
    if secure && text.contains('$') {
        return None;
    }
    let expanded = musl_expand(text, origin)?;
    let written: Vec<&str> = text.split([':', '\n']).filter(|entry| !entry.is_empty()).collect();
    let mut found = split(&expanded).to_vec();
    for (directory, entry) in found.iter_mut().zip(written) {
        entry.clone_into(&mut directory.entry);
    }
    Some(found.into())
}

impl Process<'_> {
    pub(in crate::elf::resolve) fn search_musl(&mut self, asker: usize, name: &str) -> Found {
        let mut search = Search::new();
        if name.contains('/') {
            if let Some((outcome, file)) = self.outcome(name) {
                search.meet(name.to_owned(), Rule::Path, hard(outcome), file);
            }
            return search.finish();
        }
        let list = self.library_path.clone();
        self.list_musl(&mut search, name, &list, |entry| Rule::LibraryPath { entry });
        for index in self.chain(asker) {
            let runpath = self.inner(index).runpath.is_some();
            if let Some(list) = self.own_path(index, runpath) {
                let of = self.path_of(index).to_owned();
                self.list_musl(&mut search, name, &list, |entry| match runpath {
                    true => Rule::Runpath { of: of.clone(), entry },
                    false => Rule::Rpath { of: of.clone(), entry },
                });
            }
        }
        let list = self.defaults.clone();
        self.list_musl(&mut search, name, &list, |entry| Rule::Default { entry });
        search.finish()
    }

    fn list_musl(&mut self, search: &mut Search, name: &str, list: &[SearchDir], rule: impl Fn(String) -> Rule) {
        for directory in list {
            let path = format!("{}{name}", directory.path);
            if let Some((outcome, file)) = self.outcome(&path)
                && !search.meet(path, rule(directory.entry.clone()), hard(outcome), file)
            {
                return;
            }
        }
    }
}

/// musl opens a file for another machine like any other, and the process ends.
fn hard(outcome: Outcome) -> Outcome {
    match outcome {
        Outcome::WrongClass => Outcome::Fatal("it is a 32-bit file: Exec format error".to_owned()),
        Outcome::WrongMachine => Outcome::Fatal("it is for another processor".to_owned()),
        outcome => outcome,
    }
}
