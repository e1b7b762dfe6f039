//! `RecipeFile`: the recipe as written, with the place of every value.
//!
//! Nothing here has a default yet, and a value that could not be read is absent: its mistake is
//! already noted.

use std::collections::BTreeMap;
use std::ops::Range;

use super::diagnostic::{Document, Spanned};
use super::model::{
    Compile, ComponentKind, CondaProfile, CpuLevel, Fallback, Generator, HeaderLanguage, HostKind, HostType,
    KernelForm, Need, Smoke, Soname, Source, Test, Waiver, WheelExperiment,
};
use super::parse::words::{CapabilityRange, Use};
use crate::arch::{Capability, CudaVersion, GlibcVersion, Platform, Version, VersionPolicy};
use crate::build_system::BuildDriver;
use crate::elf::edit::PathTag;
use crate::report::Level;

/// A recipe as written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecipeFile {
    /// The text it was read from.
    pub document: Document,
    /// `[simulator]`.
    pub simulator: SimulatorTable,
    /// `[source]` and `[sources.*]`.
    pub source: Option<Spanned<Source>>,
    /// Files and directories beside the recipe that the source is changed by.
    pub changes: Vec<Spanned<String>>,
    /// `[matrix]`.
    pub matrix: MatrixTable,
    /// `[toolchain]`.
    pub toolchain: ToolchainTable,
    /// `[dependencies]`.
    pub dependencies: DependenciesTable,
    /// `[component.*]`.
    pub components: BTreeMap<ComponentKind, ComponentTable>,
    /// `[kernels.*]`.
    pub groups: BTreeMap<String, GroupTable>,
    /// `[driver]`.
    pub driver: DriverTable,
    /// `[lint]`.
    pub lint: LintTable,
    /// `[package.conda]`, `[package.nix]` and `[package.wheel]`.
    pub package: PackageTable,
    /// `[smoke]`.
    pub smoke: Option<Smoke>,
    /// `[test.*]`, sorted by name.
    pub tests: Vec<Test>,
}

/// `[simulator]`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SimulatorTable {
    /// Name.
    pub name: Option<Spanned<String>>,
    /// Version.
    pub version: Option<Spanned<Version>>,
    /// SPDX expression.
    pub license: Option<Spanned<String>>,
    /// One line.
    pub summary: Option<Spanned<String>>,
    /// Home page.
    pub homepage: Option<Spanned<String>>,
    /// Licence texts, relative to the source.
    pub licence_files: Vec<Spanned<String>>,
}

/// `[matrix]`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MatrixTable {
    /// Where the table stands.
    pub span: Range<usize>,
    /// Platforms.
    pub platforms: Option<Vec<Spanned<Platform>>>,
    /// CUDA releases.
    pub cuda: Option<Vec<Spanned<CudaVersion>>>,
    /// Capabilities of machine code.
    pub capabilities: Option<Spanned<Vec<Spanned<Capability>>>>,
    /// Capabilities of PTX.
    pub ptx: Option<Vec<Spanned<Capability>>>,
    /// Versions of Vulkan that shaders are compiled for.
    pub environments: Option<Spanned<Vec<Spanned<String>>>>,
    /// What holds for one release alone, in the order of the file.
    pub releases: Vec<(Spanned<CudaVersion>, ReleaseTable)>,
}

/// `[matrix.release.*]`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ReleaseTable {
    /// Capabilities of machine code.
    pub capabilities: Option<Vec<Spanned<Capability>>>,
    /// Capabilities of PTX.
    pub ptx: Option<Vec<Spanned<Capability>>>,
    /// Where its compiler comes from: `pinned`, `system`, or a directory.
    pub toolchain: Option<Spanned<String>>,
    /// Host compiler that its compiler calls.
    pub cxx: Option<Spanned<String>>,
    /// Libraries that components open at run time, instead of what their own tables say.
    pub opens: BTreeMap<ComponentKind, Vec<Spanned<String>>>,
}

impl MatrixTable {
    /// What holds for a release alone.
    pub fn release(&self, cuda: CudaVersion) -> Option<&ReleaseTable> {
        self.releases.iter().find(|(release, _)| release.value == cuda).map(|(_, table)| table)
    }

    /// Whether the compiler of a release is pinned, and so has its digests in the lock.
    pub fn is_pinned(&self, cuda: CudaVersion) -> bool {
        let toolchain = self.release(cuda).and_then(|release| release.toolchain.as_ref());
        toolchain.is_none_or(|toolchain| toolchain.value == "pinned")
    }
}

/// `[toolchain]`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ToolchainTable {
    /// Host compiler.
    pub host: Option<HostTable>,
    /// CUDA release that the host part is built for; the first of the matrix without.
    pub cuda: Option<Spanned<CudaVersion>>,
}

/// `host` of `[toolchain]`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct HostTable {
    /// Where it stands.
    pub span: Range<usize>,
    /// Which compiler.
    pub kind: Option<Spanned<HostKind>>,
    /// Lowest g++.
    pub cxx: Option<Spanned<u32>>,
    /// Ceiling for glibc's symbol versions.
    pub glibc: Option<Spanned<GlibcVersion>>,
    /// The lowest processor.
    pub cpu: Option<Spanned<CpuLevel>>,
}

/// `[dependencies]`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DependenciesTable {
    /// Addresses or directories of channels, the first counts most.
    pub channels: Vec<Spanned<String>>,
}

/// `[component.*]`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ComponentTable {
    /// Where the table stands.
    pub span: Range<usize>,
    /// Version policy.
    pub policy: Option<Spanned<VersionPolicy>>,
    /// How it is built.
    pub build: Option<BuildTable>,
    /// Axes of builds that differ, in the order of the file.
    pub variants: Vec<(Spanned<String>, Vec<VariantTable>)>,
    /// Globs over the installed tree.
    pub files: Option<Vec<Spanned<String>>>,
    /// Dependencies.
    pub uses: Vec<Spanned<Use>>,
    /// Libraries that its code opens at run time.
    pub opens: Vec<Spanned<String>>,
    /// SONAMEs of libraries whose build gives them none.
    pub sonames: Vec<Spanned<Soname>>,
    /// How it compiles what users write; the place is that of its program.
    pub compile: Option<Spanned<Compile>>,
}

/// `build` of a component.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct BuildTable {
    /// Where it stands.
    pub span: Range<usize>,
    /// Build system.
    pub driver: Option<Spanned<BuildDriver>>,
    /// Directory, relative to the source.
    pub source: Option<Spanned<String>>,
    /// Options.
    pub options: BTreeMap<String, Spanned<OptionValue>>,
    /// Globs over what it reads.
    pub inputs: Option<Vec<Spanned<String>>>,
    /// Make targets, or the script.
    pub targets: Vec<Spanned<String>>,
    /// What is installed, by globs, and where.
    pub install: Vec<(Spanned<String>, Spanned<String>)>,
    /// What it needs of others.
    pub needs: Vec<Spanned<Need>>,
    /// Components that it is built against.
    pub against: Vec<Spanned<ComponentKind>>,
}

/// A value of an axis in `variants` of a component.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VariantTable {
    /// Its name, and where that stands.
    pub name: Spanned<String>,
    /// Options.
    pub options: BTreeMap<String, Spanned<OptionValue>>,
    /// What it needs of others.
    pub needs: Vec<Spanned<Need>>,
}

/// Value of a build option.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OptionValue {
    /// Text, with placeholders.
    Text(String),
    /// `ON` or `OFF` for CMake, `1` or `0` for others.
    Switch(bool),
}

/// `[kernels.*]`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct GroupTable {
    /// Where its name stands.
    pub span: Range<usize>,
    /// Translation units.
    pub sources: Option<Spanned<Vec<Spanned<String>>>>,
    /// Kernel table.
    pub table: Option<Spanned<String>>,
    /// What it ships as.
    pub form: Option<Spanned<KernelForm>>,
    /// Globs over the installed files that are cut to one capability.
    pub files: Vec<Spanned<String>>,
    /// Whether there is a package without device code.
    pub cpu: Option<Spanned<bool>>,
    /// Compiler flags.
    pub flags: Vec<Spanned<String>>,
    /// Axis to value to additions.
    pub variants: BTreeMap<String, BTreeMap<String, Additions>>,
    /// Variants that promise the same bits on every device.
    pub exact: Vec<Spanned<String>>,
    /// Range to additions, in the order of the file.
    pub when: Vec<(Spanned<CapabilityRange>, Additions)>,
    /// What writes the translation units.
    pub generator: Option<Generator>,
    /// Whether the build of core puts its modules into core.
    pub embed: Option<Spanned<bool>>,
    /// What says how the structures of the table lie in the host.
    pub structures: Option<StructuresTable>,
}

/// `[kernels.*.structures]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StructuresTable {
    /// The types.
    pub types: Vec<Spanned<HostType>>,
    /// What says how they lie.
    pub source: LayoutTable,
    /// Globs over what that reads.
    pub inputs: Option<Vec<Spanned<String>>>,
}

/// What says how types of the host lie, as written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LayoutTable {
    /// Headers of C or C++.
    Headers {
        /// Their paths.
        headers: Vec<Spanned<String>>,
        /// What they are written in.
        language: HeaderLanguage,
        /// Flags of the compiler.
        flags: Vec<String>,
    },
    /// Program and arguments.
    Command(Vec<String>),
}

/// What a variant or a range of capabilities adds.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Additions {
    /// Preprocessor names.
    pub define: Vec<String>,
    /// Compiler flags.
    pub flags: Vec<String>,
}

/// `[driver]`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DriverTable {
    /// Driver profiles.
    pub profiles: Option<Vec<Spanned<String>>>,
    /// Dynamic tag.
    pub tag: Option<Spanned<PathTag>>,
}

/// `[lint]`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LintTable {
    /// Lint ids and their levels.
    pub levels: Vec<(Spanned<String>, Level)>,
    /// Waivers.
    pub waivers: Vec<Waiver>,
}

/// `[package.conda]` and `[package.wheel]`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PackageTable {
    /// Channel name.
    pub channel: Option<Spanned<String>>,
    /// Build number.
    pub build_number: Option<Spanned<u64>>,
    /// What serves GPUs whose capability nobody tells.
    pub fallback: Option<Spanned<Fallback>>,
    /// Whose conventions generated recipes follow.
    pub profile: Option<Spanned<CondaProfile>>,
    /// Accounts of those who look after generated recipes.
    pub maintainers: Vec<Spanned<String>>,
    /// Who looks after the package of nix, by the names of nixpkgs' maintainers.
    pub nix_maintainers: Vec<String>,
    /// What wheels do beyond what is agreed upon.
    pub experimental: Vec<WheelExperiment>,
}
