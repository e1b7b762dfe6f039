//! How objects come into a process, and the names by which it knows them.

use std::rc::Rc;

use super::Libc;
use super::answer::{End, LoadedObject};
use super::lookup::search_dir::directory_of;
use super::object::{NeedKind, Object};
use super::process::{Inside, PROGRAM, Process};
use super::tree::{FileId, Opened};

impl Process<'_> {
    #[expect(clippy::too_many_arguments, reason = "the fields of an object, each named at its call")]
    pub(super) fn add(
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
    pub(super) fn add_loader(&mut self) {
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

    /// Brings a file into the process, or finds that it is there under another name.
    pub(super) fn take(
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
}
