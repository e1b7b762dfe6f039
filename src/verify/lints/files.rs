//! Files: the manifest's word against the tree, who owns what, what leaked from the build.

use std::collections::BTreeMap;

use super::super::rules::components;
use super::super::{BundleFacts, Kept, PackageFacts};
use crate::build_system::PREFIX;
use crate::bundle::ArtifactKind;
use crate::lint::{Hits, Parameters, Predicate};
use crate::printable;
use crate::report::Subject;

pub(super) fn predicates() -> Vec<Predicate<BundleFacts>> {
    vec![
        Predicate { id: "artifact-digest", parameters: &[], check: artifact_digest },
        Predicate { id: "build-path-in-text", parameters: &[], check: build_path_in_text },
        Predicate { id: "build-path-leak", parameters: &[], check: build_path_leak },
        Predicate { id: "doubly-claimed", parameters: &[], check: doubly_claimed },
        Predicate { id: "empty-glob", parameters: &[], check: empty_glob },
        Predicate { id: "machine-in-text", parameters: &[], check: machine_in_text },
        Predicate { id: "prefix-in-text", parameters: &[], check: prefix_in_text },
        Predicate { id: "member-outside", parameters: &[], check: member_outside },
        Predicate { id: "unclaimed-file", parameters: &[], check: unclaimed_file },
    ]
}

/// Every artifact of the manifest is there, as it says.
fn artifact_digest(facts: &BundleFacts, _: &Parameters, hits: &mut Hits) {
    for package in &facts.packages {
        for artifact in &package.manifest.artifacts {
            let subject = package.subject(&artifact.path);
            let Some(file) = package.contents.file(&artifact.path) else {
                // An installer has put modules for every Python where its list tells of them, which is held against them.
                if package.manifest.module(&artifact.path).is_some() && matches!(package.kept, Kept::List { .. }) {
                    continue;
                }
                hits.add(subject, "is in the manifest and not in the package");
                continue;
            };
            // Without a digest the file could not be read, which the report says already.
            if let Some((found, change)) = file.artifact_kind().and_then(|found| {
                let change = difference(&artifact.kind, &found)?;
                Some((found, change))
            }) {
                hits.add(subject, format!("is not what its manifest says: {change}"))
                    .evidence(format!("declared: {}", describe(&artifact.kind)))
                    .evidence(format!("found: {}", describe(&found)));
            }
        }
    }
}

fn difference(declared: &ArtifactKind, found: &ArtifactKind) -> Option<&'static str> {
    match (declared, found) {
        (declared, found) if declared == found => None,
        (ArtifactKind::File { sha256, .. }, ArtifactKind::File { sha256: other, .. }) if sha256 != other => {
            Some("other content")
        }
        (ArtifactKind::File { .. }, ArtifactKind::File { .. }) => Some("other size or permissions"),
        (ArtifactKind::Link { .. }, ArtifactKind::Link { .. }) => Some("the link leads elsewhere"),
        _ => Some("a link in place of a file, or a file in place of a link"),
    }
}

fn describe(kind: &ArtifactKind) -> String {
    match kind {
        ArtifactKind::File { sha256, size, executable } => {
            format!("{size} bytes{}, sha256 {sha256}", if *executable { ", executable" } else { "" })
        }
        ArtifactKind::Link { to } => format!("link to {to}"),
    }
}

fn build_path_leak(facts: &BundleFacts, _: &Parameters, hits: &mut Hits) {
    for package in &facts.packages {
        for file in package.files().iter().filter(|file| !file.leaks.is_empty()) {
            hits.add(package.subject(&file.path), format!("holds a path of the build: {}", file.leaks.join(", ")));
        }
    }
}

fn build_path_in_text(facts: &BundleFacts, _: &Parameters, hits: &mut Hits) {
    for package in &facts.packages {
        for file in package.files().iter().filter(|file| !file.leaking.is_empty()) {
            hits.add(package.subject(&file.path), "names directories of its build")
                .evidence_lines(file.leaking.iter().map(|line| printable::text(line)));
        }
    }
}

fn machine_in_text(facts: &BundleFacts, _: &Parameters, hits: &mut Hits) {
    for contents in facts.contents() {
        for file in contents.files.iter().filter(|file| !file.fixed.is_empty()) {
            hits.add(contents.subject(&file.path), "names what is on the machine of its build")
                .evidence_lines(file.fixed.iter().map(|line| printable::text(line)));
        }
    }
}

fn prefix_in_text(facts: &BundleFacts, _: &Parameters, hits: &mut Hits) {
    for package in &facts.packages {
        for file in package.files().iter().filter(|file| !file.prefixed.is_empty()) {
            hits.add(package.subject(&file.path), format!("names {PREFIX}, the prefix of its build"))
                .evidence_lines(file.prefixed.iter().map(|line| printable::text(line)));
        }
    }
}

/// Two packages that are installed together own one path. Builds of one package are never installed
/// together.
fn doubly_claimed(facts: &BundleFacts, _: &Parameters, hits: &mut Hits) {
    let mut owners: BTreeMap<&str, Vec<&PackageFacts>> = BTreeMap::new();
    for package in &facts.packages {
        for file in package.files() {
            let owners = owners.entry(&file.path).or_default();
            // Slices exclude each other, and so do the same parts of two CUDA releases, which wheels have names for.
            let alternative = |other: &PackageFacts| {
                let (one, two) = (&other.manifest, &package.manifest);
                let of_releases =
                    one.component == two.component && one.cuda != two.cuda && one.cuda.is_some() && two.cuda.is_some();
                one.simulator == two.simulator && (one.is_slice() && two.is_slice() || of_releases && one.as_wheel)
            };
            // The same as a wheel is installed elsewhere.
            let elsewhere = |other: &PackageFacts| other.manifest.as_wheel != package.manifest.as_wheel;
            let is_none =
                |other: &&PackageFacts| other.name() == package.name() || alternative(other) || elsewhere(other);
            if !owners.iter().any(is_none) {
                owners.push(package);
            }
        }
    }
    for (path, owners) in owners.into_iter().filter(|(_, owners)| owners.len() > 1) {
        let names: Vec<&str> = owners.iter().map(|package| package.name()).collect();
        hits.add(names[0], format!("{path} also belongs to {}", names[1..].join(", ")));
    }
    for (path, kinds) in &facts.rules.staging.claimed_twice {
        let place = kinds.last().and_then(|kind| facts.rules.component_place(*kind));
        hits.add("staging", format!("{path} is claimed by components {}", components(kinds))).at(place);
    }
}

fn empty_glob(facts: &BundleFacts, _: &Parameters, hits: &mut Hits) {
    for (kind, glob) in &facts.rules.staging.empty_globs {
        let place = facts.rules.declared.as_ref().and_then(|declared| declared.places.glob(*kind, glob));
        hits.add("staging", format!("`{glob}` of component `{kind}` matches nothing that was installed")).at(place);
    }
}

fn member_outside(facts: &BundleFacts, _: &Parameters, hits: &mut Hits) {
    for stray in &facts.strays {
        hits.add(Subject::file(&stray.package, &stray.member), stray.why.clone());
    }
}

fn unclaimed_file(facts: &BundleFacts, _: &Parameters, hits: &mut Hits) {
    for path in &facts.rules.staging.unclaimed {
        hits.add("staging", format!("{path} was installed and no component claims it"));
    }
    for package in &facts.packages {
        for file in package.files().iter().filter(|file| package.artifact(&file.path).is_none()) {
            hits.add(package.subject(&file.path), "is in the package and not in its manifest")
                .fix("build the package again; nothing may be added to it afterwards");
        }
    }
}
