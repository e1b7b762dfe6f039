//! NEEDED entries: each has a provider that the package depends on and that its RUNPATH reaches.

use std::collections::BTreeMap;

use super::super::{BundleFacts, FileFacts, PackageFacts};
use super::search_path::{SearchDir, search_dir};
use crate::elf;
use crate::lint::{Hits, ParameterKind, Parameters, Predicate};
use crate::recipe::ComponentKind;

pub(super) fn predicates() -> Vec<Predicate<BundleFacts>> {
    vec![
        Predicate { id: "driver-linked", parameters: &[], check: driver_linked },
        Predicate { id: "needed-resolved", parameters: &[("base", ParameterKind::Texts)], check: needed_resolved },
    ]
}

/// Whoever is linked with the driver cannot start on a machine without one.
fn driver_linked(facts: &BundleFacts, _: &Parameters, hits: &mut Hits) {
    for package in facts.contents() {
        for (subject, _, elf) in package.loaded() {
            for needed in
                elf.needed.iter().filter(|needed| facts.rules.manifests.vendor.driver(file_name(needed)).is_some())
            {
                hits.add(&subject, format!("is linked with the driver's {needed}"));
            }
        }
    }
}

/// Where the distribution has files of a name: (package, directory, component).
type Providers<'a> = BTreeMap<&'a str, Vec<(&'a PackageFacts, &'a str)>>;

fn needed_resolved(facts: &BundleFacts, parameters: &Parameters, hits: &mut Hits) {
    let mut providers: Providers<'_> = BTreeMap::new();
    for package in &facts.packages {
        for file in package.files() {
            providers.entry(file.name()).or_default().push((package, file.directory()));
        }
    }
    let base = parameters.texts("base");
    for package in &facts.packages {
        for (subject, file, elf) in package.loaded() {
            for needed in &elf.needed {
                if needed.contains('/') {
                    hits.add(&subject, format!("NEEDED {needed} is a path; the loader then looks nowhere else"))
                        .fix("link the library by a SONAME without directories");
                } else if !base.contains(&needed.as_str()) && facts.rules.manifests.vendor.driver(needed).is_none() {
                    one(facts, package, &subject, file, elf, needed, &providers, hits);
                }
            }
        }
    }
}

#[expect(clippy::too_many_arguments, reason = "one call site; a struct would only name them twice")]
fn one(
    facts: &BundleFacts,
    package: &PackageFacts,
    subject: &str,
    file: &FileFacts,
    elf: &elf::Facts,
    needed: &str,
    providers: &Providers<'_>,
    hits: &mut Hits,
) {
    let own = providers.get(needed).map(Vec::as_slice).unwrap_or_default();
    let for_users: Vec<_> =
        own.iter().filter(|(package, _)| package.manifest.component != ComponentKind::Dev).collect();
    if let Some((provider, _)) = own.first().filter(|_| for_users.is_empty()) {
        hits.add(subject, format!("needs {needed}, which only the development package {} has", provider.name()))
            .fix("link against a library whose SONAME carries the version, and ship that name");
        return;
    }
    if !for_users.is_empty() {
        let reached: Vec<SearchDir> =
            elf.search_path().iter().map(|entry| search_dir(entry, file.directory())).collect();
        let found = for_users.iter().any(|(_, dir)| reached.contains(&SearchDir::Prefix((*dir).to_owned())));
        if !found {
            let (provider, dir) = for_users[0];
            let where_ = if *dir == "." || dir.is_empty() { "the prefix" } else { dir };
            hits.add(subject, format!("needs {needed} of {}, but no RUNPATH entry leads to {where_}", provider.name()))
                .evidence(match elf.search_path().join(":") {
                    path if path.is_empty() => "it has no RUNPATH".to_owned(),
                    path => format!("its RUNPATH: {path}"),
                })
                .fix(format!("give it a RUNPATH with {}", origin_to(file.directory(), dir)));
        }
        return;
    }
    if let Some(library) = facts.rules.manifests.vendor.library(needed) {
        if !package.uses().any(|name| name == library.conda || name == library.name) {
            hits.add(subject, format!("needs {needed} of {}, which `uses` does not declare", library.conda)).fix(
                format!("add \"{} >=X,<Y\" to `uses` of component `{}`", library.name, package.manifest.component),
            );
        }
        return;
    }
    // A library with a symbols file: its package gets into the dependencies with a computed floor.
    if facts.rules.symbols.iter().any(|file| file.library == needed) {
        return;
    }
    if package.uses().any(|name| provides_by_name(name, needed)) {
        return;
    }
    if facts.rules.partial {
        hits.incomplete(subject, format!("needs {needed}, which may lie in a package that is not here"));
    } else {
        hits.add(subject, format!("needs {needed}: no package has it, and nothing in `uses` is known to bring it"));
    }
}

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Channels call a library's package by the library's name, with or without `lib`: `hdf5` or
/// `libhdf5` brings `libhdf5_hl.so.310`.
fn provides_by_name(package: &str, needed: &str) -> bool {
    let bare = |text: &str| text.strip_prefix("lib").unwrap_or(text).to_lowercase();
    let stem = bare(needed.split(".so").next().unwrap_or(needed));
    let package = bare(package);
    stem == package || stem.strip_prefix(&package).is_some_and(|rest| rest.starts_with(['_', '-', '.']))
}

/// `$ORIGIN/../lib` from `bin` to `lib`.
fn origin_to(from: &str, to: &str) -> String {
    let split = |path: &str| path.split('/').filter(|part| !part.is_empty()).map(str::to_owned).collect::<Vec<_>>();
    let (from, to) = (split(from), split(to));
    let same = from.iter().zip(&to).take_while(|(a, b)| a == b).count();
    let mut parts = vec!["$ORIGIN".to_owned()];
    parts.extend(std::iter::repeat_n("..".to_owned(), from.len() - same));
    parts.extend(to[same..].iter().cloned());
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_are_known_by_their_libraries_names() {
        assert!(provides_by_name("hdf5", "libhdf5.so.310"));
        assert!(provides_by_name("libhdf5", "libhdf5_hl.so.310"));
        assert!(provides_by_name("libabseil", "libabseil.so"));
        assert!(!provides_by_name("hdf", "libhdf5.so.310"));
        assert!(!provides_by_name("zlib", "libzstd.so.1"));
    }

    #[test]
    fn ways_between_directories() {
        assert_eq!(origin_to("bin", "lib"), "$ORIGIN/../lib");
        assert_eq!(origin_to("lib", "lib"), "$ORIGIN");
        assert_eq!(origin_to("lib/volley", "lib"), "$ORIGIN/..");
    }
}
