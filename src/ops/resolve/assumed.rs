//! The files of a machine, and the driver's libraries where its profile says that they would be.

use std::collections::BTreeMap;

use crate::elf::resolve::{OpenFile, Opened, Tree, library_named};
use crate::fs::Root;
use crate::manifest::Manifests;

/// Real files, with libraries assumed where there is nothing.
pub(super) struct Assumed {
    root: Root,
    /// By path, with a number that stands for the inode.
    files: BTreeMap<String, (u64, Vec<u8>)>,
}

impl Assumed {
    /// The files below a root; with the name of a driver profile, the driver in its first directory too.
    pub(super) fn new(root: Root, machine: u16, driver: Option<&str>, manifests: &Manifests) -> Self {
        let directory = driver
            .and_then(|name| manifests.drivers.get(name))
            .and_then(|profile| profile.directories.iter().find(|directory| !directory.loader_default));
        let mut files = BTreeMap::new();
        for (index, library) in manifests.loaders.assumed.iter().enumerate() {
            if let Some(directory) = directory {
                let id = u64::MAX - index as u64;
                files.insert(format!("{}/{library}", directory.path), (id, library_named(library, machine)));
            }
        }
        Self { root, files }
    }

    /// Whether a path is assumed, and not there.
    pub(super) fn is_assumed(&self, path: &str) -> bool {
        self.files.contains_key(path) && self.root.open(path).is_err()
    }
}

impl Tree for Assumed {
    fn open(&self, path: &str) -> Opened<'_> {
        match (Tree::open(&self.root, path), self.files.get(path)) {
            (Opened::Absent, Some((id, bytes))) => {
                let content = Box::new(bytes.as_slice());
                Opened::File(OpenFile { id: (u64::MAX, *id), setuid: false, setgid: false, content })
            }
            (opened, _) => opened,
        }
    }

    fn is_directory(&self, path: &str) -> bool {
        let below = format!("{}/", path.trim_end_matches('/'));
        Tree::is_directory(&self.root, path) || self.files.keys().any(|file| file.starts_with(&below))
    }

    fn real(&self, path: &str) -> Option<String> {
        Tree::real(&self.root, path).or_else(|| self.files.contains_key(path).then(|| path.to_owned()))
    }
}
