//! Libraries that must not be inside: the driver's, its stubs, copies of the vendor's.

use crate::lint::{Hits, Parameters, Predicate};
use crate::manifest::{VendorLibrary, unmangled};
use crate::recipe::ComponentKind;
use crate::verify::{BundleFacts, Contents, FileFacts, ObjectFacts, Rules};

pub(in crate::verify::lints) fn predicates() -> Vec<Predicate<BundleFacts>> {
    vec![
        Predicate { id: "dependency-bundled", parameters: &[], check: dependency_bundled },
        Predicate { id: "driver-bundled", parameters: &[], check: driver_bundled },
        Predicate { id: "runtime-renamed", parameters: &[], check: runtime_renamed },
        Predicate { id: "vendor-bundled", parameters: &[], check: vendor_bundled },
        Predicate { id: "vendor-modified", parameters: &[], check: vendor_modified },
    ]
}

/// Names a file goes by: its own, and the SONAMEs of what is in it.
pub(in crate::verify::lints) fn names(file: &FileFacts) -> Vec<&str> {
    let mut names = vec![file.name()];
    names.extend(file.objects.iter().filter_map(|object| object.elf.soname.as_deref()));
    names
}

/// Driver libraries, stubs among them: a stub has the driver's SONAME.
fn driver_bundled(facts: &BundleFacts, _: &Parameters, hits: &mut Hits) {
    for package in facts.contents() {
        for file in &package.files {
            let found = names(file).into_iter().find_map(|name| Some((name, driver(&facts.rules, name)?)));
            if let Some((name, reason)) = found {
                hits.add(package.subject(&file.path), format!("{name} belongs to the driver: {reason}"));
            }
        }
    }
}

fn driver<'a>(rules: &'a Rules, name: &str) -> Option<&'a str> {
    let plain = unmangled(name);
    let library = rules.manifests.vendor.driver(name).or_else(|| rules.manifests.vendor.driver(plain.as_deref()?));
    library.map(|library| library.reason.as_str())
}

/// Whether a file's name is that of the driver's or the vendor's, plain or with a hash.
pub(super) fn is_foreign(rules: &Rules, name: &str) -> bool {
    driver(rules, name).is_some() || rules.manifests.vendor.original(name).is_some()
}

/// Copies of what a package brings that builds were given.
fn dependency_bundled(facts: &BundleFacts, _: &Parameters, hits: &mut Hits) {
    for package in &facts.packages {
        for file in package.files().iter().filter(|file| !file.objects.is_empty()) {
            let given = names(file).into_iter().find_map(|name| facts.rules.staging.given.get_key_value(name));
            let Some((library, owner)) = given else { continue };
            hits.add(package.subject(&file.path), format!("is a copy of {library} of the package {owner}"))
                .evidence(format!("{owner} is in the same environment then, with the same file or another copy of it"))
                .fix("keep it out of the installed files: link it, and the package gets a dependency");
        }
    }
}

fn vendor_bundled(facts: &BundleFacts, _: &Parameters, hits: &mut Hits) {
    let ours = facts.packages.iter().map(|package| &package.contents);
    for package in ours.chain(facts.foreign.iter().filter(|package| !is_vendors_own(&facts.rules, package))) {
        for file in &package.files {
            let Some((plain, library)) = vendor_library(facts, file) else { continue };
            let message = if plain == file.name() || file.name().starts_with("lib") && unmangled(file.name()).is_none()
            {
                format!("is a copy of the vendor's {plain}")
            } else {
                format!("is a renamed copy of the vendor's {plain}")
            };
            hits.add(package.subject(&file.path), message)
                .evidence("a process that also loads the plain one has two copies with separate state")
                .fix(format!("take it out and declare `{}` in `uses` of the component", library.name));
        }
    }
}

fn runtime_renamed(facts: &BundleFacts, _: &Parameters, hits: &mut Hits) {
    for package in facts.contents() {
        for file in package.files.iter().filter(|file| !file.objects.is_empty()) {
            let Some(compiler) = facts.rules.manifests.vendor.renamed_runtime(file.name()) else { continue };
            let message = format!("is a renamed copy of a runtime library of the compilers of {compiler}");
            hits.add(package.subject(&file.path), message);
        }
    }
}

/// The vendor library that a file is a copy of, by its name or its SONAME.
fn vendor_library<'a>(facts: &'a BundleFacts, file: &FileFacts) -> Option<(String, &'a VendorLibrary)> {
    names(file).into_iter().find_map(|name| facts.rules.manifests.vendor.original(name))
}

/// What was changed of a vendor's: search paths and names of the host part, and what is cut out of kernel libraries. Its
/// licence allows to pass on the unchanged library at most, so a waiver must name what permits more.
fn vendor_modified(facts: &BundleFacts, _: &Parameters, hits: &mut Hits) {
    for package in &facts.packages {
        for file in package.files() {
            let is_code = !file.objects.is_empty();
            let Some((plain, library)) = vendor_library(facts, file).filter(|_| is_code) else {
                continue;
            };
            // Vendors do not know where drivers lie on machines of others.
            let is_absolute = |object: &ObjectFacts| object.elf.search_path().iter().any(|path| path.starts_with('/'));
            let how = match package.manifest.component {
                ComponentKind::Kernels if package.manifest.platform.is_some() => "device code was cut out of it",
                ComponentKind::Core | ComponentKind::Rtc if file.objects.iter().any(is_absolute) => {
                    "its search path was set"
                }
                ComponentKind::Core | ComponentKind::Rtc if unmangled(file.name()).is_some() => "it was renamed",
                _ => continue,
            };
            hits.add(package.subject(&file.path), format!("is the vendor's {plain}, changed: {how}"))
                .evidence(format!("the unchanged one comes with the package {}", library.conda));
        }
    }
}

/// The vendor's own package: it says so, or each of its libraries is the vendor's, under its plain name.
fn is_vendors_own(rules: &Rules, package: &Contents) -> bool {
    if let Some(project) = &package.project {
        return rules.manifests.foreign.is_vendors(&project.name);
    }
    let mut libraries = package.loaded().map(|(_, file, _)| file.name()).peekable();
    libraries.peek().is_some() && libraries.all(|name| rules.manifests.vendor.library(name).is_some())
}
