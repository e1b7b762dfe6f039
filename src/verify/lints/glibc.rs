//! The glibc that host code needs, against the recipe's ceiling and the manifest's promise.

use super::super::BundleFacts;
use crate::elf;
use crate::lint::{Hits, ParameterKind, Parameters, Predicate};
use crate::target::GlibcVersion;

pub(super) fn predicates() -> Vec<Predicate<BundleFacts>> {
    const MOST: &[(&str, ParameterKind)] = &[("most-symbols", ParameterKind::Number)];
    vec![
        Predicate { id: "glibc-ceiling", parameters: MOST, check: glibc_ceiling },
        Predicate { id: "glibc-floor", parameters: MOST, check: glibc_floor },
    ]
}

/// Nothing may need more than what the recipe compiles for.
fn glibc_ceiling(facts: &BundleFacts, parameters: &Parameters, hits: &mut Hits) {
    if let Some(ceiling) = facts.rules.glibc_ceiling {
        above(
            facts,
            parameters,
            hits,
            |_| Some(ceiling),
            |needs, limit| format!("needs glibc {needs}; the recipe's ceiling is {limit}"),
        );
    }
}

/// Nothing may need more than what its package declares (`__glibc >=`).
fn glibc_floor(facts: &BundleFacts, parameters: &Parameters, hits: &mut Hits) {
    above(
        facts,
        parameters,
        hits,
        |declared| declared,
        |needs, limit| match limit {
            GlibcVersion { major: 0, .. } => format!("needs glibc {needs}; its package declares none"),
            _ => format!("needs glibc {needs}; its package declares {limit}"),
        },
    );
}

fn above(
    facts: &BundleFacts,
    parameters: &Parameters,
    hits: &mut Hits,
    limit: impl Fn(Option<GlibcVersion>) -> Option<GlibcVersion>,
    message: impl Fn(GlibcVersion, GlibcVersion) -> String,
) {
    for package in &facts.packages {
        let limit = limit(package.manifest.glibc).unwrap_or(GlibcVersion::new(0, 0));
        for (subject, _, elf) in package.loaded() {
            let Some(needs) = elf.glibc().filter(|needs| *needs > limit) else { continue };
            let symbols = symbols_above(elf, limit);
            let most = usize::try_from(parameters.number("most-symbols")).unwrap_or(usize::MAX);
            let mut evidence = symbols[..symbols.len().min(most)].join(", ");
            if symbols.len() > most {
                evidence.push_str(&format!(" and {} more", symbols.len() - most));
            }
            hits.add(subject, message(needs, limit))
                .evidence_lines((!evidence.is_empty()).then(|| format!("because of {evidence}")));
        }
    }
}

/// Imported symbols whose GLIBC version is above `limit`, newest first.
fn symbols_above(elf: &elf::Facts, limit: GlibcVersion) -> Vec<String> {
    let mut found: Vec<(Vec<u32>, String)> = Vec::new();
    for import in &elf.imports {
        let version = import.version.as_deref().and_then(|version| version.strip_prefix("GLIBC_"));
        let numbers: Option<Vec<u32>> =
            version.and_then(|text| text.split('.').map(|part| part.parse().ok()).collect());
        if let Some(numbers) = numbers.filter(|numbers| *numbers > vec![limit.major, limit.minor]) {
            let text = format!("{}@GLIBC_{}", import.name, version.unwrap_or_default());
            found.push((numbers, text));
        }
    }
    found.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    found.into_iter().map(|(_, text)| text).collect()
}
