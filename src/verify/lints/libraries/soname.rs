//! SONAMEs against the version policy of their component.

use super::bundled;
use crate::elf::FileKind;
use crate::lint::{Hits, Parameters, Predicate};
use crate::verify::BundleFacts;

pub(in crate::verify::lints) fn predicates() -> Vec<Predicate<BundleFacts>> {
    vec![Predicate { id: "soname-policy", parameters: &[], check: soname_policy }]
}

/// Libraries that others link against lie directly in `lib/` and start with `lib`; plug-ins and
/// Python modules lie deeper and are opened by path.
fn soname_policy(facts: &BundleFacts, _: &Parameters, hits: &mut Hits) {
    for package in &facts.packages {
        let policy = package.manifest.policy;
        let Some(version) = policy.series(package.manifest.version) else { continue };
        for (subject, file, elf) in package.loaded() {
            let name = file.name();
            if elf.kind != FileKind::Library || file.directory() != "lib" || !name.starts_with("lib") {
                continue;
            }
            // A copy of somebody else's library is vendor-bundled's; its SONAME is not this component's.
            if bundled::is_foreign(&facts.rules, name) {
                continue;
            }
            let stem = name.find(".so").map_or(name, |end| &name[..end]);
            let wanted = format!("{stem}.so.{version}");
            match &elf.soname {
                None => {
                    hits.add(subject, format!("has no SONAME; policy `{policy}` asks for {wanted}"))
                        .fix(format!("link it with -Wl,-soname,{wanted}"));
                }
                Some(soname) if *soname != wanted => {
                    hits.add(subject, format!("has SONAME {soname}; policy `{policy}` asks for {wanted}")).evidence(
                        format!("version {} of component `{}`", package.manifest.version, package.manifest.component),
                    );
                }
                Some(soname) => {
                    let path = format!("lib/{soname}");
                    if !package.files().iter().any(|file| file.path == path) {
                        hits.add(subject, format!("no file or link lib/{soname} lies beside it"))
                            .evidence("programs that link it look for that name")
                            .fix(format!("install lib/{soname}, or a link to it, and let `files` claim it"));
                    }
                }
            }
        }
    }
}
