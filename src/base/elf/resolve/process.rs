//! The state of a loader while it builds a process.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use super::answer::{LoadedObject, Resolution};
use super::lookup::search_dir::SearchDir;
use super::object::{Object, Rejection};
use super::tree::{FileId, Source, Tree};
use super::{Environment, Loader};

/// A file that a loader takes.
pub(super) type Taken = (FileId, Rc<Object>);

/// What the process knows of an object beside the answer.
pub(super) struct Inside {
    pub(super) object: Rc<Object>,
    /// The chain along which RPATH is inherited: not the index that brought it when that was `dlopen`.
    pub(super) chain: Option<usize>,
}

/// The state of a loader while it works.
pub struct Process<'a> {
    pub(super) tree: &'a dyn Tree,
    pub(super) loader: &'a Loader,
    pub(super) environment: &'a Environment,
    pub(super) result: Resolution,
    pub(super) inside: Vec<Inside>,
    pub(super) names: HashMap<String, usize>,
    pub(super) ids: HashMap<FileId, usize>,
    pub(super) read: HashMap<FileId, Result<Rc<Object>, Rejection>>,
    /// Files that call `dlopen`: somebody will look at their constants.
    pub(super) kept: HashMap<FileId, Source<'a>>,
    pub(super) directories: HashMap<String, Rc<[String]>>,
    pub(super) subdirectories: Vec<String>,
    /// Objects whose needs were asked for.
    pub(super) expanded: HashSet<usize>,
    pub(super) library_path: Rc<[SearchDir]>,
    pub(super) defaults: Rc<[SearchDir]>,
    pub(super) rpaths: HashMap<(usize, bool), Option<Rc<[SearchDir]>>>,
    /// Default directories, each with a slash at its end.
    pub(super) trusted: Vec<String>,
}

/// Index of the program among the objects.
pub(super) const PROGRAM: usize = 0;
/// Index of the loader.
pub(super) const LOADER: usize = 1;

impl Process<'_> {
    /// Objects so far, in the order of loading.
    pub fn objects(&self) -> &[LoadedObject] {
        &self.result.objects
    }

    pub(super) fn inner(&self, index: usize) -> &Rc<Object> {
        &self.inside[index].object
    }

    pub(super) fn path_of(&self, index: usize) -> &str {
        &self.result.objects[index].path
    }
}
