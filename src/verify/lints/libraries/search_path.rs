//! RUNPATH and RPATH: where the loader looks because a file says so.

use std::collections::{BTreeMap, BTreeSet};

use crate::bundle::Dependency;
use crate::elf;
use crate::elf::{SearchEntry, search_entry};
use crate::lint::{Hits, Parameters, Predicate};
use crate::report::{Level, Subject};
use crate::verify::{BundleFacts, PackageFacts};

pub(in crate::verify::lints) fn predicates() -> Vec<Predicate<BundleFacts>> {
    vec![
        Predicate { id: "runpath-build-path", parameters: &[], check: runpath_build_path },
        Predicate { id: "runpath-loader-default", parameters: &[], check: runpath_loader_default },
        Predicate { id: "runpath-replaced", parameters: &[], check: runpath_replaced },
        Predicate { id: "stub-reachable", parameters: &[], check: stub_reachable },
    ]
}

/// Entries of RPATH and RUNPATH with the tag's name, empty ones too. A tag whose whole text is empty
/// says nothing (glibc, `decompose_rpath`).
fn entries(elf: &elf::Facts) -> impl Iterator<Item = (&'static str, &str)> {
    let tags = [("RPATH", &elf.rpath), ("RUNPATH", &elf.runpath)];
    tags.into_iter().flat_map(|(tag, text)| {
        let text = text.as_deref().filter(|text| !text.is_empty());
        text.into_iter().flat_map(move |text| text.split(':').map(move |entry| (tag, entry)))
    })
}

/// Subjects of wheels' files that name directories of vendors' wheels, which lie beside their own, with the entries.
fn beside_wheels(facts: &BundleFacts) -> BTreeSet<(Subject, String)> {
    let mut found = BTreeSet::new();
    for package in facts.packages.iter().filter(|package| package.manifest.as_wheel) {
        let names = package.manifest.dependencies.iter().filter_map(Dependency::name);
        let releases = facts.rules.manifests.cuda.toolkits();
        let libraries: Vec<_> = names.filter_map(|name| facts.rules.manifests.vendor.by_name(name)).collect();
        let wheels = || libraries.iter().flat_map(|library| releases.iter().filter_map(|cuda| library.wheel(*cuda)));
        for (subject, file, elf) in package.loaded() {
            let up = "../".repeat(file.path.matches('/').count() + 1);
            let named: BTreeSet<String> = wheels().map(|(_, directory)| format!("$ORIGIN/{up}{directory}")).collect();
            let own = entries(elf).filter(|(_, entry)| named.contains(*entry));
            found.extend(own.map(|(_, entry)| (subject.clone(), entry.to_owned())));
        }
    }
    found
}

fn each(facts: &BundleFacts, mut visit: impl FnMut(Subject, &'static str, &str, SearchEntry)) {
    for package in facts.contents() {
        for (subject, file, elf) in package.loaded() {
            for (tag, entry) in entries(elf) {
                let dir = search_entry(entry, file.directory());
                // Of one file it is not known what lies above it.
                if !(package.is_alone && dir == SearchEntry::Outside) {
                    visit(subject.clone(), tag, entry, dir);
                }
            }
        }
    }
}

/// What is wrong with an entry of a search path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Astray {
    BuildMachine,
    Outside,
    Empty,
    CurrentDirectory,
}

/// Directories of the machine that built, relative ones, and ones above the prefix: a finding for each kind in a file.
fn runpath_build_path(facts: &BundleFacts, _: &Parameters, hits: &mut Hits) {
    let rules = &facts.rules;
    let beside = beside_wheels(facts);
    let mut found: BTreeMap<(Subject, &'static str, Astray), Vec<String>> = BTreeMap::new();
    each(facts, |subject, tag, entry, dir| {
        let astray = match dir {
            SearchEntry::Prefix(_) => return,
            SearchEntry::Absolute(path) => {
                let path = path.trim_end_matches('/');
                let known = rules.driver_directories.iter().any(|dir| dir == path);
                if known || rules.manifests.drivers.is_loader_default(path) || is_stub(facts, path).is_some() {
                    // Other lints speak of loader defaults and stubs.
                    return;
                }
                Astray::BuildMachine
            }
            SearchEntry::Outside if beside.contains(&(subject.clone(), entry.to_owned())) => return,
            SearchEntry::Outside => Astray::Outside,
            SearchEntry::Relative if entry.is_empty() => Astray::Empty,
            SearchEntry::Relative => Astray::CurrentDirectory,
        };
        found.entry((subject, tag, astray)).or_default().push(entry.to_owned());
    });
    let made_by_us: BTreeSet<Subject> =
        facts.packages.iter().flat_map(|package| package.loaded().map(|(subject, ..)| subject)).collect();
    for ((subject, tag, astray), entries) in found {
        // In a package of others they lead to where nobody but the machine's owner writes: of no use, and no harm.
        let is_harmless = astray == Astray::Outside && !made_by_us.contains(&subject);
        let hit = hits.add(subject, astray.message(tag, &entries));
        let hit = if entries.len() > 1 && astray != Astray::Empty { hit.evidence_lines(entries) } else { hit };
        if is_harmless {
            hit.weighs(Level::Note);
        }
    }
}

impl Astray {
    fn message(self, tag: &str, entries: &[String]) -> String {
        match (self, entries) {
            (Self::BuildMachine, [one]) => format!("{tag} names {one}, a directory of the build machine"),
            (Self::BuildMachine, many) => format!("{tag} names {} directories of the build machine", many.len()),
            (Self::Outside, [one]) => format!("{tag} entry {one} leads out of the prefix"),
            (Self::Outside, many) => format!("{} entries of {tag} lead out of the prefix", many.len()),
            (Self::Empty, _) => {
                format!("{tag} has an empty entry, which is the current directory of whoever starts the program")
            }
            (Self::CurrentDirectory, [one]) => format!("{tag} entry {one} depends on the current directory"),
            (Self::CurrentDirectory, many) => {
                format!("{} entries of {tag} depend on the current directory", many.len())
            }
        }
    }
}

fn runpath_loader_default(facts: &BundleFacts, _: &Parameters, hits: &mut Hits) {
    each(facts, |subject, tag, entry, dir| {
        if let SearchEntry::Absolute(path) = dir
            && facts.rules.manifests.drivers.is_loader_default(&path)
        {
            hits.add(subject, format!("{tag} names {entry}, which the loader searches by itself"));
        }
    });
}

/// Directories that a build gave to a file and that packing took away: whoever relied on them hears of it.
fn runpath_replaced(facts: &BundleFacts, _: &Parameters, hits: &mut Hits) {
    for replaced in &facts.rules.staging.search_paths {
        let is_this = |package: &&PackageFacts| {
            package.manifest.package == replaced.package && package.manifest.cuda == replaced.cuda
        };
        let Some(package) = facts.packages.iter().find(is_this) else { continue };
        let subject = package.subject(&replaced.path);
        let Some((_, file, elf)) = package.loaded().find(|(found, ..)| *found == subject) else { continue };
        let seen = |entry: &str| search_entry(entry.trim_end_matches('/'), file.directory());
        let now: Vec<SearchEntry> = entries(elf).map(|(_, entry)| seen(entry)).collect();
        let is_told = |entry: &&str| {
            let dir = seen(entry);
            let is_default = |path: &str| facts.rules.manifests.drivers.is_loader_default(path);
            let needs_no_word = match &dir {
                SearchEntry::Absolute(path) => is_default(path) || is_stub(facts, path).is_some(),
                SearchEntry::Relative => entry.is_empty(),
                SearchEntry::Prefix(_) | SearchEntry::Outside => false,
            };
            !needs_no_word && !now.contains(&dir)
        };
        let lost: Vec<&str> = replaced.built.split(':').filter(is_told).collect();
        if !lost.is_empty() {
            let text = elf.runpath.as_deref().or(elf.rpath.as_deref()).unwrap_or("none");
            hits.add(subject, format!("its build let it search {}, the package does not", lost.join(" and ")))
                .evidence(format!("search path now: {text}"));
        }
    }
}

fn stub_reachable(facts: &BundleFacts, _: &Parameters, hits: &mut Hits) {
    each(facts, |subject, tag, entry, dir| {
        let path = match &dir {
            SearchEntry::Absolute(path) => path.clone(),
            SearchEntry::Prefix(path) => format!("/{path}"),
            SearchEntry::Outside | SearchEntry::Relative => format!("/{entry}"),
        };
        if let Some(what) = is_stub(facts, &path) {
            hits.add(subject, format!("{tag} names {entry}, which holds {what}"));
        }
    });
}

fn is_stub(facts: &BundleFacts, path: &str) -> Option<&'static str> {
    let drivers = &facts.rules.manifests.drivers;
    if drivers.is_stubs(path) {
        Some("link-time stubs of the driver")
    } else if drivers.is_compat(path) {
        Some("the forward compatibility driver, for data-centre GPUs only")
    } else {
        None
    }
}
