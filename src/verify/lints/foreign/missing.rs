//! Libraries that a wheel or an installed project needs and nobody brings.

use std::collections::{BTreeMap, BTreeSet};

use super::super::libraries::needed::provides_by_name;
use crate::lint::{Hits, Parameters};
use crate::package::PythonProject;
use crate::verify::{BundleFacts, Contents};

pub(in super::super) fn library_missing(facts: &BundleFacts, _: &Parameters, hits: &mut Hits) {
    let environments = environments(facts);
    for contents in &facts.foreign {
        if contents.loaded().next().is_none() {
            continue;
        }
        let Some(project) = &contents.project else {
            let reason =
                "it does not say what it requires and for which machines: only wheels and installed projects do";
            hits.not_run(&contents.name, reason);
            continue;
        };
        if contents.platform.as_deref().is_some_and(|tags| tags.contains("musllinux")) {
            hits.not_run(&contents.name, "what machines with musl have is not known");
            continue;
        }
        let around = contents.environment.as_deref().and_then(|name| environments.get(name));
        let asker = Asker { facts, contents, project, around, own: names(contents) };
        // One finding for what one step repairs.
        let mut by_fix: BTreeMap<String, Vec<(&str, Vec<&str>)>> = BTreeMap::new();
        for (library, files) in asker.missing() {
            by_fix.entry(asker.fix(library)).or_default().push((library, files));
        }
        for (fix, missing) in by_fix {
            let libraries: Vec<&str> = missing.iter().map(|(library, _)| *library).collect();
            let lines = missing.iter().map(|(library, files)| format!("{library}: needed by {}", files.join(", ")));
            hits.add(&contents.name, asker.message(&libraries.join(", "))).evidence_lines(lines).fix(fix);
        }
    }
}

/// Names that a NEEDED entry finds in a tree: files, links, SONAMEs.
fn names(contents: &Contents) -> BTreeSet<&str> {
    let files = contents.files.iter().map(|file| file.name());
    files.chain(contents.loaded().filter_map(|(_, _, elf)| elf.soname.as_deref())).collect()
}

/// The names in each environment.
fn environments(facts: &BundleFacts) -> BTreeMap<&str, BTreeSet<&str>> {
    let mut found: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for contents in &facts.foreign {
        if let Some(environment) = &contents.environment {
            found.entry(environment).or_default().extend(names(contents));
        }
    }
    found
}

struct Asker<'a> {
    facts: &'a BundleFacts,
    contents: &'a Contents,
    project: &'a PythonProject,
    /// Names of what is installed beside it.
    around: Option<&'a BTreeSet<&'a str>>,
    own: BTreeSet<&'a str>,
}

impl<'a> Asker<'a> {
    /// What is missing, with the files that need it.
    fn missing(&self) -> BTreeMap<&'a str, Vec<&'a str>> {
        let mut missing: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for (_, file, elf) in self.contents.loaded() {
            for needed in elf.needed.iter().filter(|needed| !self.is_known(needed)) {
                missing.entry(needed).or_default().push(&file.path);
            }
        }
        missing
    }

    fn is_known(&self, library: &str) -> bool {
        let Self { facts, contents, project, around, own } = self;
        let manifests = &facts.rules.manifests;
        let promised = contents.platform.as_deref().and_then(|tags| manifests.glibc.promised_by(tags));
        let brings = |name: &String| manifests.foreign.brings(name, library) || provides_by_name(name, library);
        // A path is another lint's matter, and so is the driver.
        library.contains('/')
            || manifests.vendor.driver(library).is_some()
            || own.contains(library)
            || around.is_some_and(|names| names.contains(library))
            || manifests.foreign.platform_has(library, promised)
            || project.requires.iter().any(brings)
    }

    fn message(&self, libraries: &str) -> String {
        let machines = match self.contents.platform.as_deref() {
            Some(tags) if self.facts.rules.manifests.glibc.promised_by(tags).is_some() => {
                format!("outside of what {tags} allows")
            }
            _ => "which machines need not have".to_owned(),
        };
        let requires: Vec<&str> = self.project.requires.iter().take(SHOWN).map(String::as_str).collect();
        let more = if self.project.requires.len() > SHOWN { " and others" } else { "" };
        match (self.around, requires.as_slice()) {
            (Some(_), _) => format!("needs {libraries}, {machines} and nothing in the environment has"),
            (None, []) => format!("needs {libraries}, {machines} and the wheel does not hold; it requires nothing"),
            (None, _) => {
                let requires = requires.join(", ");
                format!(
                    "needs {libraries}, {machines} and the wheel does not hold; not known to come with {requires}{more}"
                )
            }
        }
    }

    fn fix(&self, library: &str) -> String {
        match self.facts.rules.manifests.foreign.bringer(library) {
            Some(project) => {
                format!("add `{project}` to Requires-Dist, and exclude its libraries from `auditwheel repair`")
            }
            None => "put it in with `auditwheel repair`, or require the project that brings it".to_owned(),
        }
    }
}

/// How many requirements a message names.
const SHOWN: usize = 6;
