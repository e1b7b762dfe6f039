//! Libraries that must not be inside: the driver's, its stubs, copies of the vendor's.

use super::super::{BundleFacts, Contents, FileFacts, Rules};
use crate::lint::{Hits, Parameters, Predicate};
use crate::manifest::VendorLibrary;

pub(super) fn predicates() -> Vec<Predicate<BundleFacts>> {
    vec![
        Predicate { id: "driver-bundled", parameters: &[], check: driver_bundled },
        Predicate { id: "vendor-bundled", parameters: &[], check: vendor_bundled },
    ]
}

/// Names a file goes by: its own, and the SONAMEs of what is in it.
fn names(file: &FileFacts) -> Vec<&str> {
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
    driver(rules, name).is_some() || rules.manifests.vendor.library(name).is_some() || mangled(rules, name).is_some()
}

fn vendor_bundled(facts: &BundleFacts, _: &Parameters, hits: &mut Hits) {
    let ours = facts.packages.iter().map(|package| &package.contents);
    for package in ours.chain(facts.foreign.iter().filter(|package| !is_vendors_own(&facts.rules, package))) {
        for file in &package.files {
            let found = names(file).into_iter().find_map(|name| {
                let plain = facts.rules.manifests.vendor.library(name).map(|library| (name.to_owned(), library));
                plain.or_else(|| mangled(&facts.rules, name))
            });
            let Some((plain, library)) = found else { continue };
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

/// The vendor's own package: each of its libraries is the vendor's, under its plain name.
fn is_vendors_own(rules: &Rules, package: &Contents) -> bool {
    let mut libraries = package.loaded().map(|(_, file, _)| file.name()).peekable();
    libraries.peek().is_some() && libraries.all(|name| rules.manifests.vendor.library(name).is_some())
}

fn mangled<'a>(rules: &'a Rules, name: &str) -> Option<(String, &'a VendorLibrary)> {
    let plain = unmangled(name)?;
    let library = rules.manifests.vendor.library(&plain)?;
    Some((plain, library))
}

/// `libcudart.so.13` of `libcudart-9335f6a2.so.13`: wheels' repair tools put a hash into the name so
/// that the copy cannot clash.
fn unmangled(name: &str) -> Option<String> {
    let end = name.find(".so")?;
    let (stem, hash) = name[..end].rsplit_once('-')?;
    let is_hash = (6..=64).contains(&hash.len()) && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_hash.then(|| format!("{stem}{}", &name[end..]))
}

#[cfg(test)]
mod tests {
    use super::unmangled;

    #[test]
    fn hashes_in_names_are_seen() {
        assert_eq!(unmangled("libcudart-9335f6a2.so.13").as_deref(), Some("libcudart.so.13"));
        assert_eq!(unmangled("libnvrtc-builtins.so.13.0"), None);
        assert_eq!(unmangled("libcudart.so.13"), None);
        assert_eq!(unmangled("libx-12.so"), None);
    }
}
