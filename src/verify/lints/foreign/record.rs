//! A project's list of its files against the files.

use std::collections::BTreeSet;

use crate::fs::EntryKind;
use crate::lint::{Hits, Parameters};
use crate::package::{KeptState, PythonProject, RecordedDigest, RecordedFile};
use crate::report::Subject;
use crate::verify::{BundleFacts, Contents, FileFacts, Kept, PackageFacts};

pub(in super::super) fn record_mismatch(facts: &BundleFacts, parameters: &Parameters, hits: &mut Hits) {
    let most = usize::try_from(parameters.number("most-names")).unwrap_or(usize::MAX);
    facts.packages.iter().for_each(|package| installed(package, most, hits));
    for contents in &facts.foreign {
        let Some(project) = &contents.project else {
            hits.not_run(
                &contents.name,
                "nothing lists its files with digests: it is no wheel and no installed project",
            );
            continue;
        };
        let subject = contents.subject(&project.record());
        let lines = match &project.files {
            Ok(lines) => lines,
            Err(reason) => {
                hits.incomplete(subject, reason);
                continue;
            }
        };
        for (what, names) in (Comparison { contents, project, lines }).differences() {
            add(&subject, what, &names, what.fix(), most, hits);
        }
    }
}

fn add(subject: &Subject, what: Difference, names: &[String], fix: &str, most: usize, hits: &mut Hits) {
    let more = names.len().saturating_sub(most);
    hits.add(subject, what.message(names.len()))
        .evidence_lines(names.iter().take(most).cloned())
        .evidence_lines((more > 0).then(|| format!("and {more} more")))
        .fix(fix);
}

/// What was kept of the installation of a package of simpack's.
fn installed(package: &PackageFacts, most: usize, hits: &mut Hits) {
    let (place, differences) = match &package.kept {
        Kept::Nothing => return,
        Kept::NoList => {
            return hits.not_run(package.label(), "nothing keeps digests of what lies beside its simpack.json");
        }
        Kept::List { place, differences } => (package.subject(place), differences),
    };
    let found = match differences {
        Ok(found) => found,
        Err(reason) => return hits.incomplete(place, reason),
    };
    for (state, what) in [(KeptState::Missing, Difference::Missing), (KeptState::Changed, Difference::Changed)] {
        let names: Vec<String> =
            found.iter().filter(|(kind, _)| *kind == state).map(|(_, path)| path.clone()).collect();
        if !names.is_empty() {
            add(&place, what, &names, "install the package again", most, hits);
        }
    }
}

/// What may be wrong with a file.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Difference {
    Missing,
    Changed,
    Unlisted,
    WithoutDigest,
}

impl Difference {
    fn message(self, count: usize) -> String {
        match (self, count) {
            (Self::Missing, 1) => "lists a file that is not there".to_owned(),
            (Self::Missing, _) => format!("lists {count} files that are not there"),
            (Self::Changed, 1) => "has another digest or size than the file itself".to_owned(),
            (Self::Changed, _) => format!("has other digests or sizes than {count} files themselves"),
            (Self::Unlisted, 1) => "does not list a file that is there".to_owned(),
            (Self::Unlisted, _) => format!("does not list {count} files that are there"),
            (Self::WithoutDigest, 1) => "has no digest that installers check for a file".to_owned(),
            (Self::WithoutDigest, _) => format!("has no digests that installers check for {count} files"),
        }
    }

    fn fix(self) -> &'static str {
        match self {
            Self::Missing => "install it again; in a wheel, pack it again with `python -m wheel pack`",
            Self::Changed => {
                "install it again; whoever changed a file in a wheel packs it again with `python -m wheel pack`"
            }
            Self::Unlisted | Self::WithoutDigest => {
                "pack the wheel again with `python -m wheel pack`, which lists what is there"
            }
        }
    }
}

struct Comparison<'a> {
    contents: &'a Contents,
    project: &'a PythonProject,
    lines: &'a [RecordedFile],
}

impl<'a> Comparison<'a> {
    /// What is wrong, with the files, sorted.
    fn differences(&self) -> Vec<(Difference, Vec<String>)> {
        let mut found: BTreeSet<(Difference, &str)> = BTreeSet::new();
        for line in self.lines.iter().filter(|line| !self.project.is_list(&line.path)) {
            found.extend(self.difference(line).map(|what| (what, line.path.as_str())));
        }
        found.extend(self.unlisted().map(|path| (Difference::Unlisted, path)));
        let all = [Difference::Missing, Difference::Changed, Difference::Unlisted, Difference::WithoutDigest];
        let of = |what: Difference| {
            let names = found.iter().filter(|(kind, _)| *kind == what).map(|(_, path)| (*path).to_owned());
            (what, names.collect::<Vec<_>>())
        };
        all.into_iter().map(of).filter(|(_, names)| !names.is_empty()).collect()
    }

    fn difference(&self, line: &RecordedFile) -> Option<Difference> {
        let Some(file) = self.contents.file(&line.path) else {
            // What Python compiles it compiles again.
            return (!is_compiled(&line.path)).then_some(Difference::Missing);
        };
        let is_size = match file.kind {
            EntryKind::File { size, .. } => line.size.is_none_or(|told| told == size),
            _ => true,
        };
        match &line.digest {
            RecordedDigest::Sha256(told) => {
                let is_same = file.digest.is_none_or(|digest| digest == *told);
                (!is_same || !is_size).then_some(Difference::Changed)
            }
            RecordedDigest::None if self.is_wheel() && !is_compiled(&line.path) => Some(Difference::WithoutDigest),
            RecordedDigest::None => None,
            RecordedDigest::Other(_) if !is_size => Some(Difference::Changed),
            RecordedDigest::Other(_) => Some(Difference::WithoutDigest),
        }
    }

    /// A wheel that is not installed: all that is in it is its own.
    fn is_wheel(&self) -> bool {
        self.contents.environment.is_none()
    }

    fn unlisted(&self) -> impl Iterator<Item = &'a str> {
        let listed: BTreeSet<&str> = self.lines.iter().map(|line| line.path.as_str()).collect();
        let (project, is_wheel) = (self.project, self.is_wheel());
        let is_unlisted =
            move |file: &&FileFacts| is_wheel && !listed.contains(file.path.as_str()) && !project.is_list(&file.path);
        self.contents.files.iter().filter(is_unlisted).map(|file| file.path.as_str())
    }
}

fn is_compiled(path: &str) -> bool {
    path.ends_with(".pyc")
}
