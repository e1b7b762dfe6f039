//! What is wrong with a process although, or because, its loader does what it documents.

use std::collections::BTreeMap;

use super::machine::Lists;
use crate::data::Data;
use crate::elf::resolve::{End, Environment, Link, NeedKind, Outcome, Resolution, Rule};
use crate::error::Result;
use crate::lint::{Hits, Parameters, Predicate, Registry};

/// What the lints look at.
pub(super) struct ProcessFacts<'a> {
    pub(super) file: String,
    pub(super) resolution: Resolution,
    pub(super) environment: Environment,
    /// Directories of the system, where its own packages keep libraries.
    pub(super) system: Vec<String>,
    pub(super) lists: &'a Lists,
}

/// Every lint over processes, joined with its words.
pub(super) fn registry<'a>(data: &Data) -> Result<Registry<ProcessFacts<'a>>> {
    Registry::new(predicates(), |id| data.text(&format!("manifests/lints/{id}.toml")))
}

fn predicates<'a>() -> Vec<Predicate<ProcessFacts<'a>>> {
    let check = |id, check| Predicate { id, parameters: &[], check };
    vec![
        check("load-missing", missing),
        check("load-stub", stub),
        check("load-twice", twice),
        check("load-vendor-system", vendor_system),
        check("load-wrong-machine", wrong_machine),
        check("load-environment", environment),
        check("load-path", path),
        check("load-version", version),
    ]
}

impl ProcessFacts<'_> {
    fn asker(&self, link: &Link) -> &str {
        &self.resolution.objects[link.from].path
    }

    fn winner(&self, link: &Link) -> Option<&str> {
        match link.end {
            End::Found { object, .. } => Some(&self.resolution.objects[object].path),
            _ => None,
        }
    }

    fn is_system(&self, path: &str) -> bool {
        self.system
            .iter()
            .any(|directory| directory_of(path) == directory || path.starts_with(&format!("{directory}/")))
    }
}

fn directory_of(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(directory, _)| directory)
}

fn missing(facts: &ProcessFacts<'_>, _: &Parameters, hits: &mut Hits) {
    for link in facts.resolution.failures() {
        let message = match &link.end {
            End::Fatal { reason } => format!("needs {}, and the process ends there: {reason}", link.name),
            _ => format!("needs {}, which is found nowhere", link.name),
        };
        hits.add(facts.asker(link), message).evidence_lines(
            link.candidates.iter().map(|candidate| format!("{}: {}", candidate.path, super::report::why(candidate))),
        );
    }
}

fn stub(facts: &ProcessFacts<'_>, _: &Parameters, hits: &mut Hits) {
    // A process has few directories and thousands of candidates.
    let mut known: BTreeMap<String, Option<&'static str>> = BTreeMap::new();
    let mut what = |directory: &str| {
        if let Some(known) = known.get(directory) {
            return *known;
        }
        let what = match directory {
            path if facts.lists.drivers.is_stubs(path) => Some("link-time stubs"),
            path if facts.lists.drivers.is_compat(path) => Some("the forward compatibility driver"),
            _ => None,
        };
        known.insert(directory.to_owned(), what);
        what
    };
    for link in &facts.resolution.links {
        let taken = |outcome: &Outcome| matches!(outcome, Outcome::Wins | Outcome::Shadowed);
        for candidate in link.candidates.iter().filter(|candidate| taken(&candidate.outcome)) {
            let Some(what) = what(directory_of(&candidate.path)) else { continue };
            let verb = if candidate.outcome == Outcome::Wins { "takes" } else { "can take" };
            hits.add(facts.asker(link), format!("{verb} {} of {what} for {}", candidate.path, link.name))
                .evidence(format!("by {}", candidate.rule));
        }
    }
    for entry in &facts.resolution.paths {
        if let Some(what) = entry.exists.then(|| what(&entry.directory)).flatten() {
            hits.add(&entry.of, format!("{} names {}, which holds {what}", entry.tag, entry.entry));
        }
    }
}

fn twice(facts: &ProcessFacts<'_>, _: &Parameters, hits: &mut Hits) {
    let mut by_name: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for object in facts.resolution.objects.iter().filter(|object| object.id.is_some()) {
        let name = object.soname.as_deref().unwrap_or_else(|| object.path.rsplit('/').next().unwrap_or_default());
        by_name.entry(name).or_default().push(&object.path);
    }
    for (name, paths) in by_name.into_iter().filter(|(_, paths)| paths.len() > 1) {
        hits.add(&facts.file, format!("loads {} files for {name}", paths.len())).evidence_lines(paths);
    }
}

fn vendor_system(facts: &ProcessFacts<'_>, _: &Parameters, hits: &mut Hits) {
    for link in &facts.resolution.links {
        let by_system = matches!(link.by, Some(Rule::Cache | Rule::Default { .. }));
        let Some(winner) = facts.winner(link).filter(|_| by_system && !facts.is_system(facts.asker(link))) else {
            continue;
        };
        if facts.lists.vendor.library(&link.name).is_some() {
            let by = link.by.as_ref().map(ToString::to_string).unwrap_or_default();
            hits.add(facts.asker(link), format!("takes {winner} of the system for {}", link.name))
                .evidence(format!("by {by}"));
        }
    }
}

fn wrong_machine(facts: &ProcessFacts<'_>, _: &Parameters, hits: &mut Hits) {
    for link in &facts.resolution.links {
        for candidate in &link.candidates {
            let what = match candidate.outcome {
                Outcome::WrongClass => "a 32-bit file",
                Outcome::WrongMachine => "for another processor",
                _ => continue,
            };
            let winner = facts.winner(link).map_or("nothing is taken".to_owned(), |path| format!("{path} is taken"));
            hits.add(facts.asker(link), format!("{} is {what} and passed over; {winner}", candidate.path))
                .evidence(format!("by {}", candidate.rule));
        }
    }
}

fn environment(facts: &ProcessFacts<'_>, _: &Parameters, hits: &mut Hits) {
    if facts.environment.library_path.is_none() {
        return;
    }
    for link in &facts.resolution.links {
        let Some(Rule::LibraryPath { entry }) = &link.by else { continue };
        let other = link.candidates.iter().find(|candidate| {
            matches!(candidate.outcome, Outcome::Shadowed | Outcome::Same)
                && !matches!(candidate.rule, Rule::LibraryPath { .. })
        });
        let message = match other {
            Some(other) if other.outcome == Outcome::Same => continue,
            Some(other) => format!("takes {} by LD_LIBRARY_PATH, else {}", link.name, other.path),
            None => format!("takes {} by LD_LIBRARY_PATH, else nothing", link.name),
        };
        hits.add(facts.asker(link), message).evidence(format!("entry {entry}"));
    }
}

fn path(facts: &ProcessFacts<'_>, _: &Parameters, hits: &mut Hits) {
    for entry in &facts.resolution.paths {
        let shown = if entry.entry.is_empty() { "an empty entry" } else { &entry.entry };
        if entry.relative {
            hits.add(&entry.of, format!("{} has {shown}, which counts from the current directory", entry.tag));
        } else if !entry.exists && !facts.lists.drivers.is_driver_directory(&entry.directory) {
            // A package that finds the driver on all kinds of machines names directories of the others, too.
            hits.add(&entry.of, format!("{} names {shown}, which does not exist", entry.tag));
        }
    }
}

fn version(facts: &ProcessFacts<'_>, _: &Parameters, hits: &mut Hits) {
    let objects = &facts.resolution.objects;
    for lack in &facts.resolution.missing_versions {
        let (from, object) = (&objects[lack.from], &objects[lack.object]);
        let asked = from.kind != Some(NeedKind::Dlopen);
        let when = if asked { "" } else { " when it is opened" };
        hits.add(&from.path, format!("needs {} of {}, which lacks it{when}", lack.version, object.path));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lint::{LintInfo, Over};

    #[test]
    fn data_files_and_predicates_match_one_to_one() {
        let data = Data::at("no such directory");
        let registry = registry(&data).unwrap();
        let with_predicate: Vec<String> = registry.infos().map(|info| info.id.clone()).collect();
        let files = data.embedded_files("manifests/lints");
        let infos = files.iter().filter_map(|(name, text)| {
            let info = LintInfo::parse(name.strip_suffix(".toml")?, std::str::from_utf8(text).ok()?).ok()?;
            (info.over == Over::Process).then_some(info)
        });
        assert_eq!(with_predicate, infos.map(|info| info.id).collect::<Vec<_>>());
    }
}
