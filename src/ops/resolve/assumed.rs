//! The files of a machine, and the driver's libraries where its profile says that they would be.

use std::collections::BTreeMap;
use std::rc::Rc;

use crate::elf::resolve::{OpenFile, Opened, Source, Tree};
use crate::fs::Root;
use crate::manifest::{Drivers, Loaders};

/// Real files, with libraries assumed where there is nothing.
pub(super) struct Assumed {
    root: Rc<Root>,
    /// By path, with a number that stands for the inode.
    files: BTreeMap<String, (u64, Vec<u8>)>,
}

impl Assumed {
    /// The files below a root; with the name of a driver profile, the driver in its first directory too.
    pub(super) fn new(
        root: Rc<Root>,
        machine: u16,
        driver: Option<&str>,
        loaders: &Loaders,
        drivers: &Drivers,
    ) -> Self {
        let directory = driver
            .and_then(|name| drivers.get(name))
            .and_then(|profile| profile.directories.iter().find(|directory| !directory.loader_default));
        let mut files = BTreeMap::new();
        for (index, library) in loaders.assumed.iter().enumerate() {
            if let Some(directory) = directory {
                let id = u64::MAX - index as u64;
                files.insert(format!("{}/{library}", directory.path), (id, library_named(library, machine)));
            }
        }
        Self { root, files }
    }

    /// The real files.
    pub(super) fn root(&self) -> &Root {
        &self.root
    }

    /// Whether a path is assumed, and not there.
    pub(super) fn is_assumed(&self, path: &str) -> bool {
        self.files.contains_key(path) && self.root.open(path).is_err()
    }
}

impl Tree for Assumed {
    fn open(&self, path: &str) -> Opened<'_> {
        match (Tree::open(&*self.root, path), self.files.get(path)) {
            (Opened::Absent, Some((id, bytes))) => {
                let source = Source::Bytes(Box::new(bytes.as_slice()));
                Opened::File(OpenFile { id: (u64::MAX, *id), setuid: false, setgid: false, source })
            }
            (opened, _) => opened,
        }
    }

    fn is_directory(&self, path: &str) -> bool {
        let below = format!("{}/", path.trim_end_matches('/'));
        Tree::is_directory(&*self.root, path) || self.files.keys().any(|file| file.starts_with(&below))
    }

    fn real(&self, path: &str) -> Option<String> {
        Tree::real(&*self.root, path).or_else(|| self.files.contains_key(path).then(|| path.to_owned()))
    }
}

/// The smallest library with a SONAME: header, one loaded segment, a dynamic section, strings.
fn library_named(soname: &str, machine: u16) -> Vec<u8> {
    let strings = [b"\0", soname.as_bytes(), b"\0"].concat();
    let (dynamic_at, strings_at) = (64 + 2 * 56, 64 + 2 * 56 + 4 * 16);
    let size = strings_at + strings.len() as u64;
    let mut bytes = b"\x7fELF\x02\x01\x01".to_vec();
    bytes.resize(16, 0);
    let mut put = |width: usize, value: u64| bytes.extend(&value.to_le_bytes()[..width]);
    // Kind (ET_DYN), machine, version, entry, segments, sections, flags, sizes and counts.
    for (width, value) in [(2, 3), (2, u64::from(machine)), (4, 1), (8, 0), (8, 64), (8, 0), (4, 0)] {
        put(width, value);
    }
    for value in [64, 56, 2, 64, 0, 0] {
        put(2, value);
    }
    // PT_LOAD over the file, PT_DYNAMIC.
    for (kind, at, length) in [(1, 0, size), (2, dynamic_at, 4 * 16)] {
        put(4, kind);
        put(4, 4);
        for value in [at, at, at, length, length, 8] {
            put(8, value);
        }
    }
    // DT_STRTAB, DT_STRSZ, DT_SONAME, DT_NULL.
    for (tag, value) in [(5, strings_at), (10, strings.len() as u64), (14, 1), (0, 0)] {
        put(8, tag);
        put(8, value);
    }
    bytes.extend(strings);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::elf::resolve::read_object;

    #[test]
    fn an_assumed_library_reads_like_a_library() {
        let object = read_object(&library_named("libcuda.so.1", 62), 62).unwrap();
        assert_eq!(object.soname.as_deref(), Some("libcuda.so.1"));
        assert!(object.dynamic && object.needs.is_empty() && object.program_only.is_none());
    }
}
