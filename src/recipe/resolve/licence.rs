//! Whether what the recipe packs may be passed on, as far as its own words say.

use super::Resolver;
use crate::manifest::Permission;
use crate::recipe::diagnostic::Spanned;

/// The lints that say the same of finished packages: who waives one of them has said why.
const UNKNOWN: &str = "licence-unknown";
const FORBIDDEN: &str = "not-redistributable";

/// Notes a licence that is no SPDX expression or that nobody knows to allow redistribution, and globs that name a
/// vendor's file that may not be passed on.
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
    let mistake = match resolver.manifests.redistribution.permission(&licence.value) {
        Ok(Permission::Granted) => return,
        Err(why) => resolver
            .mistake(licence, format!("`{}` is not an SPDX licence expression: {why}", licence.value))
            .hint("write it as \"MIT\", \"Apache-2.0 OR MIT\" or \"LicenseRef-NAME\", with the names of the SPDX list"),
        Ok(Permission::Unknown(_)) if is_waived(resolver, UNKNOWN) => return,
        Ok(Permission::Unknown(names)) => resolver
            .mistake(licence, format!("{} is not known to let packages be passed on", names.join(", ")))
            .note("neither the OSI nor the FSF lists it as open, and manifests/redistribution.toml does not know it")
            .hint(format!("with a permission, waive `{UNKNOWN}` in [lint] and let `reason` name it")),
    };
    resolver.mistakes.push(mistake);
}

fn is_waived(resolver: &Resolver<'_>, lint: &str) -> bool {
    resolver.file.lint.waivers.iter().any(|waiver| waiver.id == lint)
}
