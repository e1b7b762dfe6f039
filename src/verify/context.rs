//! What a verification knows beside the bundles: the lints, the vendor's lists, the recipe's rules.

use std::collections::BTreeMap;

use crate::abi::SymbolsFile;
use crate::arch::{CudaVersion, GlibcVersion, KernelTarget};
use crate::data::Data;
use crate::elf::demangled;
use crate::error::Result;
use crate::fs::Digest;
use crate::lint::Registry;
use crate::manifest::Manifests;
use crate::recipe::{ComponentKind, CpuLevel, KernelPlace, Places, RecipeMatrix};
use crate::report::Place;

use super::lints;
use super::{BundleFacts, Staging};

/// Everything the lints ask that does not stand in a bundle.
pub struct VerifyContext {
    pub(super) lints: Registry<BundleFacts>,
    pub(super) rules: Rules,
}

/// The rules that predicates read.
#[derive(Debug, Clone)]
pub struct Rules {
    /// Capabilities, CUDA releases, and what else the fallback chain goes by.
    pub manifests: Manifests,
    /// Absolute directories that a RUNPATH may name.
    pub driver_directories: Vec<String>,
    /// Ceiling for GLIBC symbol versions, if the recipe compiles for one.
    pub glibc_ceiling: Option<GlibcVersion>,
    /// Absolute paths of the build whose bytes may stand in no file.
    pub build_paths: Vec<String>,
    /// In which release each symbol of a library appeared: the recipe's own and its dependencies'.
    pub symbols: Vec<SymbolsFile>,
    /// What staging found.
    pub staging: Staging,
    /// What the recipe declares, if one was given.
    pub declared: Option<Declared>,
    /// Highest level of the x86-64 psABI whose instructions host code may hold, if the recipe declares one.
    pub processor: Option<u32>,
    /// Only a part of the distribution is here: what is not found may lie in the rest.
    pub partial: bool,
    /// How closely files are looked at.
    pub depth: Depth,
    /// Names in findings are as long as they are.
    pub full_names: bool,
}

/// How closely a verification looks at files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Depth {
    /// ELF headers, dynamic sections, dynamic symbols and version records: the pages of these tables are all that
    /// is read of a library.
    Symbols,
    /// Device code with its kernels, too.
    #[default]
    Code,
    /// Every instruction of host code, too.
    Instructions,
}

/// What a recipe declares of its device code, and of what it is compiled.
#[derive(Debug, Clone)]
pub struct Declared {
    /// The simulator.
    pub simulator: String,
    /// Targets of the kernel groups, with the CUDA release.
    pub targets: Vec<(CudaVersion, KernelTarget)>,
    /// Components that become packages.
    pub components: Vec<ComponentKind>,
    /// Where the recipe says so.
    pub places: Places,
    /// Files of the source with their digests; none if they were not read.
    pub sources: Option<BTreeMap<String, Digest>>,
}

/// Characters of a name in a finding, unless all are asked for.
const MOST_NAME: usize = 80;

impl Rules {
    /// A symbol as findings show it: in words, and no longer than people read.
    pub(super) fn shown(&self, symbol: &str) -> String {
        let words = demangled(symbol).unwrap_or_else(|| symbol.to_owned());
        if self.full_names || words.chars().count() <= MOST_NAME {
            return words;
        }
        let kept: String = words.chars().take(MOST_NAME - 3).collect();
        format!("{kept}...")
    }

    /// Where the recipe begins to speak of a component.
    pub(super) fn component_place(&self, kind: ComponentKind) -> Option<&Place> {
        self.declared.as_ref()?.places.component(kind)
    }

    /// Where the kernel table declares a kernel.
    pub(super) fn kernel_place(&self, name: &str) -> Option<&KernelPlace> {
        self.declared.as_ref()?.places.kernel(name)
    }
}

impl Declared {
    /// Whether kernels are built by several CUDA releases.
    pub(super) fn is_several(&self) -> bool {
        self.targets.first().is_some_and(|(first, _)| self.targets.iter().any(|(cuda, _)| cuda != first))
    }
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

/// The component that should claim a file, as `files` of the recipe name it.
pub(super) fn components(kinds: &[ComponentKind]) -> String {
    kinds.iter().map(|kind| format!("`{kind}`")).collect::<Vec<_>>().join(", ")
}
