//! Operating system, C and C++ library, surroundings, variables.

use crate::elf::resolve::{Environment, Loader, Outcome};
use crate::fs::Root;
use crate::machine::{CxxLibrary, HostEnvironment, Preload, SearchEntry, System, Variables};
use crate::manifest::Manifests;

use super::Snapshot;
use super::search::{library, search};

/// The C++ library.
const CXX: &str = "libstdc++.so.6";
/// Names of one directory that are told, at most: a list of hundreds helps nobody.
const MOST_NAMES: usize = 40;

/// The machine without its GPUs.
pub(super) fn system(
    root: &Root,
    loader: &Loader,
    environment: &Environment,
    manifests: &Manifests,
    snapshot: &Snapshot,
) -> System {
    let release = ["/etc/os-release", "/usr/lib/os-release"].iter().find_map(|path| root.text(path, 1 << 16));
    let os = release.as_deref().and_then(|text| {
        let line = text.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="))?;
        Some(line.trim_matches(['"', '\'']).to_owned())
    });
    let kernel = root.text("/proc/sys/kernel/osrelease", 256).map(|text| text.trim().to_owned());
    System {
        os,
        kernel,
        glibc: loader.version,
        libstdcxx: cxx(root, loader, environment),
        cpu_level: if loader.machine == object::elf::EM_X86_64.0 { loader.cpu.level } else { 0 },
        surroundings: surroundings(root, manifests, snapshot),
    }
}

fn cxx(root: &Root, loader: &Loader, environment: &Environment) -> Vec<CxxLibrary> {
    let mut found = Vec::new();
    for candidate in search(root, loader, environment, CXX) {
        let Some(object) = library(root, &candidate.path, loader.machine) else { continue };
        if candidate.outcome == Outcome::Same {
            continue;
        }
        let highest = |prefix: &str| {
            let versions = object.versions.iter().filter_map(|version| version.strip_prefix(prefix));
            let numbers = versions.filter(|text| text.starts_with(|c: char| c.is_ascii_digit()));
            numbers.max_by(|a, b| crate::machine::compare_versions(a, b)).map(str::to_owned)
        };
        found.push(CxxLibrary {
            glibcxx: highest("GLIBCXX_"),
            cxxabi: highest("CXXABI_"),
            by: Some(candidate.rule.to_string()),
            wins: candidate.outcome == Outcome::Wins,
            path: candidate.path,
        });
    }
    found
}

fn surroundings(root: &Root, manifests: &Manifests, snapshot: &Snapshot) -> Vec<HostEnvironment> {
    let marks = manifests.environment.surroundings.iter().filter(|mark| {
        let word = |it: &crate::manifest::WordMark| {
            root.text(&it.file, 4096).is_some_and(|text| text.to_ascii_lowercase().contains(&it.word))
        };
        mark.files.iter().any(|file| root.exists(file))
            || mark.variables.iter().any(|name| snapshot.marks.contains(name))
            || mark.text.as_ref().is_some_and(word)
    });
    let mut found: Vec<HostEnvironment> = marks.map(|mark| mark.kind).collect();
    found.sort();
    found.dedup();
    found
}

/// Variables that change which files are found.
pub(super) fn variables(
    root: &Root,
    loader: &Loader,
    environment: &Environment,
    manifests: &Manifests,
    snapshot: &Snapshot,
) -> Variables {
    let mut entries = Vec::new();
    for variable in &manifests.environment.lists {
        let Some(value) = snapshot.value(variable) else { continue };
        entries.extend(value.split(':').map(|text| entry(root, manifests, snapshot, variable, text)));
    }
    let named = |text: &str| match text.contains('/') {
        true => root.exists(&absolute(snapshot, text)),
        false => !search(root, loader, environment, text).is_empty(),
    };
    let preload = snapshot.value("LD_PRELOAD").unwrap_or_default();
    let preload = preload.split([':', ' ']).filter(|text| !text.is_empty());
    Variables {
        values: snapshot.values.clone(),
        entries,
        preload: preload.map(|text| Preload { entry: text.to_owned(), found: named(text) }).collect(),
    }
}

fn entry(root: &Root, manifests: &Manifests, snapshot: &Snapshot, variable: &str, text: &str) -> SearchEntry {
    let directory = absolute(snapshot, text);
    let real = root.real(&directory).unwrap_or_else(|| directory.clone());
    let exists = root.is_directory(&directory);
    let names = if exists { root.names(&directory) } else { Vec::new() };
    let known = |name: &&String| {
        let is = manifests.vendor.library(name).is_some() || manifests.vendor.driver(name).is_some();
        (is || *name == CXX) && name.contains(".so.")
    };
    // A stub directory without the driver's library, such as one of cuBLAS only, does no harm.
    let driver = names.iter().any(|name| name.starts_with("libcuda.so"));
    let is = |test: &dyn Fn(&str) -> bool| driver && (test(&directory) || test(&real));
    SearchEntry {
        variable: variable.to_owned(),
        entry: text.to_owned(),
        exists,
        stubs: is(&|directory| manifests.drivers.is_stubs(directory)),
        compat: is(&|directory| manifests.drivers.is_compat(directory)),
        libraries: names.iter().filter(known).take(MOST_NAMES).cloned().collect(),
    }
}

fn absolute(snapshot: &Snapshot, text: &str) -> String {
    match text.starts_with('/') {
        true => text.to_owned(),
        false => format!("{}/{text}", snapshot.directory.trim_end_matches('/')),
    }
}
