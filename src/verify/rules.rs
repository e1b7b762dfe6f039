//! What the lints are held to: what the recipe says, and what is known of the world.

use std::collections::BTreeMap;

use super::Staging;
use crate::abi::SymbolsFile;
use crate::arch::{CudaVersion, GlibcVersion, KernelTarget};
use crate::elf::demangled;
use crate::fs::Digest;
use crate::manifest::Manifests;
use crate::recipe::{ComponentKind, KernelPlace, Places};
use crate::report::Place;

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

/// The component that should claim a file, as `files` of the recipe name it.
pub(super) fn components(kinds: &[ComponentKind]) -> String {
    kinds.iter().map(|kind| format!("`{kind}`")).collect::<Vec<_>>().join(", ")
}
