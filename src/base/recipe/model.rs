//! The resolved recipe: everything checked once, trusted from here on.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::compile::Compile;
use super::form::{DeviceCompiler, KernelForm};
use super::host::HostToolchain;
use super::host_structures::HostStructures;
use super::inputs::Inputs;
use super::need::Need;
use super::places::Places;
use super::smoke::Smoke;
use super::soname::Soname;
use super::test::Test;
use super::variant::{HostVariant, VariantAxis};
use super::waiver::Waiver;
use crate::arch::{Capability, CudaVersion, KernelAbiTag, KernelTarget, Platform, Version, VersionPolicy};
use crate::build_system::BuildDriver;
use crate::elf::edit::PathTag;
use crate::error::Result;
use crate::gpu::{KernelSignature, kernel_abi_tag};
use crate::layout::Structure;
use crate::report::Level;

/// A resolved recipe: one platform, one CUDA release.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Recipe {
    /// Simulator's name; every derived name starts with it.
    pub name: String,
    /// Simulator's version.
    pub version: Version,
    /// SPDX expression.
    pub license: String,
    /// One line.
    pub summary: String,
    /// Home page, if there is one.
    pub homepage: Option<String>,
    /// Licence texts, relative to the source; those at its top without.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(default)]
    pub licence_files: Vec<String>,
    /// Directory of the recipe on this machine. Never part of a key or an output.
    #[serde(skip)]
    pub dir: PathBuf,
    /// Where the source is.
    pub source: Source,
    /// Platform of the host part.
    pub platform: Platform,
    /// CUDA release that compiles the kernels.
    pub cuda: CudaVersion,
    /// Where its compiler comes from. A directory of this machine is part of no key and no output.
    #[serde(skip)]
    pub cuda_toolchain: CudaToolchain,
    /// Host compiler that the CUDA compiler calls, as a command; found when absent.
    #[serde(skip)]
    pub cuda_cxx: Option<String>,
    /// Targets of the kernel groups: SASS ascending, then PTX ascending; then versions of Vulkan for shaders, ascending.
    /// What no CUDA release compiles is a target of the recipe's own release alone.
    pub targets: Vec<KernelTarget>,
    /// How the host part is compiled.
    pub host: HostToolchain,
    /// The lowest processor that the host part is for; unsaid, nothing is promised of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(default)]
    pub cpu: Option<CpuLevel>,
    /// Channels of the packages that builds need, the first counts most: addresses, or directories relative to the
    /// recipe's.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(default)]
    pub channels: Vec<String>,
    /// Components in the order of [`ComponentKind`]; at most one of a kind.
    pub components: Vec<Component>,
    /// Kernel groups, sorted by name.
    pub groups: Vec<KernelGroup>,
    /// Driver directories in RUNPATHs.
    pub driver: DriverPolicy,
    /// Lint levels and waivers.
    pub lint: LintSettings,
    /// Settings of package formats.
    pub package: PackageSettings,
    /// The simulator's smoke test.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub smoke: Option<Smoke>,
    /// Upstream's own tests, sorted by name. They judge packages, and are no part of what these are made from.
    #[serde(skip)]
    pub tests: Vec<Test>,
    /// Where it says what packages are judged by: no part of what it asks for.
    #[serde(skip)]
    pub places: Places,
}

impl Recipe {
    /// The component of a kind.
    pub fn component(&self, kind: ComponentKind) -> Option<&Component> {
        self.components.iter().find(|component| component.kind == kind)
    }

    /// The tools of its build systems that simpack pins, sorted.
    pub fn build_tools(&self) -> BTreeSet<&'static str> {
        let builds = self.components.iter().filter_map(|component| component.build.as_ref());
        builds.flat_map(|build| build.driver.system().pinned()).copied().collect()
    }

    /// What the builds of its components need of others, sorted: all of a host variant, or of those without, are given
    /// the same.
    pub fn needs(&self) -> BTreeMap<Option<HostVariant>, BTreeSet<Need>> {
        let mut needs: BTreeMap<_, BTreeSet<Need>> = BTreeMap::new();
        for build in self.components.iter().flat_map(Component::builds) {
            needs.entry(build.host).or_default().extend(build.spec.needs);
        }
        needs
    }

    /// Host variants that a component's packages are made in, the default first: its own, or those of the builds that
    /// make its files where it has none of its own. None where there is one package of it.
    pub fn variants_of(&self, kind: ComponentKind) -> Vec<HostVariant> {
        match (kind, self.variant_source(kind)) {
            (ComponentKind::Meta | ComponentKind::Kernels, _) | (_, None) => Vec::new(),
            (_, Some(component)) => component.host_variants(),
        }
    }

    /// The component whose builds make the files of another one, and so its variants: itself, or core.
    pub fn variant_source(&self, kind: ComponentKind) -> Option<&Component> {
        let own = self.component(kind).filter(|component| component.build.is_some());
        own.or_else(|| self.component(ComponentKind::Core))
    }

    /// Whether a variant of a component is the one that people get who ask for none.
    pub fn is_default_variant(&self, kind: ComponentKind, host: &HostVariant) -> bool {
        self.variant_source(kind).and_then(Component::default_variant).as_ref() == Some(host)
    }

    /// All declared kernels of all groups, sorted by name.
    pub fn kernels(&self) -> Vec<KernelSignature> {
        let mut kernels: Vec<_> = self.groups.iter().flat_map(|group| group.table.iter().cloned()).collect();
        kernels.sort();
        kernels.dedup();
        kernels
    }

    /// Shaders that promise the same bits on every device, by variant: names of their kernels.
    pub fn exact(&self) -> BTreeMap<String, BTreeSet<String>> {
        let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for group in &self.groups {
            for variant in &group.exact {
                let names = group.table.iter().map(|kernel| kernel.name.clone());
                found.entry(variant.clone()).or_default().extend(names);
            }
        }
        found
    }

    /// The form of its kernel groups for a target: shaders may stand beside kernels of CUDA, all of which have one form.
    pub fn form_of(&self, target: KernelTarget) -> Option<KernelForm> {
        let mut forms = self.groups.iter().map(|group| group.form);
        forms.find(|form| form.is_cuda() != target.is_shader())
    }

    /// Whether the build of core puts the shaders into core: all groups of them or none.
    pub fn embeds_shaders(&self) -> bool {
        self.groups.iter().any(|group| group.embed)
    }

    /// Whether code for a target is in core, and in no package of its own.
    pub fn is_embedded(&self, target: KernelTarget) -> bool {
        target.is_shader() && self.embeds_shaders()
    }

    /// Whether there are packages of device code.
    pub fn ships_kernels(&self) -> bool {
        self.groups.iter().any(|group| !group.embed)
    }

    /// Whether device code is compiled by a CUDA release.
    pub fn is_cuda(&self) -> bool {
        self.groups.iter().any(|group| group.form.is_cuda())
    }

    /// The kernel ABI tag that ties kernels to core; none when the recipe declares no kernels.
    pub fn kernel_abi_tag(&self) -> Option<KernelAbiTag> {
        let has_table = self.groups.iter().any(|group| group.form.has_table());
        has_table.then(|| kernel_abi_tag(&self.kernels()))
    }

    /// Whether libraries ship whole, cut to one capability in each package: then core is tied to them by the
    /// simulator's version, and cannot be kept free of device code.
    pub fn is_sliced(&self) -> bool {
        self.groups.iter().any(|group| group.form.is_exclusive())
    }

    /// Variants that the host part is built for, the first of them as it ships: those of libraries that ship cut. One
    /// unnamed without any.
    pub fn cut_variants(&self) -> Vec<&str> {
        let cut = self.groups.iter().filter(|group| group.form.compiler() == DeviceCompiler::HostBuilds);
        let named = cut.flat_map(|group| &group.variants).filter(|variant| !variant.choice.is_empty());
        let mut names: Vec<&str> = named.map(|variant| variant.name.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        if names.is_empty() { vec![UNNAMED_VARIANT] } else { names }
    }

    /// File name of the plug-in library for a target.
    pub fn plugin(&self, target: KernelTarget) -> String {
        format!("lib{}-kernels-{target}.so", self.name)
    }
}

/// Where the compiler of a CUDA release comes from.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum CudaToolchain {
    /// Pinned wheels.
    #[default]
    Pinned,
    /// The machine's own: `CUDA_HOME`, else `PATH`.
    System,
    /// A directory that holds `bin/nvcc`.
    Directory(PathBuf),
}

/// Where the simulator's source is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Source {
    /// A directory, relative to the recipe's.
    Path(String),
    /// A git repository at a revision (full commit id).
    Git {
        /// Repository.
        url: String,
        /// Commit.
        rev: String,
    },
    /// An archive with its digest.
    Url {
        /// Address.
        url: String,
        /// SHA-256 in hex.
        sha256: String,
    },
    /// A source distribution of a Python package index.
    Pypi {
        /// Project name.
        name: String,
        /// Version.
        version: String,
        /// SHA-256 in hex.
        sha256: String,
    },
    /// Several sources in one tree, or one with changes of the recipe's own.
    Composed(Vec<SourcePart>),
}

/// A part of a source tree that is put together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct SourcePart {
    /// Directory of the tree that it becomes; `.` for the tree itself.
    pub into: String,
    /// What is fetched; none where the recipe's own files are all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<Source>,
    /// Directory, relative to the recipe's, whose files are put over it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overlay: Option<String>,
    /// Patches, relative to the recipe's directory, in the order in which they are applied; before the overlay.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub patches: Vec<String>,
}

impl Source {
    /// What of it is fetched, part by part.
    pub fn fetched(&self) -> Vec<&Self> {
        match self {
            Self::Path(_) => Vec::new(),
            Self::Composed(parts) => {
                parts.iter().filter_map(|part| part.source.as_ref()).flat_map(Self::fetched).collect()
            }
            one => vec![one],
        }
    }
}

/// A level of the x86-64 psABI: what the processors have that host code is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub enum CpuLevel {
    /// Every x86-64 processor.
    #[serde(rename = "x86-64")]
    V1,
    /// SSE4.2 and POPCNT.
    #[serde(rename = "x86-64-v2")]
    V2,
    /// AVX2 and FMA.
    #[serde(rename = "x86-64-v3")]
    V3,
    /// AVX-512.
    #[serde(rename = "x86-64-v4")]
    V4,
}

impl CpuLevel {
    /// All, with the names that compilers and recipes use.
    pub const NAMES: [(&'static str, Self); 4] =
        [("x86-64", Self::V1), ("x86-64-v2", Self::V2), ("x86-64-v3", Self::V3), ("x86-64-v4", Self::V4)];

    /// 1 to 4.
    pub fn number(self) -> u32 {
        self as u32 + 1
    }
}

/// What a component is. Ordered as packages are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ComponentKind {
    /// Host library and programs, without device code.
    Core,
    /// Runtime compilation.
    Rtc,
    /// Device code.
    Kernels,
    /// Headers, CMake package, pkg-config.
    Dev,
    /// Static libraries.
    Static,
    /// A module for Python.
    Python,
    /// Device sources for compilation on the user's machine.
    Source,
    /// What brings everything.
    Meta,
}

impl fmt::Display for ComponentKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Core => "core",
            Self::Rtc => "rtc",
            Self::Kernels => "kernels",
            Self::Dev => "dev",
            Self::Static => "static",
            Self::Python => "python",
            Self::Source => "source",
            Self::Meta => "meta",
        })
    }
}

/// One component.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Component {
    /// Which one.
    pub kind: ComponentKind,
    /// What its version promises.
    pub policy: VersionPolicy,
    /// How it is built; none when another component's build makes its files.
    pub build: Option<BuildSpec>,
    /// Dimensions in which its builds differ, in the order of the recipe.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(default)]
    pub variants: Vec<VariantAxis>,
    /// Globs over the installed tree, `/`-joined, relative to the prefix.
    pub files: Vec<String>,
    /// Dependencies on packages simpack does not make.
    #[schemars(with = "Vec<UsedText>")]
    pub uses: Vec<Used>,
    /// Libraries that its code opens at run time, by the names it passes to `dlopen`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(default)]
    pub opens: Vec<String>,
    /// SONAMEs of libraries whose build gives them none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(default)]
    pub sonames: Vec<Soname>,
    /// How it compiles what users write.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(default)]
    pub compile: Option<Compile>,
}

/// A package that simpack does not make, with the versions that do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(into = "UsedText")]
pub struct Used {
    /// Its library's name among those of the vendor; none for any other package.
    pub library: Option<String>,
    /// conda's name of the package.
    pub package: String,
    /// Range of versions; empty for any.
    pub versions: String,
    /// Libraries that it is said to bring, by the names that the loader looks for.
    pub provides: Vec<String>,
    /// It is headers alone, which a build needs and packages do not.
    pub headers_only: bool,
    /// What stands for it where packages are wheels.
    pub wheel: Option<InWheels>,
}

/// What stands for a package of conda where packages are wheels.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum InWheels {
    /// A project of Python's package index, in the same versions.
    Project(String),
    /// Nothing: the systems that wheels are made for have it.
    System,
}

/// The same as a text, or a table where there is more to say.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum UsedText {
    /// Name and range.
    Plain(String),
    /// And what it brings, and what wheels have.
    #[serde(rename_all = "kebab-case")]
    Table {
        /// Name and range.
        package: String,
        /// Libraries.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        #[schemars(default)]
        provides: Vec<String>,
        /// What stands for it where packages are wheels.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schemars(default)]
        wheel: Option<InWheels>,
    },
}

impl fmt::Display for Used {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(format!("{} {}", self.package, self.versions).trim_end())
    }
}

impl From<Used> for UsedText {
    fn from(used: Used) -> Self {
        let package = used.to_string();
        match used {
            Used { provides, wheel: None, .. } if provides.is_empty() => Self::Plain(package),
            Used { provides, wheel, .. } => Self::Table { package, provides, wheel },
        }
    }
}

/// How a host component is built.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct BuildSpec {
    /// Which build system.
    pub driver: BuildDriver,
    /// Directory with its top file, relative to the source.
    pub source: String,
    /// Options: CMake cache entries, make variables, environment of a script. Placeholders in values are replaced.
    pub options: BTreeMap<String, String>,
    /// Files the build reads, as globs relative to the source directory: they make its key. Absent, it reads what the
    /// directory does not leave out: hidden files, what its `.gitignore` files ignore, what builds write.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(default)]
    pub inputs: Option<Vec<String>>,
    /// Make targets or the script's file name.
    pub targets: Vec<String>,
    /// What is installed of what was built, where the build has no install target that serves.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(default)]
    pub install: Vec<Install>,
    /// What it needs of others: packages of the channels, libraries of the machine.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(default)]
    pub needs: Vec<Need>,
}

/// Files of a build that are installed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Install {
    /// Glob over what the build left, relative to where it leaves things.
    pub from: String,
    /// Path below the prefix; with a slash at its end the directory for all that match.
    pub to: String,
}

/// Device sources that ship together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct KernelGroup {
    /// Name.
    pub name: String,
    /// Translation units, relative to the source.
    pub sources: Vec<String>,
    /// Declared kernels, sorted by name.
    pub table: Vec<KernelSignature>,
    /// What it ships as.
    pub form: KernelForm,
    /// Globs over the installed files that are cut to one capability; for the form `slice` alone.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[serde(default)]
    pub files: Vec<String>,
    /// Whether what is cut is for GPUs alone, and does not ship without device code.
    #[serde(rename = "gpu-only", default, skip_serializing_if = "std::ops::Not::not")]
    pub gpu_only: bool,
    /// Compiler flags for every step.
    pub flags: Vec<String>,
    /// One entry per combination of the variant axes; one unnamed entry without axes.
    pub variants: Vec<VariantChoice>,
    /// Names of the variants that promise the same bits on every device.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    #[serde(default)]
    pub exact: BTreeSet<String>,
    /// Additions for some capabilities.
    pub when: Vec<When>,
    /// What writes its translation units.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub generator: Option<Generator>,
    /// Whether the build of core puts its modules into core, so that no package ships them.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[serde(default)]
    pub embed: bool,
    /// What people call what its kernels' signatures count, by kernel. No key and no package follows from it.
    #[serde(skip)]
    pub names: BTreeMap<String, KernelNames>,
    /// The structures that its table declares. They are in the signatures of kernels, as far as these bind them.
    #[serde(skip)]
    pub structures: Vec<Structure>,
    /// What says how those lie in the host.
    #[serde(skip)]
    pub host_structures: Option<HostStructures>,
}

/// Names in a kernel table, for people who read about it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KernelNames {
    /// Translation unit, where the table says it.
    pub source: Option<String>,
    /// Name and type of each parameter, as the table writes them: `count`, `u32`.
    pub params: Vec<(String, String)>,
    /// The structure in the buffer at each binding, in the order of the signature's bindings; none where the table gives
    /// sizes alone.
    pub elements: Vec<Option<String>>,
}

/// A command that writes the translation units of a kernel group.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Generator {
    /// Program and arguments: a program of the machine by its name, or a file of the source by its path.
    pub command: Vec<String>,
    /// Globs over the files that it reads, relative to the source.
    pub inputs: Vec<String>,
}

impl Generator {
    /// The files that it reads.
    ///
    /// # Errors
    /// Its `inputs` are not globs.
    pub fn reads(&self) -> Result<Inputs> {
        Inputs::below("", Some(&self.inputs))
    }
}

/// The program of a command that is one of the machine's, found by its name; others are files of the source.
pub fn program_of_machine(command: &[String]) -> Option<&str> {
    command.first().map(String::as_str).filter(|program| !program.contains('/'))
}

/// Name of the one combination of a group without variant axes.
pub const UNNAMED_VARIANT: &str = "default";

/// One combination of variants.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct VariantChoice {
    /// Directory name: the values of all axes joined by `-`; [`UNNAMED_VARIANT`] without axes.
    pub name: String,
    /// Axis to value.
    pub choice: BTreeMap<String, String>,
    /// Preprocessor names (`NAME` or `NAME=VALUE`).
    pub define: Vec<String>,
    /// Compiler flags.
    pub flags: Vec<String>,
}

/// Additions that hold for a range of capabilities.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct When {
    /// Lowest capability, inclusive.
    pub from: Option<Capability>,
    /// Capability below which it holds, exclusive.
    pub below: Option<Capability>,
    /// Preprocessor names.
    pub define: Vec<String>,
    /// Compiler flags.
    pub flags: Vec<String>,
}

impl When {
    /// Whether the additions hold for a capability; suffixes do not matter.
    pub fn applies(&self, capability: Capability) -> bool {
        let number = capability.number();
        self.from.is_none_or(|from| number >= from.number()) && self.below.is_none_or(|below| number < below.number())
    }
}

/// Driver discovery of the host part.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct DriverPolicy {
    /// Names of driver profiles, in order.
    pub profiles: Vec<String>,
    /// Directories of these profiles, in order, without duplicates.
    pub directories: Vec<String>,
    /// Which tag.
    pub tag: PathTag,
}

/// Lint levels and waivers of a recipe.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, JsonSchema)]
pub struct LintSettings {
    /// Lint id to level.
    pub levels: BTreeMap<String, Level>,
    /// Waived findings.
    pub waivers: Vec<Waiver>,
}

/// Settings of package formats.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PackageSettings {
    /// Name of the conda channel.
    pub channel: String,
    /// Build number added to every package's own.
    pub build_number: u64,
    /// What a package manager brings where nobody tells the capability of the GPU.
    #[schemars(default)]
    pub fallback: Fallback,
    /// Whose conventions generated recipes of conda follow. It is in no package.
    #[serde(skip)]
    pub profile: CondaProfile,
    /// Accounts of those who look after generated recipes. They are in no package.
    #[serde(skip)]
    pub maintainers: Vec<String>,
    /// Who looks after the package of nix, by the names of nixpkgs' maintainers. They are in no package.
    #[serde(skip)]
    pub nix_maintainers: Vec<String>,
    /// What wheels do beyond what is agreed upon.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(default)]
    pub wheel_experiments: Vec<WheelExperiment>,
}

/// Something that wheels can do and that their users have not agreed upon yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WheelExperiment {
    /// Wheels of one version among which installers choose by the GPU (PEP 817 and PEP 825, drafts).
    Variants,
}

impl WheelExperiment {
    /// Every one, by its name in recipes.
    pub const NAMES: [(&'static str, Self); 1] = [("variants", Self::Variants)];
}

/// What serves a GPU whose capability the package manager does not know.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Fallback {
    /// The PTX of the lowest capability: the driver compiles it.
    #[default]
    Ptx,
    /// The kernels of all targets: each GPU runs its own.
    All,
    /// Nothing: the simulator runs on the CPU.
    Cpu,
}

impl Fallback {
    /// As recipes name them.
    pub const NAMES: [(&str, Self); 3] = [("ptx", Self::Ptx), ("all", Self::All), ("cpu", Self::Cpu)];
}

/// Whose conventions generated recipes of conda follow.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CondaProfile {
    /// Those of a channel of one's own: compilers are pinned, search paths name the driver's directories.
    #[default]
    Channel,
    /// conda-forge's: its pins, and drivers where the loader finds them.
    CondaForge,
}

impl CondaProfile {
    /// As recipes name them.
    pub const NAMES: [(&str, Self); 2] = [("channel", Self::Channel), ("conda-forge", Self::CondaForge)];
}
