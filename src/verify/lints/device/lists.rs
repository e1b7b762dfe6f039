//! `kernels.json` and the record of sources: what a kernel package says of itself, against its files.

use std::collections::{BTreeMap, BTreeSet};

use super::driver::release;
use crate::bundle::{Artifact, ArtifactKind, KERNELS_LIST, KERNELS_SCHEMA, KernelsList};
use crate::fs::Digest;
use crate::lint::{Hits, Parameters, Predicate};
use crate::recipe::ComponentKind;
use crate::verify::{BundleFacts, PackageFacts};

pub(super) fn predicates() -> Vec<Predicate<BundleFacts>> {
    vec![
        Predicate { id: "kernels-list", parameters: &[], check: kernels_list },
        Predicate { id: "stale-kernels", parameters: &[], check: stale_kernels },
    ]
}

fn kernel_packages(facts: &BundleFacts) -> impl Iterator<Item = &PackageFacts> {
    let kernels = facts.packages.iter().filter(|package| package.manifest.component == ComponentKind::Kernels);
    kernels.filter(|package| package.manifest.target.is_some() && !package.files().is_empty())
}

fn kernels_list(facts: &BundleFacts, _: &Parameters, hits: &mut Hits) {
    for package in kernel_packages(facts) {
        let with_code: BTreeSet<&str> =
            package.files().iter().filter(|file| !file.device.is_empty()).map(|file| file.directory()).collect();
        // A library that ships cut is loaded by its name, without a list.
        for dir in with_code.iter().filter(|_| !package.manifest.is_slice()) {
            if !package.files().iter().any(|file| file.directory() == *dir && file.list.is_some()) {
                hits.add(package.subject(dir), format!("has device code and no {KERNELS_LIST}"));
            }
        }
        for file in package.files() {
            match &file.list {
                None => {}
                Some(Err(why)) => {
                    hits.add(package.subject(&file.path), "cannot be understood").evidence(why);
                }
                Some(Ok(list)) => {
                    for (what, evidence) in differences(package, file.directory(), list) {
                        hits.add(package.subject(&file.path), what).evidence_lines(evidence);
                    }
                }
            }
        }
    }
}

/// What a list says that is not so, with what was seen.
fn differences(package: &PackageFacts, dir: &str, list: &KernelsList) -> Vec<(String, Option<String>)> {
    let manifest = &package.manifest;
    let mut wrong = Vec::new();
    if list.schema != KERNELS_SCHEMA {
        return vec![(format!("has schema {}, this simpack reads {KERNELS_SCHEMA}", list.schema), None)];
    }
    let mut compare = |what: &str, said: String, is: Option<String>| {
        if let Some(is) = is.filter(|is| *is != said) {
            wrong.push((format!("says {what} {said}, the package's is {is}"), None));
        }
    };
    compare("kernel ABI tag", list.kernel_abi.to_string(), manifest.kernel_abi.as_ref().map(ToString::to_string));
    compare("target", list.target.to_string(), manifest.target.map(|target| target.to_string()));
    let cuda = list.cuda.map_or_else(|| "none".to_owned(), |cuda| cuda.to_string());
    compare("CUDA", cuda.clone(), manifest.cuda.map(|cuda| cuda.to_string()));
    let mut parts = dir.rsplit('/').skip(1);
    compare("variant", list.variant.clone(), parts.next().map(str::to_owned));
    if !list.kernels.iter().eq(manifest.own_kernels()) {
        wrong.push(("its kernel table is not the package's".to_owned(), None));
    }
    wrong.extend(modules(package, dir, list));
    for file in package.files().iter().filter(|file| file.directory() == dir) {
        let made = file.device.images.iter().filter_map(release).find(|made| Some(*made) != list.cuda);
        wrong.extend(made.map(|made| (format!("says CUDA {cuda}, {} was compiled by {made}", file.name()), None)));
    }
    wrong
}

/// Modules that the list and the package do not agree on. The package's files are held against its manifest
/// elsewhere, so the manifest speaks for them.
fn modules(package: &PackageFacts, dir: &str, list: &KernelsList) -> Vec<(String, Option<String>)> {
    let below = |artifact: &Artifact| {
        let name = artifact.path.strip_prefix(dir)?.strip_prefix('/')?;
        (name != KERNELS_LIST).then(|| (name.to_owned(), artifact.kind.clone()))
    };
    let there: BTreeMap<String, ArtifactKind> = package.manifest.artifacts.iter().filter_map(below).collect();
    let listed: BTreeMap<String, ArtifactKind> =
        list.modules.iter().map(|artifact| (artifact.path.clone(), artifact.kind.clone())).collect();
    let mut wrong = Vec::new();
    for (name, kind) in &listed {
        match there.get(name) {
            None => wrong.push((format!("lists {name}, which is not there"), None)),
            Some(found) if !same_content(found, kind) => {
                wrong.push((format!("lists another {name} than is there"), None))
            }
            Some(_) => {}
        }
    }
    let code = package.files().iter().filter(|file| file.directory() == dir && !file.device.is_empty());
    let unlisted = code.map(|file| file.name()).filter(|name| !listed.contains_key(*name));
    wrong.extend(unlisted.map(|name| (format!("does not list {name}"), None)));
    wrong
}

/// Formats may take the right to be started from a library.
fn same_content(one: &ArtifactKind, other: &ArtifactKind) -> bool {
    match (one, other) {
        (ArtifactKind::File { sha256: a, size: b, .. }, ArtifactKind::File { sha256: c, size: d, .. }) => {
            (a, b) == (c, d)
        }
        _ => one == other,
    }
}

/// Device code that was compiled from other sources than those at hand.
fn stale_kernels(facts: &BundleFacts, _: &Parameters, hits: &mut Hits) {
    let embedding = facts.packages.iter().filter(|package| !package.manifest.embedded.is_empty());
    for package in kernel_packages(facts).chain(embedding) {
        let Some(at_hand) = sources(facts, package) else { continue };
        let recorded = &package.manifest.provenance.sources;
        if recorded.is_empty() {
            hits.incomplete(package.label(), "does not record the sources that it was compiled from");
            continue;
        }
        let mut changed = Vec::new();
        for (path, digest) in recorded {
            match (at_hand.of)(path) {
                Some(now) if now == *digest => {}
                Some(_) => changed.push(format!("{path} has changed")),
                None if at_hand.whole => changed.push(format!("{path} is gone")),
                None => {}
            }
        }
        if !changed.is_empty() {
            let message = format!("was compiled from other sources than {}", at_hand.whose);
            hits.add(package.label(), message).evidence_lines(changed);
        }
    }
}

/// Digest of a source by its path.
type Lookup<'a> = dyn Fn(&str) -> Option<Digest> + 'a;

/// Sources to compare with.
struct Sources<'a> {
    whose: String,
    /// Nothing else belongs to the source.
    whole: bool,
    of: Box<Lookup<'a>>,
}

/// The recipe's, else those that the release ships.
fn sources<'a>(facts: &'a BundleFacts, package: &'a PackageFacts) -> Option<Sources<'a>> {
    let manifest = &package.manifest;
    let declared = facts.rules.declared.as_ref().filter(|declared| declared.simulator == manifest.simulator);
    if let Some(sources) = declared.and_then(|declared| declared.sources.as_ref()) {
        let of = |path: &str| sources.get(path).copied();
        return Some(Sources { whose: "the recipe's".to_owned(), whole: true, of: Box::new(of) });
    }
    let shipped = facts.packages.iter().find(|other| {
        other.manifest.component == ComponentKind::Source
            && other.manifest.simulator == manifest.simulator
            && other.manifest.version == manifest.version
    })?;
    // The tree of installed sources hangs below a directory of the simulator's own.
    let of = move |path: &str| {
        let ending = format!("/{path}");
        let found = shipped.manifest.artifacts.iter().find(|artifact| artifact.path.ends_with(&ending))?;
        match &found.kind {
            ArtifactKind::File { sha256, .. } => Some(*sha256),
            ArtifactKind::Link { .. } => None,
        }
    };
    Some(Sources { whose: format!("those in {}", shipped.name()), whole: false, of: Box::new(of) })
}
