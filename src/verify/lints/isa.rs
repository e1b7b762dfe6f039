//! The processor that host code needs, against the level of the package.

use super::super::{BundleFacts, Contents, FileFacts, ObjectFacts};
use crate::elf::{HostCode, Need, Use};
use crate::lint::{Hits, ParameterKind, Parameters, Predicate};
use crate::report::Subject;

pub(super) fn predicates() -> Vec<Predicate<BundleFacts>> {
    const MOST: (&str, ParameterKind) = ("most-level", ParameterKind::Number);
    const SHOWN: (&str, ParameterKind) = ("most-functions", ParameterKind::Number);
    vec![
        Predicate { id: "isa-instructions", parameters: &[MOST, SHOWN], check: isa_instructions },
        Predicate { id: "isa-level", parameters: &[MOST, SHOWN], check: isa_level },
    ]
}

/// What the files of one run may need.
struct Limit {
    /// Highest level.
    most: u64,
    /// Whether a recipe says so.
    declared: bool,
}

impl Limit {
    fn of(facts: &BundleFacts, parameters: &Parameters) -> Self {
        let declared = facts.rules.processor;
        Self { most: declared.map_or(parameters.number("most-level"), u64::from), declared: declared.is_some() }
    }

    /// A directory of glibc-hwcaps is searched on processors of its level only.
    fn at(&self, file: &FileFacts) -> u64 {
        let own = file.directory().rsplit('/').next().and_then(|name| name.strip_prefix("x86-64-v")?.parse().ok());
        own.filter(|_| file.directory().contains("glibc-hwcaps/")).unwrap_or(self.most)
    }
}

/// Every object of host code: its subject, its limit.
fn objects<'a>(
    facts: &'a BundleFacts,
    limit: &'a Limit,
) -> impl Iterator<Item = (Subject, u64, &'a ObjectFacts)> + use<'a> {
    let files = facts.contents().flat_map(|contents| contents.files.iter().map(move |file| (contents, file)));
    files.flat_map(move |(contents, file)| {
        file.objects.iter().map(move |object| (subject(contents, file, object), limit.at(file), object))
    })
}

fn subject(contents: &Contents, file: &FileFacts, object: &ObjectFacts) -> Subject {
    match &object.member {
        Some(member) => contents.subject(&format!("{}({member})", file.path)),
        None => contents.subject(&file.path),
    }
}

/// Needs above a level, the lowest first. Extensions are in no level, so they are above each.
fn above(code: &HostCode, most: u64) -> Vec<(&Need, &Use)> {
    let above = |need: &Need| match need {
        Need::Level(level) => u64::from(*level) > most,
        Need::Extension(_) => true,
    };
    code.needs.iter().filter(|(need, _)| above(need)).collect()
}

/// `x86-64-v3, AES`.
fn list(needs: &[(&Need, &Use)]) -> String {
    needs.iter().map(|(need, _)| need.to_string()).collect::<Vec<_>>().join(", ")
}

fn lines(needs: &[(&Need, &Use)], parameters: &Parameters) -> Vec<String> {
    let most = usize::try_from(parameters.number("most-functions")).unwrap_or(usize::MAX);
    let line = |(need, found): &(&Need, &Use)| {
        let functions = found.functions.iter().take(most).map(|(name, first)| format!("{name} ({first})"));
        let mut text = format!("{need}: {} instructions, in {}", found.count, functions.collect::<Vec<_>>().join(", "));
        if found.functions.len() > most {
            text.push_str(&format!(" and {} more functions", found.functions.len() - most));
        }
        text
    };
    needs.iter().map(line).collect()
}

/// What the linker was told; and of a recipe that declares a level, what nothing keeps from being executed.
fn isa_level(facts: &BundleFacts, parameters: &Parameters, hits: &mut Hits) {
    let limit = Limit::of(facts, parameters);
    for (subject, most, object) in objects(facts, &limit) {
        if let Some(level) = object.isa.filter(|level| u64::from(*level) > most) {
            hits.add(&subject, format!("needs a processor of x86-64-v{level}, above the level {most} of the package"))
                .evidence("its GNU property note says so (GNU_PROPERTY_X86_ISA_1_NEEDED)");
        }
        let Some(code) = object.code.as_ref().filter(|code| limit.declared && code.asks.is_none()) else { continue };
        let needs = above(code, most);
        if !needs.is_empty() {
            let words = format!("holds instructions of {}, above the level {most} of the package", list(&needs));
            hits.add(&subject, words)
                .evidence("nothing in the file asks the processor whether it has them")
                .evidence_lines(lines(&needs, parameters));
        }
    }
}

/// What else `--deep` saw: code that is chosen at run time, and code of packages whose level nobody declared.
fn isa_instructions(facts: &BundleFacts, parameters: &Parameters, hits: &mut Hits) {
    let limit = Limit::of(facts, parameters);
    for (subject, most, object) in objects(facts, &limit) {
        let Some(code) = object.code.as_ref().filter(|code| !limit.declared || code.asks.is_some()) else { continue };
        let needs = above(code, most);
        if !needs.is_empty() {
            let asks = match &code.asks {
                Some(how) => format!("it asks the processor what it can: {how}"),
                None => "nothing in the file asks the processor whether it has them".to_owned(),
            };
            hits.add(&subject, format!("holds instructions of {}", list(&needs)))
                .evidence(asks)
                .evidence_lines(lines(&needs, parameters));
        }
    }
}
