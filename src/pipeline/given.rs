//! What builds were given of others, as the files show that they made with it.

use std::collections::{BTreeMap, BTreeSet};

use crate::bundle::{Bundle, OutsideLibrary, Provider, Versions};
use crate::error::Result;
use crate::fs;
use crate::project::Dependencies;
use crate::recipe::{HostVariant, Recipe, Used};
use crate::toolchain::SystemLibrary;

/// Libraries that builds were given, beside those of the distribution.
pub(super) struct Given<'a> {
    dependencies: &'a BTreeMap<Option<HostVariant>, Dependencies>,
    system: &'a [SystemLibrary],
    recipe: &'a Recipe,
    /// Names of all files of the distribution.
    own: BTreeSet<String>,
}

impl<'a> Given<'a> {
    /// Beside the files of staged bundles.
    ///
    /// # Errors
    /// A directory cannot be read.
    pub fn new(
        bundles: &[Bundle],
        dependencies: &'a BTreeMap<Option<HostVariant>, Dependencies>,
        system: &'a [SystemLibrary],
        recipe: &'a Recipe,
    ) -> Result<Self> {
        let mut own = BTreeSet::new();
        let provides =
            recipe.components.iter().flat_map(|component| &component.uses).any(|used| !used.provides.is_empty());
        if !dependencies.is_empty() || !system.is_empty() || provides {
            for bundle in bundles {
                let paths = fs::walk(&bundle.root)?.into_iter().map(|entry| entry.path);
                own.extend(paths.filter_map(|path| Some(path.rsplit('/').next()?.to_owned())));
            }
        }
        Ok(Self { dependencies, system, recipe, own })
    }

    /// The libraries that files of a bundle need of them.
    ///
    /// # Errors
    /// A file cannot be read.
    pub fn needed_by(&self, bundle: &Bundle) -> Result<Vec<OutsideLibrary>> {
        if self.dependencies.is_empty() && self.system.is_empty() && self.said(bundle).next().is_none() {
            return Ok(Vec::new());
        }
        let facts = bundle.host_facts()?;
        let needed: BTreeSet<&String> = facts.iter().flat_map(|(_, facts)| &facts.needed).collect();
        let found = needed
            .into_iter()
            .filter(|name| !self.own.contains(*name))
            .filter_map(|name| Some(OutsideLibrary { library: name.clone(), from: self.provider(name, bundle)? }));
        Ok(found.collect())
    }

    fn provider(&self, name: &str, bundle: &Bundle) -> Option<Provider> {
        let given = self.dependencies.get(&bundle.manifest.host);
        if let Some((package, versions)) = given.and_then(|given| given.provider(name)) {
            return Some(Provider::Channel { package, versions });
        }
        if let Some(used) = self.said(bundle).find(|used| used.provides.iter().any(|library| library == name)) {
            let versions = Versions::written(&used.versions);
            return Some(Provider::Channel { package: used.package.clone(), versions });
        }
        let library = self.system.iter().find(|library| library.has(name))?;
        Some(Provider::System { module: library.module.clone(), version: library.version.clone() })
    }

    /// Packages that the recipe says bring libraries to the component of a bundle.
    fn said(&self, bundle: &Bundle) -> impl Iterator<Item = &'a Used> {
        let component = self.recipe.component(bundle.manifest.component);
        component.into_iter().flat_map(|component| &component.uses).filter(|used| !used.provides.is_empty())
    }

    /// All libraries of the packages, each with its package: none of them belongs into the distribution.
    pub fn libraries(&self) -> BTreeMap<String, String> {
        self.dependencies.values().flat_map(Dependencies::libraries).collect()
    }
}
