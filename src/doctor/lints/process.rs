//! A process that runs.

use std::collections::{BTreeMap, BTreeSet};

use crate::doctor::Facts;
use crate::elf::{library_stem, soname_major};
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

/// What copies have in common, whatever a repair tool called them.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Group<'a> {
    /// A family of which two hurt, and the major where only copies of one do.
    Family(&'a str, Option<u32>),
    /// A library of the GPU vendor, by its plain name.
    Vendor(String),
    /// Any other, by stem and major, or by the one name of what has several.
    Other(&'a str, Option<u32>),
}

/// Libraries that are there more than once.
fn copies(facts: &Facts) -> BTreeMap<Group<'_>, Vec<&MappedLibrary>> {
    let mut groups: BTreeMap<Group<'_>, Vec<&MappedLibrary>> = BTreeMap::new();
    for library in facts.machine.process.iter().flat_map(|process| &process.libraries) {
        let (stem, major) = (library_stem(&library.soname), soname_major(&library.soname));
        let group = match (facts.manifests.foreign.family(stem), facts.manifests.vendor.original(&library.soname)) {
            (Some(family), _) => {
                let (family, major) = family.group(major);
                Group::Family(family, major)
            }
            (None, Some(_)) => {
                Group::Vendor(format!("{stem}.so{}", major.map(|it| format!(".{it}")).unwrap_or_default()))
            }
            (None, None) => match facts.manifests.foreign.one_name(stem) {
                Some(name) => Group::Other(name, None),
                None => Group::Other(stem, major),
            },
        };
        groups.entry(group).or_default().push(library);
    }
    groups.retain(|_, libraries| libraries.len() > 1);
    groups
}

pub(super) fn twice(facts: &Facts, _: &Parameters, hits: &mut Hits) {
    let Some(process) = &facts.machine.process else { return };
    for (group, libraries) in copies(facts) {
        let names: BTreeSet<&str> = libraries.iter().map(|library| library.soname.as_str()).collect();
        let hurts = |family: &str| facts.manifests.foreign.family_named(family).map(|family| family.hurts.clone());
        let message = match (&group, names.iter().next()) {
            (Group::Other(..), _) => continue,
            (_, Some(name)) if names.len() == 1 => format!("holds {} copies of {name}", libraries.len()),
            (Group::Family(family, _), _) => format!("holds {} {family}", libraries.len()),
            (Group::Vendor(name), _) => format!("holds {} copies of {name}", libraries.len()),
        };
        let why = match &group {
            Group::Family(family, _) => hurts(family),
            _ => Some("handles and memory of one are unknown to the other".to_owned()),
        };
        hits.add(format!("process {}", process.pid), message)
            .evidence_lines(why.map(|why| format!("known to hurt: {why}")))
            .evidence_lines(libraries.into_iter().map(told));
    }
}

pub(super) fn copied(facts: &Facts, _: &Parameters, hits: &mut Hits) {
    let Some(process) = &facts.machine.process else { return };
    for (group, libraries) in copies(facts) {
        let Group::Other(stem, _) = group else { continue };
        hits.add(
            format!("process {}", process.pid),
            format!("holds {} copies of {stem}: they cost memory", libraries.len()),
        )
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
