//! A tree that is asked about many processes: every file is looked at once.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use super::{FileId, Object, OpenFile, Opened, Source, Tree, read_object};

/// Files of another tree with the answers so far. Of a library only what its loader reads is kept: who
/// looks for names among its constants needs the tree itself.
pub struct Remembered<T> {
    tree: T,
    machine: u16,
    opened: RefCell<HashMap<String, Known>>,
}

/// What lies at a path.
enum Known {
    Absent,
    Denied,
    Directory,
    Failed(String),
    Object {
        id: FileId,
        setuid: bool,
        setgid: bool,
        object: Rc<Object>,
    },
    /// What the loader does not take is looked at again, because it has to say why.
    Other,
}

impl<T: Tree> Remembered<T> {
    /// The files of `tree` for the loader of `machine` (`e_machine`).
    pub fn new(tree: T, machine: u16) -> Self {
        Self { tree, machine, opened: RefCell::default() }
    }

    /// The tree that is asked.
    pub fn tree(&self) -> &T {
        &self.tree
    }

    fn look(&self, path: &str) -> Known {
        match self.tree.open(path) {
            Opened::Absent => Known::Absent,
            Opened::Denied => Known::Denied,
            Opened::Directory => Known::Directory,
            Opened::Failed(reason) => Known::Failed(reason),
            Opened::File(file) => {
                let object = match &file.source {
                    Source::Object(object) => Some(object.clone()),
                    Source::Bytes(_) => read_object(file.bytes(), self.machine).ok().map(Rc::new),
                };
                let OpenFile { id, setuid, setgid, .. } = file;
                object.map_or(Known::Other, |object| Known::Object { id, setuid, setgid, object })
            }
        }
    }
}

impl<T: Tree> Tree for Remembered<T> {
    fn open(&self, path: &str) -> Opened<'_> {
        let mut opened = self.opened.borrow_mut();
        if !opened.contains_key(path) {
            opened.insert(path.to_owned(), self.look(path));
        }
        match &opened[path] {
            Known::Absent => Opened::Absent,
            Known::Denied => Opened::Denied,
            Known::Directory => Opened::Directory,
            Known::Failed(reason) => Opened::Failed(reason.clone()),
            Known::Object { id, setuid, setgid, object } => Opened::File(OpenFile {
                id: *id,
                setuid: *setuid,
                setgid: *setgid,
                source: Source::Object(object.clone()),
            }),
            Known::Other => self.tree.open(path),
        }
    }

    fn is_directory(&self, path: &str) -> bool {
        self.tree.is_directory(path)
    }

    fn real(&self, path: &str) -> Option<String> {
        self.tree.real(path)
    }
}
