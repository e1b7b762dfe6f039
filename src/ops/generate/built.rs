//! What a build of a recipe left in `dist/`, for generated texts that depend on it: the libraries that are really there,
//! the packages that link names lead into, the lowest releases that the code's symbols ask for.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use schemars::JsonSchema;
use serde::Serialize;

use crate::abi::{self, SymbolsFile};
use crate::arch::KernelTarget;
use crate::bundle::{Bundle, BundleManifest, Dependency};
use crate::engine::recipe_digest;
use crate::error::Result;
use crate::pack::{self, BundleKey};
use crate::pipeline::by_floors;
use crate::plan::PlannedBundle;
use crate::project::{SYMBOLS_DIR, read_all_symbols};
use crate::recipe::{ComponentKind, RecipeMatrix};
use crate::verify::{self, Opened};

/// How the packages of a directory stand to a recipe.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Standing {
    /// There are none with host code.
    Absent,
    /// They are of another simulator.
    Foreign,
    /// They were built from another state of the recipe, or with other options.
    Stale,
    /// They are what the recipe builds.
    Current,
}

/// A library of a component, as it was built.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct BuiltLibrary {
    pub component: ComponentKind,
    /// SONAME, or the name of an archive.
    pub file: String,
}

/// Packages with host code that a build of the recipe left.
#[derive(Debug, Default)]
pub(super) struct Built {
    manifests: Vec<BundleManifest>,
    /// What the symbols that a package's files use ask for, by package.
    pub needs: BTreeMap<BundleKey, BTreeSet<Dependency>>,
    /// Libraries, sorted by component and name.
    pub libraries: Vec<BuiltLibrary>,
}

impl Built {
    /// Looks into the packages with host code of `dist`; those of device code hold nothing that texts depend on, but for
    /// a library that ships cut: the package for machines without a GPU has its host code and nothing else.
    ///
    /// # Errors
    /// A package cannot be read.
    pub(super) fn look(dist: &Path, recipes: &RecipeMatrix) -> Result<(Standing, Self)> {
        let channel = dist.join("conda/linux-64");
        let place = if channel.is_dir() { channel.as_path() } else { dist };
        if !place.is_dir() {
            return Ok((Standing::Absent, Self::default()));
        }
        let recipe = recipes.own();
        let opened = match verify::open(&[place]) {
            Ok(opened) => opened,
            // An empty directory is as good as none.
            Err(_) if fs_err::read_dir(place)?.next().is_none() => Opened::default(),
            Err(error) => return Err(error),
        };
        let opened = opened.complete()?;
        let cut = recipe.is_sliced();
        // What ships cut has the same host code in all its packages.
        let one = if recipe.needs_gpu() { recipe.targets.first().copied() } else { Some(KernelTarget::Cpu) };
        let has_host_code = |bundle: &&Bundle| match bundle.manifest.component {
            ComponentKind::Kernels => cut && bundle.manifest.target == one,
            _ => true,
        };
        let bundles: Vec<&Bundle> = opened.bundles.iter().filter(has_host_code).collect();
        let Some(of_it) = bundles.iter().find(|bundle| bundle.manifest.simulator == recipe.name) else {
            let standing = if bundles.is_empty() { Standing::Absent } else { Standing::Foreign };
            return Ok((standing, Self::default()));
        };
        let digests: Vec<_> = recipes.iter().map(recipe_digest).collect();
        if of_it.manifest.version != recipe.version || !digests.contains(&of_it.manifest.provenance.recipe) {
            return Ok((Standing::Stale, Self::default()));
        }
        let of_it: Vec<&Bundle> =
            bundles.into_iter().filter(|bundle| bundle.manifest.simulator == recipe.name).collect();
        // Floors over the distribution's own libraries are what the packages' pins are for.
        let own = |file: &SymbolsFile| of_it.iter().any(|bundle| bundle.manifest.package == file.package);
        let mut symbols = read_all_symbols(&recipe.dir.join(SYMBOLS_DIR))?;
        symbols.retain(|file| !own(file));
        let mut built = Self::default();
        for bundle in &of_it {
            built.add(bundle, &symbols)?;
        }
        built.libraries.sort_by(|a, b| (a.component, &a.file).cmp(&(b.component, &b.file)));
        Ok((Standing::Current, built))
    }

    fn add(&mut self, bundle: &Bundle, symbols: &[SymbolsFile]) -> Result<()> {
        let manifest = &bundle.manifest;
        let mut floors = Vec::new();
        for (path, facts) in bundle.host_facts()? {
            floors.extend(symbols.iter().filter_map(|file| abi::floor(&facts, file)));
            if let Some(soname) = facts.soname.clone().filter(|_| path.starts_with("lib/")) {
                self.libraries.push(BuiltLibrary { component: manifest.component, file: soname });
            }
        }
        for artifact in &manifest.artifacts {
            if let Some(name) = artifact.path.strip_prefix("lib/").filter(|name| name.ends_with(".a")) {
                self.libraries.push(BuiltLibrary { component: manifest.component, file: name.to_owned() });
            }
        }
        self.needs.insert(pack::key(manifest), by_floors(floors));
        self.manifests.push(manifest.clone());
        Ok(())
    }

    /// The manifest of a component's package.
    pub(super) fn manifest(&self, component: ComponentKind) -> Option<&BundleManifest> {
        self.manifests.iter().find(|manifest| manifest.component == component)
    }

    /// That of a component's package for one of several CUDA releases.
    pub(super) fn manifest_for(&self, planned: &PlannedBundle) -> Option<&BundleManifest> {
        let is_its = |manifest: &&BundleManifest| {
            (manifest.component, manifest.cuda, &manifest.host) == (planned.component, planned.cuda, &planned.host)
        };
        self.manifests.iter().find(is_its).or_else(|| self.manifest(planned.component))
    }

    /// How many packages were looked into.
    pub(super) fn count(&self) -> usize {
        self.manifests.len()
    }
}
