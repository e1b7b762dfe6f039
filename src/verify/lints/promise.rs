//! Interfaces against what earlier releases promised: the recipe's symbols files.

use super::super::{BundleFacts, PackageFacts};
use crate::abi::{ChangeKind, Interface, SymbolName, SymbolsFile, Weight};
use crate::amount::count;
use crate::arch::{Version, VersionPolicy};
use crate::elf::demangled;
use crate::lint::{Hits, Parameters, Predicate};
use crate::report::Subject;

pub(super) fn predicates() -> Vec<Predicate<BundleFacts>> {
    vec![
        Predicate { id: "abi-broken", parameters: &[], check: abi_broken },
        Predicate { id: "abi-unrecorded", parameters: &[], check: abi_unrecorded },
    ]
}

/// How many symbols a finding names.
const SHOWN: usize = 12;

/// Every library with a symbols file: package, subject, file, interface.
fn recorded(facts: &BundleFacts) -> impl Iterator<Item = (&PackageFacts, Subject, &SymbolsFile, Interface)> {
    facts.packages.iter().flat_map(move |package| {
        package.loaded().filter_map(move |(subject, _, elf)| {
            let soname = elf.soname.as_ref()?;
            let file = facts.rules.symbols.iter().find(|file| file.library == *soname)?;
            (file.package == package.name()).then(|| (package, subject, file, Interface::of(elf)))
        })
    })
}

fn shown<'a>(symbols: impl Iterator<Item = &'a SymbolName>) -> Vec<String> {
    symbols.map(|symbol| demangled(&symbol.name).unwrap_or_else(|| symbol.to_string())).take(SHOWN).collect()
}

/// The release in which such a change may appear.
fn right(policy: VersionPolicy, weight: Weight, last: &Version) -> Version {
    let place = match policy {
        VersionPolicy::Major => 0,
        VersionPolicy::MajorMinor | VersionPolicy::Capability => 1,
    };
    last.raised(if weight == Weight::Breaking { place } else { place + 1 })
}

fn abi_broken(facts: &BundleFacts, _: &Parameters, hits: &mut Hits) {
    for (package, subject, file, interface) in recorded(facts) {
        let release = package.manifest.version;
        let promised = file.symbols.iter().filter(|(_, recorded)| {
            recorded.since <= release && recorded.gone.as_ref().is_none_or(|gone| *gone > release)
        });
        let gone: Vec<&SymbolName> =
            promised.map(|(name, _)| name).filter(|name| !interface.symbols.contains_key(*name)).collect();
        let Some(last) = gone.iter().filter_map(|name| file.symbols.get(*name)).map(|recorded| &recorded.since).max()
        else {
            continue;
        };
        let next = right(file.policy, ChangeKind::SymbolRemoved.weight(), last);
        hits.add(
            subject,
            format!(
                "lacks {} that earlier releases have; {release} cannot be its version",
                count(gone.len(), "symbol")
            ),
        )
        .evidence_lines(shown(gone.into_iter()))
        .fix(format!("bring them back, or release it as {next}, which policy `{}` asks for", file.policy));
    }
}

fn abi_unrecorded(facts: &BundleFacts, _: &Parameters, hits: &mut Hits) {
    for (package, subject, file, interface) in recorded(facts) {
        let new: Vec<&SymbolName> = interface.symbols.keys().filter(|name| !file.symbols.contains_key(*name)).collect();
        if new.is_empty() {
            continue;
        }
        let words = format!("exports {} that its symbols file does not know", count(new.len(), "symbol"));
        let hit = hits.add(subject, words).evidence_lines(shown(new.into_iter()));
        let release = package.manifest.version;
        let last = file.symbols.values().map(|recorded| recorded.since).max();
        if let Some(next) = last.map(|last| right(file.policy, Weight::Addition, &last)).filter(|next| *next > release)
        {
            hit.evidence(format!("policy `{}` gives additions a number of their own: {next}", file.policy));
        }
    }
}
