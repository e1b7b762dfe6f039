//! A process as its loader builds it: the program, what is preloaded, what they need breadth first,
//! what they open (glibc, `_dl_map_object_deps`; musl, `load_deps`).

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use super::answer::{Candidate, End, Link, LoadedObject, MissingVersion, Outcome, PathEntry, Resolution, Rule};
use super::object::{NeedKind, Object, Rejection, read_object};
use super::tokens::{Tokens, normal};
use super::tree::{FileId, OpenFile, Opened, Tree};
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

/// A directory of a search list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SearchDir {
    /// As written.
    pub(super) entry: String,
    /// With tokens replaced and one slash at its end; empty for the current directory.
    pub(super) path: String,
}

/// A file that a loader takes.
pub(super) type Taken = (FileId, Rc<Object>);

/// What one asking of the search gave.
pub(super) struct Found {
    pub(super) candidates: Vec<Candidate>,
    pub(super) end: SearchEnd,
}

pub(super) enum SearchEnd {
    Wins { path: String, rule: Rule, file: (FileId, Rc<Object>) },
    Missing,
    Fatal(String),
}

struct Inside {
    object: Rc<Object>,
    /// The chain along which RPATH is inherited: not the index that brought it when that was `dlopen`.
    chain: Option<usize>,
}

/// The state of a loader while it works.
pub struct Process<'a> {
    pub(super) tree: &'a dyn Tree,
    pub(super) loader: &'a Loader,
    pub(super) environment: &'a Environment,
    result: Resolution,
    inside: Vec<Inside>,
    names: HashMap<String, usize>,
    ids: HashMap<FileId, usize>,
    read: HashMap<FileId, Result<Rc<Object>, Rejection>>,
    directories: HashMap<String, Rc<[String]>>,
    subdirectories: Vec<String>,
    expanded: HashSet<usize>,
    pub(super) library_path: Rc<[SearchDir]>,
    pub(super) defaults: Rc<[SearchDir]>,
    rpaths: HashMap<(usize, bool), Option<Rc<[SearchDir]>>>,
    /// Default directories, each with a slash at its end.
    trusted: Vec<String>,
}

/// Index of the program among the objects.
const PROGRAM: usize = 0;

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
        let mut process = Self {
            tree,
            loader,
            environment,
            result: Resolution::default(),
            inside: Vec::new(),
            names: HashMap::new(),
            ids: HashMap::new(),
            read: HashMap::new(),
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
        drop(opened);
        let program = is_program(&object);
        // The kernel knows the program by its real path, the loader a library by the path it is given.
        let own = if program { tree.real(&path).unwrap_or_else(|| path.clone()) } else { path.clone() };
        let origin = directory_of(&own);
        process.add(path, Some(id), object, None, None, origin, None);
        process.defaults = loader.directories.iter().map(|dir| search_dir(dir.clone(), dir)).collect();
        process.add_loader();
        process.library_path = process.environment_path();
        let mut start = vec![PROGRAM];
        start.extend(process.preload());
        process.load_needs(start);
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

    /// Objects so far, in the order of loading.
    pub fn objects(&self) -> &[LoadedObject] {
        &self.result.objects
    }

    /// Bytes of an object.
    pub fn content(&self, object: usize) -> Option<Box<dyn AsRef<[u8]> + '_>> {
        match self.tree.open(&self.absolute(&self.result.objects.get(object)?.path)) {
            Opened::File(file) => Some(file.content),
            _ => None,
        }
    }

    /// The answer: who came, who asked, and what does not fit.
    pub fn finish(mut self) -> Resolution {
        self.check_versions();
        self.list_paths();
        self.result
    }

    /// The path as the current directory makes it.
    pub(super) fn absolute(&self, path: &str) -> String {
        if path.starts_with('/') {
            return path.to_owned();
        }
        format!("{}/{path}", self.environment.directory.trim_end_matches('/'))
    }

    /// A file as an object; a file is read once, under whatever name it comes.
    pub(super) fn object(&mut self, file: &OpenFile<'_>) -> Result<Rc<Object>, Rejection> {
        let read = || read_object((*file.content).as_ref(), self.loader.machine).map(Rc::new);
        self.read.entry(file.id).or_insert_with(read).clone()
    }

    #[expect(clippy::too_many_arguments, reason = "the fields of an object, each named at its call")]
    fn add(
        &mut self,
        path: String,
        id: Option<FileId>,
        object: Rc<Object>,
        by: Option<usize>,
        kind: Option<NeedKind>,
        origin: String,
        name: Option<&str>,
    ) -> usize {
        let index = self.result.objects.len();
        if let Some(id) = id {
            self.ids.entry(id).or_insert(index);
        }
        self.result.objects.push(LoadedObject {
            soname: object.soname.clone(),
            names: Vec::new(),
            by,
            kind,
            rpath: object.rpath.clone().filter(|_| object.runpath.is_none()),
            runpath: object.runpath.clone(),
            origin,
            calls_dlopen: object.calls_dlopen,
            id,
            path: path.clone(),
        });
        // glibc forgets the caller of `dlopen` when it has found the file (`__RTLD_CALLMAP`); musl
        // takes the program as the asker of every `dlopen`.
        let chain = match (kind, self.loader.libc) {
            (Some(NeedKind::Dlopen), Libc::Glibc) => None,
            (Some(NeedKind::Dlopen), Libc::Musl) => Some(PROGRAM),
            _ => by,
        };
        let soname = object.soname.clone();
        self.inside.push(Inside { object, chain });
        match self.loader.libc {
            Libc::Glibc => {
                let own = (index != PROGRAM || soname.is_some()).then_some(path);
                for name in name.map(str::to_owned).into_iter().chain(own).chain(soname) {
                    self.know(index, name);
                }
            }
            // musl knows a library by the name under which a search found it, and by nothing else.
            Libc::Musl => {
                if let Some(name) = name.filter(|name| !name.contains('/')) {
                    self.know(index, name.to_owned());
                }
            }
        }
        index
    }

    /// Lets an object answer to a name, unless another does.
    fn know(&mut self, index: usize, name: String) {
        if *self.names.entry(name.clone()).or_insert(index) == index
            && !self.result.objects[index].names.contains(&name)
        {
            self.result.objects[index].names.push(name);
        }
    }

    /// The loader is in every process, known by its path and SONAME, without an inode of its own.
    fn add_loader(&mut self) {
        let path = self.inside[PROGRAM].object.interpreter.clone().unwrap_or_else(|| self.loader.path.clone());
        let object = match self.tree.open(&self.absolute(&path)) {
            Opened::File(file) => self.object(&file).ok(),
            _ => None,
        };
        let soname = object.and_then(|object| object.soname.clone());
        let origin = directory_of(&path);
        let plain = Rc::new(Object { soname, ..Object::default() });
        let index = self.add(path.clone(), None, plain, None, None, origin, Some(&path));
        self.know(index, super::answer::file_name(&path).to_owned());
    }

    /// Index of the loader.
    fn loader_index() -> usize {
        1
    }

    fn environment_path(&mut self) -> Rc<[SearchDir]> {
        let text = self.environment.library_path.clone().filter(|text| !text.is_empty() && !self.environment.secure);
        let Some(text) = text else { return Rc::from([]) };
        match self.loader.libc {
            Libc::Glibc => self.split(&text, &[':', ';'], PROGRAM),
            Libc::Musl => super::musl::split(&text),
        }
    }

    fn tokens(&self, index: usize) -> Tokens<'_> {
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
            Libc::Musl => super::musl::own_path(
                &text,
                &self.result.objects[index].origin,
                index == PROGRAM && self.environment.secure,
            ),
        });
        self.rpaths.insert((index, runpath), list.clone());
        list
    }

    /// The object, then the one that brought it, and so on.
    pub(super) fn chain(&self, index: usize) -> Vec<usize> {
        let mut found = vec![index];
        while let Some(next) = found.last().and_then(|last| self.inside[*last].chain) {
            found.push(next);
        }
        found
    }

    pub(super) fn inner(&self, index: usize) -> &Rc<Object> {
        &self.inside[index].object
    }

    pub(super) fn path_of(&self, index: usize) -> &str {
        &self.result.objects[index].path
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
                && index > Self::loader_index()
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
    fn ask(&mut self, from: usize, written: &str, kind: NeedKind) -> Option<usize> {
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
        let own = self.loader.libc == Libc::Musl && super::musl::is_own(&name, &self.result.objects[1].path);
        let known = if own { Some(Self::loader_index()) } else { self.names.get(&name).copied() };
        if let Some(object) = known {
            link.end = End::Found { object, new: false };
            link.by = Some(if object == Self::loader_index() { Rule::Loader } else { Rule::Loaded });
        } else if name.starts_with("linux-vdso.so.") {
            // The kernel's own object: in every process, in no file.
            link.end = End::Found { object: Self::loader_index(), new: false };
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

    /// Brings a file into the process, or finds that it is there under another name.
    fn take(
        &mut self,
        from: usize,
        name: &str,
        kind: NeedKind,
        path: String,
        (id, object): (FileId, Rc<Object>),
    ) -> End {
        if let Some(known) = self.ids.get(&id).copied() {
            let named = self.loader.libc == Libc::Glibc || self.result.objects[known].names.is_empty();
            if named {
                self.know(known, name.to_owned());
            }
            return End::Found { object: known, new: false };
        }
        if !object.dynamic {
            return End::Fatal { reason: "object file has no dynamic section".to_owned() };
        }
        if let Some(reason) = object.program_only.filter(|_| self.loader.libc == Libc::Glibc) {
            return End::Fatal { reason: reason.to_owned() };
        }
        let origin = directory_of(&self.absolute(&path));
        let object = self.add(path, Some(id), object, Some(from), Some(kind), origin, Some(name));
        End::Found { object, new: true }
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

    /// Each version record against the object that answers its file's name (`_dl_check_map_versions`).
    fn check_versions(&mut self) {
        let mut missing = Vec::new();
        for (from, inside) in self.inside.iter().enumerate() {
            for (file, versions) in &inside.object.version_needs {
                let Some(&object) = self.names.get(file) else { continue };
                let defined = &self.inside[object].object.versions;
                // Without versions of its own a library answers with a warning at most; the loader's
                // file is read for its name only.
                if defined.is_empty() || object == Self::loader_index() {
                    continue;
                }
                let lacks = versions.iter().filter(|version| defined.binary_search(version).is_err());
                missing.extend(lacks.map(|version| MissingVersion { from, object, version: version.clone() }));
            }
        }
        missing.sort();
        missing.dedup();
        self.result.missing_versions = missing;
    }

    /// Entries of every search path that an object carries, and of LD_LIBRARY_PATH.
    fn list_paths(&mut self) {
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

    /// What the loader says to the file at a path; `None` when nothing is there.
    pub(super) fn outcome(&mut self, path: &str) -> Option<(Outcome, Option<Taken>)> {
        let file = match self.tree.open(&self.absolute(path)) {
            Opened::Absent => return None,
            Opened::Denied => return Some((Outcome::Denied, None)),
            // A directory opens like a file, and then cannot be read.
            Opened::Directory => {
                return Some((Outcome::Fatal("cannot read file data: Is a directory".to_owned()), None));
            }
            Opened::Failed(reason) => return Some((Outcome::Unreadable(reason), None)),
            Opened::File(file) => file,
        };
        Some(match self.object(&file) {
            Ok(object) => (Outcome::Wins, Some((file.id, object))),
            Err(Rejection::Class) => (Outcome::WrongClass, None),
            Err(Rejection::Machine) => (Outcome::WrongMachine, None),
            Err(Rejection::Fatal(reason)) => (Outcome::Fatal(reason), None),
        })
    }

    /// Whether a file has the set-user-ID bit.
    pub(super) fn is_setuid(&self, path: &str) -> bool {
        matches!(self.tree.open(&self.absolute(path)), Opened::File(OpenFile { setuid: true, .. }))
    }
}

/// A directory with one slash at its end.
pub(super) fn search_dir(entry: String, directory: &str) -> SearchDir {
    let path = match directory.trim_end_matches('/') {
        "" if directory.is_empty() => String::new(),
        bare => format!("{bare}/"),
    };
    SearchDir { entry, path }
}

/// The directory of an absolute path, as text.
fn directory_of(path: &str) -> String {
    match path.rfind('/') {
        None | Some(0) => "/".to_owned(),
        Some(at) => path[..at].to_owned(),
    }
}
