//! The lints over bundles: one module a subject, each a list of predicates.
//!
//! To add one: write `manifests/lints/<id>.toml`, a predicate in the module of its subject, and two
//! bundles in the tests: one where it fires, and a look-alike where it must not.

mod ceilings;
mod device;
mod files;
mod foreign;
mod glibc;
mod hygiene;
mod isa;
mod libraries;
mod licence;
mod promise;
mod release;
mod safety;
mod source;
mod tests_of_recipe;

use super::BundleFacts;
use crate::data::Data;
use crate::error::Result;
use crate::lint::{Predicate, Registry, unused_waiver};

/// Every lint over bundles, joined with its words.
pub(super) fn registry(data: &Data) -> Result<Registry<BundleFacts>> {
    Registry::new(predicates(), |id| data.text(&format!("manifests/lints/{id}.toml")))
}

fn predicates() -> Vec<Predicate<BundleFacts>> {
    let subjects = [
        libraries::bundled::predicates(),
        ceilings::predicates(),
        libraries::closure::predicates(),
        device::predicates(),
        files::predicates(),
        foreign::predicates(),
        glibc::predicates(),
        hygiene::predicates(),
        isa::predicates(),
        licence::predicates(),
        libraries::needed::predicates(),
        release::predicates(),
        promise::predicates(),
        safety::predicates(),
        libraries::search_path::predicates(),
        libraries::soname::predicates(),
        source::predicates(),
        libraries::symbols::predicates(),
        tests_of_recipe::predicates(),
        vec![unused_waiver()],
    ];
    subjects.into_iter().flatten().collect()
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
        let infos: Vec<LintInfo> = files
            .iter()
            .map(|(name, text)| {
                let id = name.strip_suffix(".toml").unwrap();
                LintInfo::parse(id, std::str::from_utf8(text).unwrap()).unwrap()
            })
            .filter(|info| info.over == Over::Bundles)
            .collect();
        assert_eq!(with_predicate, infos.iter().map(|info| info.id.clone()).collect::<Vec<_>>());
        for info in &infos {
            assert!(
                !info.text.trim().is_empty() && !info.fix.trim().is_empty() && !info.link.is_empty(),
                "{}",
                info.id
            );
            assert!(info.title.len() <= 80 && !info.title.ends_with('.'), "{}", info.id);
        }
    }
}
