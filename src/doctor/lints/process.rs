//! A process that runs.

use std::collections::BTreeMap;

use super::Facts;
use crate::lint::{Hits, Parameters};
use crate::machine::{DriverRole, MappedLibrary};

fn told(library: &MappedLibrary) -> String {
    match library.needed_by.len() {
        0 => format!("{}: {}", library.path, library.by),
        _ => {
            let names = library.needed_by.iter().map(|path| path.rsplit('/').next().unwrap_or(path));
            format!("{}: {}, needed by {}", library.path, library.by, names.collect::<Vec<_>>().join(", "))
        }
    }
}

pub(super) fn twice(facts: &Facts, _: &Parameters, hits: &mut Hits) {
    let Some(process) = &facts.machine.process else { return };
    let mut by_name: BTreeMap<&str, Vec<&MappedLibrary>> = BTreeMap::new();
    for library in &process.libraries {
        by_name.entry(&library.soname).or_default().push(library);
    }
    for (name, libraries) in by_name.into_iter().filter(|(_, libraries)| libraries.len() > 1) {
        hits.add(format!("process {}", process.pid), format!("holds {} copies of {name}", libraries.len()))
            .evidence_lines(libraries.into_iter().map(told));
    }
}

pub(super) fn driver(facts: &Facts, _: &Parameters, hits: &mut Hits) {
    let Some(process) = &facts.machine.process else { return };
    for library in &process.libraries {
        let what = match library.driver {
            Some(DriverRole::Stub) => "a stub for linking",
            Some(DriverRole::Compat) if is_older(facts, library) => {
                "a compatibility driver that is older than the kernel's"
            }
            _ => continue,
        };
        hits.add(format!("process {}", process.pid), format!("runs with {}, {what}", library.path))
            .evidence(told(library));
    }
}

fn is_older(facts: &Facts, library: &MappedLibrary) -> bool {
    let version = library.path.split_once(".so.").map(|(_, version)| version).filter(|version| version.contains('.'));
    let module = facts.machine.driver_files.kernel_module.as_deref();
    version.zip(module).is_some_and(|(own, module)| crate::machine::compare_versions(own, module).is_lt())
}

pub(super) fn replaced(facts: &Facts, _: &Parameters, hits: &mut Hits) {
    let Some(process) = &facts.machine.process else { return };
    for library in process.libraries.iter().filter(|library| library.deleted) {
        hits.add(
            format!("process {}", process.pid),
            format!("{} was removed or replaced since it started", library.path),
        );
    }
}
