//! Where glibc looks for a name without a slash, in its order (`_dl_map_object`, `open_path`).

use std::rc::Rc;

use super::search_dir::SearchDir;
use crate::elf::resolve::answer::{Candidate, Outcome, Rule};
use crate::elf::resolve::object::{NeedKind, Object};
use crate::elf::resolve::process::Process;
use crate::elf::resolve::tree::{FileId, Opened};

/// One list of places.
enum Step {
    Directories(Rc<[SearchDir]>, Origin),
    Cache,
}

/// Which rule a list belongs to.
enum Origin {
    Rpath(usize),
    LibraryPath,
    Runpath(usize),
    Default,
}

/// The search for one name, while it runs.
pub(super) struct Search {
    candidates: Vec<Candidate>,
    end: Option<SearchEnd>,
    winner: Option<FileId>,
}

impl Search {
    pub(in crate::elf::resolve) fn new() -> Self {
        Self { candidates: Vec::new(), end: None, winner: None }
    }

    /// Judges one file; answers whether the list it stands in goes on.
    pub(super) fn meet(
        &mut self,
        path: String,
        rule: Rule,
        outcome: Outcome,
        file: Option<(FileId, Rc<Object>)>,
    ) -> bool {
        let id = file.as_ref().map(|(id, _)| *id);
        let decided = self.end.is_some();
        let goes_on = !matches!(outcome, Outcome::Unreadable(_));
        let outcome = match outcome {
            Outcome::Wins if decided && id.is_some() && id == self.winner => Outcome::Same,
            Outcome::Wins if decided => Outcome::Shadowed,
            Outcome::Fatal(reason) if decided => Outcome::ShadowedFatal(reason),
            outcome => outcome,
        };
        match (&outcome, file) {
            (Outcome::Wins, Some(file)) => {
                self.winner = id;
                self.end = Some(SearchEnd::Wins { path: path.clone(), rule: rule.clone(), file });
            }
            (Outcome::Fatal(reason), _) => self.end = Some(SearchEnd::Fatal(format!("{path}: {reason}"))),
            _ => {}
        }
        self.candidates.push(Candidate { path, rule, outcome, id });
        goes_on || decided
    }

    pub(in crate::elf::resolve) fn finish(self) -> Found {
        Found { candidates: self.candidates, end: self.end.unwrap_or(SearchEnd::Missing) }
    }
}

impl Process<'_> {
    /// Looks for a name on behalf of an object. What lies behind the winner is met too.
    pub(in crate::elf::resolve) fn search(&mut self, asker: usize, name: &str, kind: NeedKind) -> Found {
        let mut search = Search::new();
        let preload = kind == NeedKind::Preload && self.environment.secure;
        if name.contains('/') {
            if let Some((outcome, file)) = self.outcome(name) {
                search.meet(name.to_owned(), Rule::Path, outcome, file);
            }
            return search.finish();
        }
        for step in self.steps(asker, preload) {
            match step {
                Step::Directories(list, origin) => self.search_list(&mut search, name, &list, &origin, preload),
                Step::Cache => self.search_cache(&mut search, name, asker),
            }
        }
        search.finish()
    }

    fn steps(&mut self, asker: usize, preload: bool) -> Vec<Step> {
        let mut steps = Vec::new();
        if self.inner(asker).runpath.is_none() {
            let mut chain = self.chain(asker);
            // The program's RPATH serves everybody, unless the program is a library that was opened.
            if !chain.contains(&0) {
                chain.push(0);
            }
            for index in chain {
                if let Some(list) = self.own_path(index, false) {
                    steps.push(Step::Directories(list, Origin::Rpath(index)));
                }
            }
        }
        steps.push(Step::Directories(self.library_path.clone(), Origin::LibraryPath));
        if let Some(list) = self.own_path(asker, true) {
            steps.push(Step::Directories(list, Origin::Runpath(asker)));
        }
        if !preload {
            steps.push(Step::Cache);
        }
        if !self.inner(asker).no_default_directories() {
            steps.push(Step::Directories(self.defaults.clone(), Origin::Default));
        }
        steps
    }

    fn search_list(&mut self, search: &mut Search, name: &str, list: &[SearchDir], origin: &Origin, preload: bool) {
        for directory in list {
            for place in self.existing(&directory.path).iter() {
                let path = format!("{place}{name}");
                let Some((mut outcome, file)) = self.outcome(&path) else { continue };
                if preload && outcome == Outcome::Wins && !self.is_setuid(&path) {
                    outcome = Outcome::NotSetuid;
                }
                let entry = directory.entry.clone();
                let rule = match origin {
                    Origin::Rpath(of) => Rule::Rpath { of: self.path_of(*of).to_owned(), entry },
                    Origin::LibraryPath => Rule::LibraryPath { entry },
                    Origin::Runpath(of) => Rule::Runpath { of: self.path_of(*of).to_owned(), entry },
                    Origin::Default => Rule::Default { entry },
                };
                if !search.meet(path, rule, outcome, file) {
                    return;
                }
            }
        }
    }

    fn search_cache(&mut self, search: &mut Search, name: &str, asker: usize) {
        let loader = self.loader;
        let cached = loader.cache.as_ref().and_then(|cache| cache.lookup(name, &loader.cache_reader()));
        let configured = || {
            let places =
                loader.configured.iter().map(|directory| format!("{}/{name}", directory.trim_end_matches('/')));
            places.into_iter().find(|path| matches!(self.tree.open(path), Opened::File(_)))
        };
        let Some(path) = cached.or_else(configured) else { return };
        let forbidden = self.inner(asker).no_default_directories()
            && loader.directories.iter().any(|directory| {
                path.strip_prefix(directory.trim_end_matches('/')).is_some_and(|rest| rest.starts_with('/'))
            });
        // An entry whose file has gone is no candidate.
        let Some((mut outcome, mut file)) = self.outcome(&path) else { return };
        if forbidden {
            (outcome, file) = (Outcome::NoDefault, None);
        }
        search.meet(path, Rule::Cache, outcome, file);
    }
}

/// What one asking of the search gave.
pub(in crate::elf::resolve) struct Found {
    pub(in crate::elf::resolve) candidates: Vec<Candidate>,
    pub(in crate::elf::resolve) end: SearchEnd,
}

pub(in crate::elf::resolve) enum SearchEnd {
    Wins { path: String, rule: Rule, file: (FileId, Rc<Object>) },
    Missing,
    Fatal(String),
}
