//! Whether what packages hold may be passed on.

use std::collections::BTreeMap;

use super::super::BundleFacts;
use super::libraries::bundled::names;
use crate::lint::{Hits, Parameters, Predicate};
use crate::manifest::Permission;

pub(super) fn predicates() -> Vec<Predicate<BundleFacts>> {
    vec![
        Predicate { id: "licence-unknown", parameters: &[], check: licence_unknown },
        Predicate { id: "not-redistributable", parameters: &[], check: not_redistributable },
    ]
}

/// Files whose maker does not let them be passed on. Of what others made this is said, too: it lies in a package.
fn not_redistributable(facts: &BundleFacts, _: &Parameters, hits: &mut Hits) {
    for package in &facts.packages {
        for file in package.files() {
            let known = &facts.rules.manifests.redistribution;
            let terms = names(file).into_iter().find_map(|name| known.terms(name));
            let Some(terms) = terms.filter(|terms| !terms.may) else { continue };
            let declared = facts.rules.declared.as_ref();
            let place = declared.and_then(|declared| declared.places.claiming(package.manifest.component, &file.path));
            hits.add(package.subject(&file.path), format!("may not be passed on: {}", terms.clause))
                .evidence(terms.note.clone())
                .at(place);
        }
    }
}

/// Packages whose licence nobody knows to allow it. A package without one says nothing yet: it is not packed.
fn licence_unknown(facts: &BundleFacts, _: &Parameters, hits: &mut Hits) {
    let mut judged = BTreeMap::new();
    for package in &facts.packages {
        let Some(expression) = package.manifest.license.as_deref() else { continue };
        let known =
            judged.entry(expression).or_insert_with(|| facts.rules.manifests.redistribution.permission(expression));
        let message = match known {
            Ok(Permission::Granted) => continue,
            Ok(Permission::Unknown(names)) => format!("{} is not known to let it be passed on", names.join(", ")),
            Err(why) => format!("`{expression}` is not an SPDX licence expression: {why}"),
        };
        hits.add(package.label(), message);
    }
}
