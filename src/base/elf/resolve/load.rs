//! A process as its loader builds it: the program, what is preloaded, what they need breadth first,
//! what they open (glibc, `_dl_map_object_deps`; musl, `load_deps`).

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use super::answer::{End, Link, Resolution, Rule};
use super::lookup::musl;
use super::lookup::search::SearchEnd;
use super::lookup::search_dir::{directory_of, search_dir};
use super::object::{NeedKind, Object, Rejection};
use super::process::{LOADER, PROGRAM, Process};
use super::tree::{Opened, Tree};
use super::{Environment, Libc, Loader};

/// A name that an object opens at run time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Open {
    /// Object whose code calls `dlopen`: its RUNPATH counts. The program itself is 0.
    pub from: usize,
    /// What it passes.
    pub name: String,
}

/// Why nothing can be said about a file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// No such file.
    #[error("there is no such file")]
    Absent,
    /// It cannot be read.
    #[error("it cannot be read: {0}")]
    Unreadable(String),
    /// It is no dynamic ELF file of this loader's machine.
    #[error("{0}")]
    NotLoadable(String),
}

/// Who starts: a program by the kernel, or a file handed to the loader as `ldd` does with libraries.
fn is_program(object: &Object) -> bool {
    object.interpreter.is_some() && object.soname.is_none()
}

impl<'a> Process<'a> {
    /// Starts a program, or a library in the place of one, and loads all that it needs.
    ///
    /// # Errors
    /// The file itself cannot be loaded.
    pub fn start(
        tree: &'a dyn Tree,
        loader: &'a Loader,
        environment: &'a Environment,
        file: &str,
    ) -> Result<Self, Refusal> {
        let mut process = Self::begin(tree, loader, environment, file)?;
        let mut start = vec![PROGRAM];
        start.extend(process.preload());
        process.load_needs(start);
        Ok(process)
    }

    /// Starts a file and loads what it needs itself, and not what that needs. These come first, so the
    /// answer is the one of [`Process::start`] as far as it goes.
    ///
    /// # Errors
    /// The file itself cannot be loaded.
    pub fn first(
        tree: &'a dyn Tree,
        loader: &'a Loader,
        environment: &'a Environment,
        file: &str,
    ) -> Result<Self, Refusal> {
        let mut process = Self::begin(tree, loader, environment, file)?;
        process.preload();
        let object = process.inside[PROGRAM].object.clone();
        for (kind, name) in &object.needs {
            process.ask(PROGRAM, name, *kind);
        }
        Ok(process)
    }

    fn begin(
        tree: &'a dyn Tree,
        loader: &'a Loader,
        environment: &'a Environment,
        file: &str,
    ) -> Result<Self, Refusal> {
        let mut process = Self {
            tree,
            loader,
            environment,
            result: Resolution::default(),
            inside: Vec::new(),
            names: HashMap::new(),
            ids: HashMap::new(),
            read: HashMap::new(),
            kept: HashMap::new(),
            directories: HashMap::new(),
            subdirectories: loader.subdirectories(),
            expanded: HashSet::new(),
            library_path: Rc::from([]),
            defaults: Rc::from([]),
            rpaths: HashMap::new(),
            trusted: loader.directories.iter().map(|dir| format!("{}/", dir.trim_end_matches('/'))).collect(),
        };
        let path = process.absolute(file);
        let opened = match tree.open(&path) {
            Opened::File(file) => file,
            Opened::Absent => return Err(Refusal::Absent),
            Opened::Denied => return Err(Refusal::Unreadable("permission denied".to_owned())),
            Opened::Directory => return Err(Refusal::Unreadable("it is a directory".to_owned())),
            Opened::Failed(reason) => return Err(Refusal::Unreadable(reason)),
        };
        let object = match process.object(&opened) {
            Ok(object) if object.dynamic => object,
            Ok(_) => return Err(Refusal::NotLoadable("it is static: the loader never sees it".to_owned())),
            Err(Rejection::Class) => return Err(Refusal::NotLoadable("it is a 32-bit file".to_owned())),
            Err(Rejection::Machine) => {
                return Err(Refusal::NotLoadable("it is for another processor than the loader".to_owned()));
            }
            Err(Rejection::Fatal(reason)) => return Err(Refusal::NotLoadable(reason)),
        };
        let id = opened.id;
        process.keep(opened, &object);
        let program = is_program(&object);
        // The kernel knows the program by its real path, the loader a library by the path it is given.
        let own = if program { tree.real(&path).unwrap_or_else(|| path.clone()) } else { path.clone() };
        let origin = directory_of(&own);
        process.add(path, Some(id), object, None, None, origin, None);
        process.defaults = loader.directories.iter().map(|dir| search_dir(dir.clone(), dir)).collect();
        process.add_loader();
        process.library_path = process.environment_path();
        Ok(process)
    }

    /// Opens a name at run time, and loads all that it needs.
    pub fn open(&mut self, open: &Open) -> usize {
        let found = self.ask(open.from, &open.name, NeedKind::Dlopen);
        let link = self.result.links.len() - 1;
        if let Some(object) = found {
            self.load_needs(vec![object]);
        }
        link
    }

    /// The answer: who came, who asked, and what does not fit.
    pub fn finish(mut self) -> Resolution {
        self.check_versions();
        self.list_paths();
        self.result
    }

    /// Preloads what the environment and `/etc/ld.so.preload` name; the answer is what came.
    fn preload(&mut self) -> Vec<usize> {
        let text = self.environment.preload.clone().unwrap_or_default();
        let secure = self.environment.secure;
        let musl = self.loader.libc == Libc::Musl;
        let split = |c: char| c == ':' || c == ' ' || (musl && c.is_ascii_whitespace());
        let asked = text.split(split).filter(|name| !name.is_empty() && !(secure && (musl || name.contains('/'))));
        let asked: Vec<String> = asked.map(str::to_owned).chain(self.loader.preload.iter().cloned()).collect();
        let mut came = Vec::new();
        for name in asked {
            if let Some(index) = self.ask(PROGRAM, &name, NeedKind::Preload)
                && index > LOADER
                && !came.contains(&index)
            {
                came.push(index);
            }
        }
        came
    }

    /// Loads what the objects need, breadth first.
    fn load_needs(&mut self, start: Vec<usize>) {
        let mut seen: HashSet<usize> = start.iter().copied().collect();
        let mut list = start;
        let mut at = 0;
        while let Some(index) = list.get(at).copied() {
            at += 1;
            let again = !self.expanded.insert(index);
            let object = self.inside[index].object.clone();
            for (kind, name) in &object.needs {
                let found = if again { self.names.get(name).copied() } else { self.ask(index, name, *kind) };
                if let Some(found) = found.filter(|found| seen.insert(*found)) {
                    list.push(found);
                }
            }
        }
    }

    /// One object asks for a name; the index of what answers.
    pub(super) fn ask(&mut self, from: usize, written: &str, kind: NeedKind) -> Option<usize> {
        let mut link =
            Link { from, name: written.to_owned(), kind, end: End::Missing, by: None, candidates: Vec::new() };
        let name = match self.expanded_name(from, written) {
            Ok(name) => name,
            Err(reason) => {
                link.end = End::Fatal { reason };
                self.result.links.push(link);
                return None;
            }
        };
        let own = self.loader.libc == Libc::Musl && musl::is_own(&name, &self.result.objects[LOADER].path);
        let known = if own { Some(LOADER) } else { self.names.get(&name).copied() };
        if let Some(object) = known {
            link.end = End::Found { object, new: false };
            link.by = Some(if object == LOADER { Rule::Loader } else { Rule::Loaded });
        } else if name.starts_with("linux-vdso.so.") {
            // The kernel's own object: in every process, in no file.
            link.end = End::Found { object: LOADER, new: false };
            link.by = Some(Rule::Loader);
        } else {
            let asker = if kind == NeedKind::Dlopen && self.loader.libc == Libc::Musl { PROGRAM } else { from };
            let found = match self.loader.libc {
                Libc::Glibc => self.search(asker, &name, kind),
                Libc::Musl => self.search_musl(asker, &name),
            };
            link.candidates = found.candidates;
            link.end = match found.end {
                SearchEnd::Missing => End::Missing,
                SearchEnd::Fatal(reason) => End::Fatal { reason },
                SearchEnd::Wins { path, rule, file } => {
                    link.by = Some(rule);
                    self.take(from, &name, kind, path, file)
                }
            };
        }
        let object = match link.end {
            End::Found { object, .. } => Some(object),
            _ => None,
        };
        self.result.links.push(link);
        object
    }

    /// glibc replaces tokens in the names of DT_NEEDED, and in every path.
    fn expanded_name(&self, from: usize, name: &str) -> Result<String, String> {
        if !name.contains('$') || self.loader.libc == Libc::Musl {
            return Ok(name.to_owned());
        }
        if self.environment.secure {
            return Err("DST not allowed in SUID/SGID programs".to_owned());
        }
        self.tokens(from)
            .expand(name)
            .filter(|name| !name.is_empty())
            .ok_or_else(|| "empty dynamic string token substitution".to_owned())
    }
}
