//! What the loader says to the file at a path.

use std::rc::Rc;

use super::answer::Outcome;
use super::object::{Object, Rejection, read_object};
use super::process::{Process, Taken};
use super::tree::{OpenFile, Opened, Source};

impl<'a> Process<'a> {
    /// The path as the current directory makes it.
    pub(super) fn absolute(&self, path: &str) -> String {
        if path.starts_with('/') {
            return path.to_owned();
        }
        format!("{}/{path}", self.environment.directory.trim_end_matches('/'))
    }

    /// A file as an object; a file is read once, under whatever name it comes.
    pub(super) fn object(&mut self, file: &OpenFile<'_>) -> Result<Rc<Object>, Rejection> {
        let read = || match &file.source {
            Source::Bytes(bytes) => read_object((**bytes).as_ref(), self.loader.machine).map(Rc::new),
            Source::Object(object) if object.machine == self.loader.machine => Ok(object.clone()),
            Source::Object(_) => Err(Rejection::Machine),
        };
        self.read.entry(file.id).or_insert_with(read).clone()
    }

    /// Keeps a file open whose constants may hold names that it opens.
    pub(super) fn keep(&mut self, file: OpenFile<'a>, object: &Object) {
        if object.calls_dlopen {
            self.kept.entry(file.id).or_insert(file.source);
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
            Ok(object) => {
                let id = file.id;
                self.keep(file, &object);
                (Outcome::Wins, Some((id, object)))
            }
            Err(Rejection::Class) => (Outcome::WrongClass, None),
            Err(Rejection::Machine) => (Outcome::WrongMachine, None),
            Err(Rejection::Fatal(reason)) => (Outcome::Fatal(reason), None),
        })
    }

    /// Whether a file has the set-user-ID bit.
    pub(super) fn is_setuid(&self, path: &str) -> bool {
        matches!(self.tree.open(&self.absolute(path)), Opened::File(OpenFile { setuid: true, .. }))
    }

    /// Bytes of an object that may open others: its dynamic strings name `dlopen`.
    pub fn content(&self, object: usize) -> Option<&[u8]> {
        match self.kept.get(&self.result.objects.get(object)?.id?)? {
            Source::Bytes(bytes) => Some((**bytes).as_ref()),
            Source::Object(_) => None,
        }
    }
}
