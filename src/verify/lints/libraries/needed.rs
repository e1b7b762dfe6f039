//! Libraries that files need or open: each has a provider that the package depends on and that the loader
//! reaches.

use std::collections::BTreeMap;

use crate::bundle::Provider;
use crate::elf;
use crate::lint::{Hits, ParameterKind, Parameters, Predicate};
use crate::recipe::ComponentKind;
use crate::report::Subject;
use crate::verify::{BundleFacts, FileFacts, PackageFacts};

const BASE: &[(&str, ParameterKind)] = &[("base", ParameterKind::Texts)];

pub(in crate::verify::lints) fn predicates() -> Vec<Predicate<BundleFacts>> {
    vec![
        Predicate { id: "driver-linked", parameters: &[], check: driver_linked },
        Predicate { id: "needed-unresolved", parameters: BASE, check: needed_unresolved },
        Predicate { id: "opened-unresolved", parameters: BASE, check: opened_unresolved },
        Predicate { id: "system-library", parameters: &[], check: system_library },
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

/// What the recipe takes from the machine, said once for each package.
fn system_library(facts: &BundleFacts, _: &Parameters, hits: &mut Hits) {
    for package in &facts.packages {
        for outside in &package.manifest.outside {
            let Provider::System { module, version } = &outside.from else { continue };
            hits.add(package.label(), format!("needs {} of the machine, which no package brings", outside.library))
                .evidence(format!("built with {module} {version}, as pkg-config knows it"));
        }
    }
}

/// The versions that a SONAME stands for: `>=13,<14` of `libcudart.so.13`.
fn range(soname: &str) -> String {
    let version = soname.rsplit_once(".so.").map_or("", |(_, version)| version);
    let (before, last) = version.rsplit_once('.').map_or(("", version), |(before, last)| (before, last));
    match last.parse::<u32>() {
        Ok(number) if before.is_empty() => format!(">={number},<{}", number + 1),
        Ok(number) => format!(">={before}.{number},<{before}.{}", number + 1),
        Err(_) => ">=X,<Y".to_owned(),
    }
}

/// Where the distribution has files of a name: (package, directory, component).
type Providers<'a> = BTreeMap<&'a str, Vec<(&'a PackageFacts, &'a str)>>;

fn needed_unresolved(facts: &BundleFacts, parameters: &Parameters, hits: &mut Hits) {
    let providers = providers(facts);
    let base = parameters.texts("base");
    for package in &facts.packages {
        for (subject, file, elf) in package.loaded() {
            let asker = Asker { facts, package, file, elf, verb: "needs", providers: &providers };
            for needed in &elf.needed {
                if needed.contains('/') {
                    hits.add(&subject, format!("NEEDED {needed} is a path; the loader then looks nowhere else"))
                        .fix("link the library by a SONAME without directories");
                } else if !base.contains(&needed.as_str()) && facts.rules.manifests.vendor.driver(needed).is_none() {
                    asker.judge(&subject, needed, hits);
                }
            }
        }
    }
}

/// Names that code passes to `dlopen`: the component declares them, or they stand in its files.
fn opened_unresolved(facts: &BundleFacts, parameters: &Parameters, hits: &mut Hits) {
    let providers = providers(facts);
    let base = parameters.texts("base");
    let outside = |name: &str| base.contains(&name) || facts.rules.manifests.vendor.driver(name).is_some();
    for package in &facts.packages {
        let mut opened = false;
        for (subject, file, elf) in package.loaded() {
            let asker = Asker { facts, package, file, elf, verb: "opens", providers: &providers };
            let opens = elf.imports_symbol("dlopen") || elf.imports_symbol("dlmopen");
            opened |= opens;
            let declared = package.manifest.opens.iter().filter(|_| opens);
            let found = file.opens.iter().filter(|name| !package.manifest.opens.contains(name));
            declared.filter(|name| !outside(name)).for_each(|name| asker.judge(&subject, name, hits));
            found.filter(|name| !outside(name)).for_each(|name| asker.judge(&subject, name, hits));
        }
        if !opened && !package.manifest.opens.is_empty() && package.has_files() {
            let names = package.manifest.opens.join(", ");
            hits.add(package.label(), format!("declares that it opens {names}, and none of its files calls dlopen"))
                .fix("take `opens` out of the recipe");
        }
    }
}

fn providers(facts: &BundleFacts) -> Providers<'_> {
    let mut providers: Providers<'_> = BTreeMap::new();
    for package in &facts.packages {
        for file in package.files() {
            providers.entry(file.name()).or_default().push((package, file.directory()));
        }
    }
    providers
}

/// A file that asks for libraries.
struct Asker<'a> {
    facts: &'a BundleFacts,
    package: &'a PackageFacts,
    file: &'a FileFacts,
    elf: &'a elf::Facts,
    /// `needs` or `opens`.
    verb: &'static str,
    providers: &'a Providers<'a>,
}

impl Asker<'_> {
    /// Whether a name comes from the distribution, by the loader's rules, or from a declared dependency.
    fn judge(&self, subject: &Subject, name: &str, hits: &mut Hits) {
        let Self { facts, package, verb, .. } = self;
        let own = self.providers.get(name).map(Vec::as_slice).unwrap_or_default();
        let for_users: Vec<_> =
            own.iter().filter(|(package, _)| package.manifest.component != ComponentKind::Dev).collect();
        if let Some((provider, _)) = own.first().filter(|_| for_users.is_empty()) {
            hits.add(subject, format!("{verb} {name}, which only the development package {} has", provider.name()))
                .fix("link against a library whose SONAME carries the version, and ship that name");
        } else if let Some((provider, directory)) = for_users.first() {
            self.reached(subject, name, provider, directory, &for_users, hits);
        } else if let Some(library) = facts.rules.manifests.vendor.library(name) {
            if !package.uses().any(|used| used == library.conda || used == library.name) {
                let component = package.manifest.component;
                let declare = format!("add \"{} {}\" to `uses` of component `{component}`", library.name, range(name));
                // What is to be done without need not be declared.
                let is_linked_core = component == ComponentKind::Core && self.elf.needed.iter().any(|it| it == name);
                hits.add(subject, format!("{verb} {name} of {}, which `uses` does not declare", library.conda)).fix(
                    match is_linked_core {
                        true => {
                            format!("do not link it (see core-device-code); only where that is accepted, {declare}")
                        }
                        false => declare,
                    },
                );
            }
        } else if package.manifest.outside.iter().any(|outside| outside.library == name) {
            // Its package is among the dependencies; what the machine has, `system-library` tells.
        } else if facts.rules.symbols.iter().any(|file| file.library == name)
            || package.uses().any(|used| provides_by_name(used, name))
        {
            // A library with a symbols file: its package gets into the dependencies with a computed floor.
        } else if facts.rules.partial {
            hits.incomplete(subject, format!("{verb} {name}, which may lie in a package that is not here"));
        } else {
            hits.add(subject, format!("{verb} {name}: no package has it, and nothing in `uses` is known to bring it"));
        }
    }

    /// Whether the loader takes the file of a package that users have.
    fn reached(
        &self,
        subject: &Subject,
        name: &str,
        provider: &PackageFacts,
        directory: &str,
        for_users: &[&(&PackageFacts, &str)],
        hits: &mut Hits,
    ) {
        let Self { facts, verb, elf, .. } = self;
        let load = facts.loads.get(&self.file.path, name);
        let winner = load.and_then(|load| load.winner.as_deref());
        let directory_of = |path: &str| path.rsplit_once('/').map_or("", |(directory, _)| directory).to_owned();
        if let Some(winner) = winner {
            if !for_users.iter().any(|(_, directory)| directory_of(winner) == **directory) {
                hits.add(subject, format!("{verb} {name}, and the loader takes {winner} of a development package"))
                    .fix(format!("let the RUNPATH lead to {directory} first"));
            }
            return;
        }
        if let Some((path, reason)) = load.and_then(|load| load.passed.first()) {
            hits.add(subject, format!("{verb} {name}, and the loader passes over {path}: {reason}"))
                .fix("ship a library for the same machine as the file that asks for it");
            return;
        }
        let where_ = if directory.is_empty() { "the prefix" } else { directory };
        hits.add(subject, format!("{verb} {name} of {}, but no RUNPATH entry leads to {where_}", provider.name()))
            .evidence(match elf.search_path().join(":") {
                path if path.is_empty() => "it has no RUNPATH".to_owned(),
                path => format!("its RUNPATH: {path}"),
            })
            .fix(format!("give it a RUNPATH with {}", origin_to(self.file.directory(), directory)));
    }
}

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Channels call a library's package by the library's name, with or without `lib`: `hdf5` or
/// `libhdf5` brings `libhdf5_hl.so.310`.
pub(in crate::verify::lints) fn provides_by_name(package: &str, needed: &str) -> bool {
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
