//! The glibc that host code needs, against the recipe's ceiling, the manifest's promise and a
//! wheel's platform tag.

use super::super::{BundleFacts, Contents};
use crate::arch::GlibcVersion;
use crate::elf;
use crate::lint::{Hits, ParameterKind, Parameters, Predicate};

pub(super) fn predicates() -> Vec<Predicate<BundleFacts>> {
    const MOST: &[(&str, ParameterKind)] = &[("most-symbols", ParameterKind::Number)];
    vec![
        Predicate { id: "glibc-ceiling", parameters: MOST, check: glibc_ceiling },
        Predicate { id: "glibc-floor", parameters: MOST, check: glibc_floor },
    ]
}

/// Nothing may need more than what the recipe compiles for, or what a wheel's platform tag promises.
fn glibc_ceiling(facts: &BundleFacts, parameters: &Parameters, hits: &mut Hits) {
    if let Some(ceiling) = facts.rules.glibc_ceiling {
        let words = |needs| format!("needs glibc {needs}; the recipe's ceiling is {ceiling}");
        for package in &facts.packages {
            above(&package.contents, ceiling, parameters, hits, words);
        }
    }
    for wheel in &facts.foreign {
        let tags = wheel.platform.as_deref().unwrap_or_default();
        if let Some(promised) = facts.rules.manifests.glibc.promised_by(tags) {
            let words = |needs| format!("needs glibc {needs}; its platform tag {tags} promises {promised}");
            above(wheel, promised, parameters, hits, words);
        } else if wheel.loaded().next().is_some() {
            hits.not_run(&wheel.name, "no manylinux tag promises a glibc");
        }
    }
}

/// Nothing may need more than what its package declares (`__glibc >=`).
fn glibc_floor(facts: &BundleFacts, parameters: &Parameters, hits: &mut Hits) {
    for package in &facts.packages {
        let declared = package.manifest.glibc;
        let limit = declared.unwrap_or(GlibcVersion::new(0, 0));
        above(&package.contents, limit, parameters, hits, |needs| match declared {
            None => format!("needs glibc {needs}; its package declares none"),
            Some(limit) => format!("needs glibc {needs}; its package declares {limit}"),
        });
    }
}

fn above(
    contents: &Contents,
    limit: GlibcVersion,
    parameters: &Parameters,
    hits: &mut Hits,
    message: impl Fn(GlibcVersion) -> String,
) {
    let most = usize::try_from(parameters.number("most-symbols")).unwrap_or(usize::MAX);
    for (subject, _, elf) in contents.loaded() {
        let Some(needs) = elf.glibc().filter(|needs| *needs > limit) else { continue };
        let symbols = symbols_above(elf, limit);
        let mut evidence = symbols[..symbols.len().min(most)].join(", ");
        if symbols.len() > most {
            evidence.push_str(&format!(" and {} more", symbols.len() - most));
        }
        hits.add(subject, message(needs))
            .evidence_lines((!evidence.is_empty()).then(|| format!("because of {evidence}")));
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
