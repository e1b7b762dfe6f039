//! What a verification knows beside the bundles: the lints, the vendor's lists, the recipe's rules.

use std::collections::BTreeMap;

use crate::abi::SymbolsFile;
use crate::data::Data;
use crate::error::Result;
use crate::fs::Digest;
use crate::lint::Registry;
use crate::manifest::Manifests;
use crate::recipe::{CpuLevel, RecipeMatrix};

use super::{BundleFacts, Declared, Depth, Rules, Staging, lints};

/// Everything the lints ask that does not stand in a bundle.
pub struct VerifyContext {
    pub(super) lints: Registry<BundleFacts>,
    pub(super) rules: Rules,
}

impl VerifyContext {
    /// The context without a recipe: finished packages, whose manifests say what was promised. A
    /// RUNPATH may name the directories of every known driver profile.
    ///
    /// # Errors
    /// A data file is missing or wrong.
    pub fn load(data: &Data) -> Result<Self> {
        let manifests = Manifests::load(data)?;
        let names: Vec<String> = manifests.drivers.iter().map(|profile| profile.name().to_owned()).collect();
        let driver_directories = manifests.drivers.runpath(names.iter().map(String::as_str));
        let rules = Rules {
            manifests,
            driver_directories,
            glibc_ceiling: None,
            build_paths: Vec::new(),
            symbols: Vec::new(),
            staging: Staging::default(),
            declared: None,
            processor: None,
            partial: false,
            depth: Depth::default(),
            full_names: false,
        };
        Ok(Self { lints: lints::registry(data)?, rules })
    }

    /// Adds what the recipe says: its driver directories, its glibc.
    #[must_use]
    pub fn recipe(mut self, recipes: &RecipeMatrix) -> Self {
        let recipe = recipes.own();
        self.rules.driver_directories.clone_from(&recipe.driver.directories);
        self.rules.glibc_ceiling = recipe.host.glibc_ceiling().or(self.rules.glibc_ceiling);
        self.rules.processor = recipe.cpu.map(CpuLevel::number);
        // Capabilities of a recipe without kernel groups have nothing to be compiled for.
        let with_kernels = recipes.compiling().filter(|recipe| !recipe.groups.is_empty());
        let targets = with_kernels.flat_map(|recipe| recipe.targets.iter().map(|target| (recipe.cuda, *target)));
        // What core embeds is in no package of its own.
        let targets = targets.filter(|(_, target)| !recipe.is_embedded(*target)).collect();
        self.rules.declared = Some(Declared {
            simulator: recipe.name.clone(),
            targets,
            components: recipe.components.iter().map(|component| component.kind).collect(),
            places: recipe.places.clone(),
            sources: None,
        });
        self
    }

    /// Adds the digests of the recipe's source files: what packages are made of must still be these.
    #[must_use]
    pub fn sources(mut self, sources: BTreeMap<String, Digest>) -> Self {
        if let Some(declared) = &mut self.rules.declared {
            declared.sources = Some(sources);
        }
        self
    }

    /// Adds paths of this build (work directory, source, cache, toolchain): none may stand in a file.
    #[must_use]
    pub fn build_paths<P: Into<String>>(mut self, paths: impl IntoIterator<Item = P>) -> Self {
        self.rules.build_paths.extend(paths.into_iter().map(Into::into));
        self
    }

    /// Adds the symbols files beside the recipe.
    #[must_use]
    pub fn symbols(mut self, symbols: Vec<SymbolsFile>) -> Self {
        self.rules.symbols = symbols;
        self
    }

    /// Adds what staging found.
    #[must_use]
    pub fn staging(mut self, staging: Staging) -> Self {
        self.rules.staging = staging;
        self
    }

    /// Says that only a part of the distribution is examined.
    #[must_use]
    pub fn partial(mut self, partial: bool) -> Self {
        self.rules.partial = partial;
        self
    }

    /// Says how closely to look.
    #[must_use]
    pub fn depth(mut self, depth: Depth) -> Self {
        self.rules.depth = depth;
        self
    }

    /// Says that names in findings are not cut.
    #[must_use]
    pub fn full_names(mut self, full: bool) -> Self {
        self.rules.full_names = full;
        self
    }

    /// The lints, for `--list`, `--explain` and the checks of settings.
    pub fn lints(&self) -> &Registry<BundleFacts> {
        &self.lints
    }
}
