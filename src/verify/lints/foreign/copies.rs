//! Copies of one library that meet in one process: all that an environment holds, or one wheel.

use std::collections::{BTreeMap, BTreeSet};

use crate::elf::{library_stem, soname_major};
use crate::lint::{Hits, Parameters};
use crate::manifest::ForeignPackages;
use crate::report::Subject;
use crate::verify::{BundleFacts, Contents};

/// Copies by what tells them apart: a stem, or a family of which two hurt.
type Groups<'a> = BTreeMap<Group<'a>, BTreeSet<(&'a str, Subject)>>;

/// What copies have in common.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Group<'a> {
    /// Copies of it hurt each other: family, and major where only those of one do.
    Hurts(&'a str, Option<u32>),
    /// Copies of it cost memory: stem and major, or the one name of what has several.
    Costs(&'a str, Option<u32>),
}

/// Libraries that are known to hurt when two of them are in one process.
pub(in super::super) fn hurt(facts: &BundleFacts, _: &Parameters, hits: &mut Hits) {
    let foreign = &facts.rules.manifests.foreign;
    each(facts, |place, group, copies| {
        let Group::Hurts(family, major) = group else { return };
        let hurts = foreign.family_named(family).map(|family| family.hurts.as_str()).unwrap_or_default();
        let major = major.map(|major| format!(" ({major})")).unwrap_or_default();
        hits.add(place, format!("holds {} {family}{major}; two in one process hurt: {hurts}", copies.len()))
            .evidence_lines(told(copies));
    });
}

/// Copies of any other library.
pub(in super::super) fn meet(facts: &BundleFacts, _: &Parameters, hits: &mut Hits) {
    let environments: BTreeSet<&str> = facts.foreign.iter().filter_map(|it| it.environment.as_deref()).collect();
    each(facts, |place, group, copies| {
        // Of one wheel the copies are known by what they export (library-twice).
        let Group::Costs(stem, _) = group else { return };
        if !environments.contains(place) {
            return;
        }
        hits.add(
            place,
            format!("holds {} copies of {stem}: a process that loads them has each in memory", copies.len()),
        )
        .evidence_lines(told(copies));
    });
}

fn told(copies: &BTreeSet<(&str, Subject)>) -> Vec<String> {
    copies.iter().map(|(_, subject)| subject.to_string()).collect()
}

/// Copies under different names that meet: in one environment, else in one wheel.
fn each<'a>(facts: &'a BundleFacts, mut visit: impl FnMut(&str, Group<'a>, &BTreeSet<(&'a str, Subject)>)) {
    let mut places: BTreeMap<&str, Vec<&Contents>> = BTreeMap::new();
    for contents in &facts.foreign {
        places.entry(contents.environment.as_deref().unwrap_or(&contents.name)).or_default().push(contents);
    }
    for (place, all) in places {
        let mut groups = Groups::new();
        for contents in all {
            add(contents, &facts.rules.manifests.foreign, &mut groups);
        }
        for (group, copies) in &groups {
            let names: BTreeSet<&str> = copies.iter().map(|(name, _)| *name).collect();
            if names.len() > 1 {
                visit(place, *group, copies);
            }
        }
    }
}

/// The libraries of a tree. What has no version and no hash in its name is a module or a plug-in.
fn add<'a>(contents: &'a Contents, foreign: &'a ForeignPackages, groups: &mut Groups<'a>) {
    for (subject, file, elf) in contents.loaded() {
        let name = elf.soname.as_deref().unwrap_or(file.name());
        let (stem, major) = (library_stem(name), soname_major(name));
        let group = match (foreign.family(stem), foreign.one_name(stem)) {
            (Some(family), _) => {
                let (family, major) = family.group(major);
                Group::Hurts(family, major)
            }
            (None, Some(name)) => Group::Costs(name, None),
            (None, None) if stem.starts_with("lib") => Group::Costs(stem, major),
            (None, None) => continue,
        };
        groups.entry(group).or_default().insert((name, subject));
    }
}
