//! Symbol versions of the compiler's libraries, against what the machines of the recipe's or
//! the wheel's glibc have.

use std::collections::{BTreeMap, BTreeSet};

use super::super::{BundleFacts, Contents, FileFacts, PackageFacts};
use crate::elf::{self, Facts};
use crate::lint::{Hits, ParameterKind, Parameters, Predicate};
use crate::manifest::GlibcLevel;
use crate::report::Subject;

pub(super) fn predicates() -> Vec<Predicate<BundleFacts>> {
    const MOST: &[(&str, ParameterKind)] = &[("most-symbols", ParameterKind::Number)];
    vec![Predicate { id: "runtime-ceiling", parameters: MOST, check: runtime_ceiling }]
}

/// Families of versions, the library that defines them, and conda packages that bring a newer one.
const FAMILIES: [(&str, &str, [&str; 2]); 3] = [
    ("GLIBCXX", "libstdc++.so.6", ["libstdcxx", "libstdcxx-ng"]),
    ("CXXABI", "libstdc++.so.6", ["libstdcxx", "libstdcxx-ng"]),
    ("GCC", "libgcc_s.so.1", ["libgcc", "libgcc-ng"]),
];

/// The level of manylinux that the recipe's glibc makes, or that a wheel's platform tag names: the highest one
/// that is not above it.
fn runtime_ceiling(facts: &BundleFacts, parameters: &Parameters, hits: &mut Hits) {
    let most = usize::try_from(parameters.number("most-symbols")).unwrap_or(usize::MAX);
    let levels = &facts.rules.manifests.glibc;
    if let Some(level) = facts.rules.glibc_ceiling.and_then(|glibc| levels.highest_within(glibc)) {
        for package in &facts.packages {
            for needs in above(&package.contents, level, |names| brings(package, names), most) {
                let lines = (!needs.symbols.is_empty()).then(|| format!("because of {}", needs.symbols));
                hits.add(&needs.subject, message(&[&needs], level)).evidence_lines(lines);
            }
        }
    }
    for wheel in &facts.foreign {
        let promised = wheel.platform.as_deref().and_then(|tags| levels.promised_by(tags));
        if let Some(level) = promised.and_then(|glibc| levels.highest_within(glibc)) {
            of_a_wheel(wheel, level, most, hits);
        }
    }
}

/// What a wheel needs above the level that it promises: one finding, because its tag, or its compiler, is the one cause.
fn of_a_wheel(wheel: &Contents, level: &GlibcLevel, most: usize, hits: &mut Hits) {
    let needs = above(wheel, level, |_| false, most);
    let mut highest: BTreeMap<&str, &Needs> = BTreeMap::new();
    for one in &needs {
        let known = highest.entry(one.family).or_insert(one);
        if known.version < one.version {
            *known = one;
        }
    }
    let highest: Vec<&Needs> = highest.into_values().collect();
    if highest.is_empty() {
        return;
    }
    let line = |one: &Needs| {
        let what = format!("{}: {}", one.subject, one.version());
        if one.symbols.is_empty() { what } else { format!("{what} because of {}", one.symbols) }
    };
    hits.add(&wheel.name, message(&highest, level)).evidence_lines(needs.iter().map(line));
}

/// `needs GLIBCXX_3.4.21 of libstdc++.so.6; machines of manylinux_2_17 have 3.4.19`, of one or several families.
fn message(needs: &[&Needs], level: &GlibcLevel) -> String {
    let wanted: Vec<String> = needs.iter().map(|one| format!("{} of {}", one.version(), one.library)).collect();
    let have = |one: &&Needs| match needs {
        [_] => dotted(&one.limit),
        _ => format!("{}_{}", one.family, dotted(&one.limit)),
    };
    let have: Vec<String> = needs.iter().map(have).collect();
    format!("needs {}; machines of {} have {}", wanted.join(" and "), level.name, have.join(" and "))
}

/// A family of versions that a file needs above a level.
struct Needs {
    subject: Subject,
    family: &'static str,
    library: &'static str,
    version: Vec<u32>,
    limit: Vec<u32>,
    /// The symbols because of which, as far as they are shown.
    symbols: String,
}

impl Needs {
    fn version(&self) -> String {
        format!("{}_{}", self.family, dotted(&self.version))
    }
}

/// Every file against a level. What the package itself holds or brings may be newer than the machine's.
fn above(contents: &Contents, level: &GlibcLevel, brings: impl Fn(&[&str]) -> bool, most: usize) -> Vec<Needs> {
    let held: BTreeSet<&str> = contents.files.iter().map(FileFacts::name).collect();
    let mut found = Vec::new();
    for (family, library, brought_by) in FAMILIES {
        if held.contains(library) || brings(&brought_by) {
            continue;
        }
        let limit = numbers(ceiling(level, family));
        for (subject, _, elf) in contents.loaded() {
            // A copy under a name of its own defines what it likes.
            let versions = elf.version_needs.get(library).into_iter().flatten();
            let Some(version) = elf::highest(versions, family).filter(|needs| *needs > limit) else { continue };
            let names = symbols_above(elf, family, &limit);
            let rest = names.len().saturating_sub(most);
            let mut symbols = names[..names.len() - rest].join(", ");
            if rest > 0 {
                symbols.push_str(&format!(" and {rest} more"));
            }
            found.push(Needs { subject, family, library, version, limit: limit.clone(), symbols });
        }
    }
    found
}

fn ceiling<'a>(level: &'a GlibcLevel, family: &str) -> &'a str {
    match family {
        "GLIBCXX" => &level.glibcxx,
        "CXXABI" => &level.cxxabi,
        _ => &level.gcc,
    }
}

fn brings(package: &PackageFacts, names: &[&str]) -> bool {
    package.uses().any(|used| names.contains(&used))
}

fn numbers(version: &str) -> Vec<u32> {
    version.split('.').map_while(|part| part.parse().ok()).collect()
}

fn dotted(version: &[u32]) -> String {
    version.iter().map(u32::to_string).collect::<Vec<_>>().join(".")
}

/// Imported symbols whose version of a family is above `limit`, the newest first, as people wrote them.
fn symbols_above(elf: &Facts, family: &str, limit: &[u32]) -> Vec<String> {
    let mut found: Vec<(Vec<u32>, String)> = Vec::new();
    for import in &elf.imports {
        let version = import.version.as_deref().and_then(|version| version.strip_prefix(family)?.strip_prefix('_'));
        if let Some(version) = version.map(numbers).filter(|version| version.as_slice() > limit) {
            let name = crate::elf::demangled(&import.name).unwrap_or_else(|| import.name.clone());
            found.push((version.clone(), format!("{name}@{family}_{}", dotted(&version))));
        }
    }
    found.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    found.into_iter().map(|(_, text)| text).collect()
}
