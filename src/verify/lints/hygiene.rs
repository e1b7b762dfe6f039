//! How files were linked and installed: protections, rights, links, the C++ ABI.

use std::collections::BTreeMap;

use super::super::{BundleFacts, Contents};
use crate::elf::{Facts, FileKind, Relro};
use crate::fs::EntryKind;
use crate::lint::{Hits, Parameters, Predicate};
use crate::report::Subject;

pub(super) fn predicates() -> Vec<Predicate<BundleFacts>> {
    vec![
        Predicate { id: "cudart-mixed", parameters: &[], check: cudart_mixed },
        Predicate { id: "cxx11-abi-mixed", parameters: &[], check: cxx11_abi_mixed },
        Predicate { id: "file-rights", parameters: &[], check: file_rights },
        Predicate { id: "lazy-binding", parameters: &[], check: lazy_binding },
        Predicate { id: "link-escapes", parameters: &[], check: link_escapes },
        Predicate { id: "relro-missing", parameters: &[], check: relro_missing },
    ]
}

fn relro_missing(facts: &BundleFacts, _: &Parameters, hits: &mut Hits) {
    for contents in facts.contents() {
        for (subject, _, _) in contents.loaded().filter(|(_, _, elf)| elf.relro == Relro::None) {
            hits.add(subject, "keeps its relocated data writable (no PT_GNU_RELRO)");
        }
    }
}

fn lazy_binding(facts: &BundleFacts, _: &Parameters, hits: &mut Hits) {
    for contents in facts.contents() {
        for (subject, _, _) in contents.loaded().filter(|(_, _, elf)| !elf.bind_now) {
            hits.add(subject, "binds functions at their first call (neither DF_BIND_NOW nor DF_1_NOW)");
        }
    }
}

fn file_rights(facts: &BundleFacts, _: &Parameters, hits: &mut Hits) {
    for contents in facts.contents() {
        for file in contents.files.iter().filter(|file| matches!(file.kind, EntryKind::File { .. })) {
            let Some(mode) = file.mode else { continue };
            let subject = contents.subject(&file.path);
            if mode & 0o002 != 0 {
                hits.add(&subject, format!("may be written by everybody (mode {:04o})", mode & 0o7777));
            }
            for (bit, what) in [(0o4000, "user"), (0o2000, "group")] {
                if mode & bit != 0 {
                    hits.add(&subject, format!("runs with the rights of its {what} (mode {:04o})", mode & 0o7777));
                }
            }
        }
    }
}

fn link_escapes(facts: &BundleFacts, _: &Parameters, hits: &mut Hits) {
    for contents in facts.contents() {
        for file in &contents.files {
            let EntryKind::Link(to) = &file.kind else { continue };
            if to.starts_with('/') {
                hits.add(contents.subject(&file.path), format!("leads to {to}, a place of the machine"));
            } else if leaves(file.directory(), to) {
                hits.add(contents.subject(&file.path), format!("leads to {to}, out of the prefix"));
            }
        }
    }
}

/// Whether a relative link in a directory below the prefix goes above it.
fn leaves(directory: &str, to: &str) -> bool {
    let mut depth = directory.split('/').filter(|part| !part.is_empty()).count();
    for part in to.split('/').filter(|part| !part.is_empty() && *part != ".") {
        match (part, depth) {
            ("..", 0) => return true,
            ("..", _) => depth -= 1,
            _ => depth += 1,
        }
    }
    false
}

/// What `std::string` is in an interface (libstdc++, `_GLIBCXX_USE_CXX11_ABI`).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Strings {
    Old,
    New,
}

/// How names begin of what is libstdc++'s own, with transaction clones of it: copies of these are in whatever uses it, and of
/// both kinds in whatever is linked with its static archive.
const OF_STD: [&str; 9] =
    ["_ZNSt", "_ZNKSt", "_ZSt", "_ZNSs", "_ZNKSs", "_ZGT", "_ZN9__gnu_cxx", "_ZNK9__gnu_cxx", "_ZN10__cxxabiv1"];

/// Which `std::string` the functions of a library take and give, with one of them each: its own functions only.
fn strings(elf: &Facts) -> BTreeMap<Strings, String> {
    let mut found = BTreeMap::new();
    for export in elf.exports.iter().filter(|export| export.kind == "function" && export.name.starts_with("_Z")) {
        let name = &export.name;
        let of_std = OF_STD.iter().any(|begin| name.starts_with(begin));
        if of_std || (!name.contains("__cxx11") && !name.contains("Ss")) {
            continue;
        }
        let Some(shown) = crate::elf::demangled(name) else { continue };
        let which = match (shown.contains("std::__cxx11::"), shown.contains("std::string")) {
            (true, _) => Strings::New,
            (false, true) => Strings::Old,
            _ => continue,
        };
        found.entry(which).or_insert(shown);
    }
    found
}

fn cxx11_abi_mixed(facts: &BundleFacts, _: &Parameters, hits: &mut Hits) {
    // All packages make one process; of what others made each thing is one.
    let ours: Vec<&Contents> = facts.packages.iter().map(|package| &package.contents).collect();
    for group in std::iter::once(ours).chain(facts.foreign.iter().map(|contents| vec![contents])) {
        let libraries = group.into_iter().flat_map(Contents::loaded);
        let libraries = libraries.filter(|(_, _, elf)| elf.kind == FileKind::Library);
        let all: Vec<(Subject, BTreeMap<Strings, String>)> =
            libraries.map(|(subject, _, elf)| (subject, strings(elf))).filter(|(_, found)| !found.is_empty()).collect();
        let new = all.iter().find_map(|(subject, found)| Some((subject, found.get(&Strings::New)?)));
        let Some((other, with)) = new else { continue };
        for (subject, function) in all.iter().filter_map(|(subject, found)| Some((subject, found.get(&Strings::Old)?)))
        {
            hits.add(subject, format!("has functions over the old std::string, and {other} over the new one"))
                .evidence(format!("old: {function}"))
                .evidence(format!("new: {with}"));
        }
    }
}

/// How a file comes to the CUDA runtime.
fn cudart(elf: &Facts) -> Option<bool> {
    let shared = elf.needed.iter().any(|name| name.starts_with("libcudart.so") || name.starts_with("libcudart-"));
    // Device code that nobody else registers: the runtime that does is inside, with all its symbols hidden.
    // It opens the driver, which device code alone does not.
    let inside = elf.section(".nvFatBinSegment").is_some()
        && !elf.imports_symbol("__cudaRegisterFatBinary")
        && elf.imports_symbol("dlopen");
    match (shared, inside) {
        (true, _) => Some(false),
        (false, true) => Some(true),
        (false, false) => None,
    }
}

fn cudart_mixed(facts: &BundleFacts, _: &Parameters, hits: &mut Hits) {
    let vendor = &facts.rules.manifests.vendor;
    let ours: Vec<&Contents> = facts.packages.iter().map(|package| &package.contents).collect();
    for group in std::iter::once(ours).chain(facts.foreign.iter().map(|contents| vec![contents])) {
        let files = group.into_iter().flat_map(Contents::loaded);
        // The vendor's own libraries bring what they need, and share nothing with it.
        let files: Vec<(Subject, bool)> = files
            .filter(|(_, file, _)| vendor.library(file.name()).is_none())
            .filter_map(|(subject, _, elf)| Some((subject, cudart(elf)?)))
            .collect();
        let Some((shared, _)) = files.iter().find(|(_, inside)| !inside) else { continue };
        for (subject, _) in files.iter().filter(|(_, inside)| *inside) {
            hits.add(subject, format!("holds a CUDA runtime of its own, and {shared} uses the shared one"))
                .evidence("its device code is registered by nothing that it imports");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::leaves;

    #[test]
    fn links_are_followed_by_their_text() {
        assert!(!leaves("lib", "libx.so.1") && !leaves("lib", "../bin/x") && !leaves("", "lib/x"));
        assert!(leaves("lib", "../../x") && leaves("", "../x") && leaves("lib", "a/../../.."));
    }
}
