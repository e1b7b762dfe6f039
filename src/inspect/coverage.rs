//! The coverage matrix: which file, or which kernel, has code for which target, and which lacks it.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Serialize;

use super::facts::FileFacts;
use crate::arch::{Capability, KernelTarget};
use crate::gpu::{CodeImage, CodeKind, Look};

/// Rows and columns.
#[derive(Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Coverage {
    /// What code there is, sorted: SASS, PTX, then what runs nowhere as it is.
    pub columns: Vec<Column>,
    /// Files that hold the code, or the kernels in them.
    pub rows: Vec<Row>,
}

/// Code of one kind for one device.
#[derive(Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Column {
    pub kind: CodeKind,
    /// Capability, or the device in its maker's words.
    pub device: String,
    pub pieces: usize,
    pub stored_size: u64,
    pub unpacked_size: u64,
}

/// One file, or one kernel of it.
#[derive(Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Row {
    /// The file; files that differ only in the name of their target are one.
    pub group: String,
    /// The kernel's symbol, where kernels are read.
    pub kernel: Option<String>,
    /// The symbol in words.
    pub demangled: Option<String>,
    /// Pieces for each column; of a kernel, in how many it is.
    pub cells: Vec<usize>,
    /// Targets for which its group has code, but not this kernel.
    pub missing: Vec<String>,
}

/// Order of columns.
type Key = (u8, Option<Capability>, String);

impl Coverage {
    /// The matrix of files; with kernels, where they were read.
    pub fn of(files: &[FileFacts], look: Look) -> Self {
        let mut columns: BTreeMap<Key, Column> = BTreeMap::new();
        let all = || files.iter().flat_map(|file| file.images.iter().map(move |image| (file, image)));
        for (_, image) in all() {
            let key = key(image);
            let device = key.2.clone();
            let new = || Column { kind: image.kind, device, pieces: 0, stored_size: 0, unpacked_size: 0 };
            let column = columns.entry(key).or_insert_with(new);
            column.pieces += 1;
            column.stored_size += image.stored_size;
            column.unpacked_size += image.unpacked_size;
        }
        let places: BTreeMap<&Key, usize> = columns.keys().zip(0..).collect();
        let mut groups: BTreeMap<String, Group<'_>> = BTreeMap::new();
        for (file, image) in all() {
            let place = places[&key(image)];
            let group = groups.entry(group(file, image)).or_default();
            if !look.kernels {
                *group.rows.entry(None).or_default().1.entry(place).or_default() += 1;
                continue;
            }
            if image.target().is_some() {
                group.has.insert(place);
            }
            for kernel in &image.kernels {
                let name = kernel.signature.name.as_str();
                let row = group.rows.entry(Some(name)).or_insert_with(|| (file.images.words(name), BTreeMap::new()));
                *row.1.entry(place).or_default() += 1;
            }
        }
        let names: Vec<String> = columns.keys().map(name).collect();
        let mut rows = Vec::new();
        for (group, Group { has, rows: found }) in groups {
            for (kernel, (demangled, cells)) in found {
                let missing = has.iter().filter(|place| !cells.contains_key(*place)).map(|place| names[*place].clone());
                rows.push(Row {
                    group: group.clone(),
                    kernel: kernel.map(str::to_owned),
                    demangled: demangled.map(str::to_owned),
                    missing: missing.collect(),
                    cells: (0..names.len()).map(|place| cells.get(&place).copied().unwrap_or(0)).collect(),
                });
            }
        }
        Self { rows, columns: columns.into_values().collect() }
    }
}

/// What is counted of a group: in which columns it has code, and the pieces of each of its kernels, or of it, by column.
#[derive(Default)]
struct Group<'a> {
    has: BTreeSet<usize>,
    rows: BTreeMap<Option<&'a str>, Cells<'a>>,
}

/// A kernel in words, and its pieces by column.
type Cells<'a> = (Option<&'a str>, BTreeMap<usize, usize>);

fn key(image: &CodeImage) -> Key {
    let kind = match image.kind {
        CodeKind::Sass => 0,
        CodeKind::Ptx => 1,
        CodeKind::LtoIr => 2,
        CodeKind::Spirv => 3,
        CodeKind::Wgsl => 4,
        CodeKind::Offload => 5,
        CodeKind::Other(_) => 6,
    };
    (kind, image.capability, image.device())
}

/// A column in words.
fn name((kind, capability, device): &Key) -> String {
    match (kind, capability) {
        (0, Some(capability)) => KernelTarget::Sass(*capability).to_string(),
        (1, Some(capability)) => KernelTarget::Ptx(*capability).to_string(),
        (3, _) => format!("spirv{device}"),
        _ => device.clone(),
    }
}

/// Containers: the file. A file that is the code itself: its path without package, target and ending, so that the
/// same kernels for several targets are one row.
fn group(file: &FileFacts, image: &CodeImage) -> String {
    if !image.place.is_file() {
        return file.path.to_string();
    }
    let parts = file.path.file().split('/').filter(|part| part.parse::<KernelTarget>().is_err());
    let joined = parts.collect::<Vec<_>>().join("/");
    match joined.rsplit_once('.') {
        Some((stem, ending)) if !ending.contains('/') => stem.to_owned(),
        _ => joined,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu::device_code_with;
    use crate::inspect::examine::examine;
    use crate::inspect::location::Location;

    fn file(place: &Location, bytes: &[u8], look: Look) -> FileFacts {
        let budget = crate::budget::Budget::of(bytes);
        let mut file = examine(place, bytes, look, &budget, None).file.unwrap();
        file.images.read_names();
        assert!(!device_code_with(bytes, look).unwrap().is_empty());
        file
    }

    fn ptx(arch: u32, kernels: &[&str]) -> Vec<u8> {
        let mut text = format!(".version 8.0\n.target sm_{arch}\n.address_size 64\n");
        kernels.iter().for_each(|name| text.push_str(&format!(".entry {name}(.param .u64 a) {{ ret; }}\n")));
        text.into_bytes()
    }

    #[test]
    fn holes_are_named_within_a_group() {
        let look = Look { kernels: true, deep: false };
        let files = [
            file(&Location::new("p").member("k/compute_75/step.ptx"), &ptx(75, &["one", "_Z3twov"]), look),
            file(&Location::new("q").member("k/compute_90/step.ptx"), &ptx(90, &["one"]), look),
            file(&Location::new("other.ptx"), &ptx(90, &["three"]), look),
        ];
        let coverage = Coverage::of(&files, look);
        let columns: Vec<&str> = coverage.columns.iter().map(|column| column.device.as_str()).collect();
        assert_eq!(columns, ["7.5", "9.0"]);
        let rows: Vec<_> = coverage
            .rows
            .iter()
            .map(|row| (row.group.as_str(), row.kernel.as_deref().unwrap(), row.cells.clone(), row.missing.clone()))
            .collect();
        let none = Vec::<String>::new();
        assert_eq!(
            rows,
            [
                ("k/step", "_Z3twov", vec![1, 0], vec!["compute_90".to_owned()]),
                ("k/step", "one", vec![1, 1], none.clone()),
                ("other", "three", vec![0, 1], none),
            ]
        );
        assert_eq!(coverage.rows[0].demangled.as_deref(), Some("two()"));
    }

    #[test]
    fn without_kernels_files_are_counted() {
        let look = Look::default();
        let files = [
            file(&Location::new("k/compute_75/step.ptx"), &ptx(75, &["one"]), look),
            file(&Location::new("k/compute_90/step.ptx"), &ptx(90, &["one"]), look),
        ];
        let coverage = Coverage::of(&files, look);
        assert_eq!(coverage.rows.len(), 1);
        assert_eq!(coverage.rows[0].cells, [1, 1]);
        assert!(coverage.rows[0].missing.is_empty());
    }
}
