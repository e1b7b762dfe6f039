//! Whether what the recipe packs may be passed on, as far as its own words say.

use super::resolver::Resolver;
use crate::recipe::diagnostic::Spanned;

/// The lint that says the same of finished packages: who waives it has said why.
const FORBIDDEN: &str = "not-redistributable";

/// Notes a licence that is no SPDX expression, and globs that name a vendor's file that may not be passed on. A licence that
/// nobody knows is a finding about the packages: of their own project its authors need not be told what they allow.
pub(in crate::recipe) fn licence(resolver: &mut Resolver<'_>) {
    if let Some(licence) = &resolver.file.simulator.license {
        expression(resolver, licence);
    }
    if is_waived(resolver, FORBIDDEN) {
        return;
    }
    let tables = resolver.file.components.values().flat_map(|table| table.files.iter().flatten());
    let groups = resolver.file.groups.values().flat_map(|group| &group.files);
    for glob in tables.chain(groups) {
        let name = glob.value.rsplit('/').next().unwrap_or_default();
        let known = &resolver.manifests.redistribution;
        let Some(terms) = known.terms(name).filter(|terms| !terms.may) else { continue };
        let mistake = resolver
            .mistake(glob, format!("`{name}` may not be passed on: {}", terms.clause))
            .note(terms.note.clone())
            .hint(format!("leave it out; with a permission, waive `{FORBIDDEN}` in [lint] and let `reason` name it"));
        resolver.mistakes.push(mistake);
    }
}

fn expression(resolver: &mut Resolver<'_>, licence: &Spanned<String>) {
    let Err(why) = resolver.manifests.redistribution.permission(&licence.value) else { return };
    let mistake = resolver
        .mistake(licence, format!("`{}` is not an SPDX licence expression: {why}", licence.value))
        .hint("write it as \"MIT\", \"Apache-2.0 OR MIT\" or \"LicenseRef-NAME\", with the names of the SPDX list");
    resolver.mistakes.push(mistake);
}

fn is_waived(resolver: &Resolver<'_>, lint: &str) -> bool {
    resolver.file.lint.waivers.iter().any(|waiver| waiver.id == lint)
}
