//! The model: all that generated texts say, as plain values.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::manifest::CondaForge;
use crate::recipe::{BuildDriver, ComponentKind};
use crate::target::{CudaVersion, KernelTarget, Version};

/// A simulator and its packages.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Model {
    /// Name.
    pub name: String,
    /// Version.
    pub version: Version,
    /// SPDX expression.
    pub license: String,
    /// One line.
    pub summary: String,
    /// Home page.
    pub homepage: Option<String>,
    /// Accounts of those who look after the recipes.
    pub maintainers: Vec<String>,
    /// The tag that ties kernels to core.
    pub kernel_abi: Option<String>,
    /// The recipe's directory below the current one, for texts that call simpack itself.
    pub recipe: String,
    /// Where the source is.
    pub source: ModelSource,
    /// File names of licence texts at the top of the source.
    pub licences: Vec<String>,
    /// Builds of the host part, core's first.
    pub builds: Vec<Build>,
    /// Components that are copied out of the source.
    pub copies: Vec<CopyBuild>,
    /// Kernel groups.
    pub groups: Vec<Group>,
    /// CUDA releases, the recipe's own first.
    pub releases: Vec<Release>,
    /// Driver directories of search paths, in order.
    pub driver_directories: Vec<String>,
    /// Search paths are an RPATH, not a RUNPATH.
    pub rpath: bool,
    /// Host compiler.
    pub host: Host,
    /// What conda-forge pins.
    #[serde(skip)]
    pub forge: CondaForge,
    /// Vendor libraries and other packages that components use.
    pub uses: Vec<Use>,
    /// Libraries of the components, from their globs.
    pub libraries: Vec<Library>,
    /// Globs over the installed tree, by component.
    pub files: BTreeMap<String, Vec<String>>,
    /// Packages, as simpack makes them, in the order in which they build on each other.
    pub packages: Vec<Package>,
}

/// Where a source is, as a generated text names it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum ModelSource {
    /// A directory, relative to the directory of the generated files.
    Path {
        /// `/`-joined; begins with `./` or `../`.
        path: String,
    },
    /// A commit.
    Git {
        /// Repository.
        url: String,
        /// Commit.
        rev: String,
    },
    /// An archive.
    Url {
        /// Address.
        url: String,
        /// SHA-256 in hex.
        sha256: String,
        /// The same as a hash of subresource integrity.
        sri: String,
    },
    /// A file of a Python package index.
    Pypi {
        /// Project.
        project: String,
        /// Version.
        version: String,
        /// SHA-256 in hex.
        sha256: String,
        /// The same as a hash of subresource integrity.
        sri: String,
    },
}

/// The build of one host component.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Build {
    /// Component.
    pub component: ComponentKind,
    /// Build system.
    pub driver: BuildDriver,
    /// Directory below the source root; `.` for the root.
    pub source: String,
    /// Options; `{prefix}` and `{jobs}` are still to be replaced.
    pub options: BTreeMap<String, String>,
    /// Make targets, or the script.
    pub targets: Vec<String>,
}

/// A component whose files are copied below `share/NAME`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CopyBuild {
    /// Component.
    pub component: ComponentKind,
    /// Directory below the source root.
    pub source: String,
    /// Globs over the directory, as extended patterns of bash.
    pub patterns: Vec<String>,
}

/// A kernel group.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Group {
    /// Name.
    pub name: String,
    /// Translation units.
    pub sources: Vec<String>,
    /// Compiler arguments of every unit.
    pub flags: Vec<String>,
    /// Directory names of the variants, with their arguments.
    pub variants: Vec<(String, Vec<String>)>,
    /// Additions for a range of capabilities, by the compiler's number: from, below, arguments.
    pub when: Vec<(Option<u32>, Option<u32>, Vec<String>)>,
}

/// A CUDA release and what it compiles.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Release {
    /// Version.
    pub cuda: CudaVersion,
    /// g++ that its nvcc accepts and conda-forge builds with.
    pub gxx: u32,
    /// Targets.
    pub targets: Vec<KernelTarget>,
}

/// Host compiler.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Host {
    /// g++ of all releases: one core serves them all, so it is built once.
    pub gxx: u32,
    /// Lowest glibc.
    pub glibc: String,
}

/// A package that a component uses.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Use {
    /// Component that uses it.
    pub component: ComponentKind,
    /// Conda match spec.
    pub spec: String,
    /// Conda package.
    pub conda: String,
    /// Conda package with headers; none for what is no library of the vendor.
    pub conda_dev: Option<String>,
    /// Attribute of nixpkgs' `cudaPackages`.
    pub nix: Option<String>,
}

/// A library of a component.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Library {
    /// Component.
    pub component: ComponentKind,
    /// `volley` of `libvolley.so.1`.
    pub base: String,
    /// Version at the end of its SONAME.
    pub soname: String,
    /// Archive instead of a shared library.
    pub archive: bool,
    /// File name that a linker or loader looks for: `libvolley.so.1`, `libvolley.a`.
    pub file: String,
}

/// How a build string is made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", content = "text", rename_all = "kebab-case")]
pub enum BuildText {
    /// Hash and build number.
    Hashed,
    /// Words before the hash.
    Named(String),
    /// Exactly this.
    Fixed(String),
}

/// What a package depends on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", content = "text", rename_all = "kebab-case")]
pub enum Dependency {
    /// A match spec.
    Spec(String),
    /// The very build of another package of the recipe.
    Exactly(String),
}

/// A package.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Package {
    /// Name.
    pub name: String,
    /// Version.
    pub version: String,
    /// Whether it holds no host code.
    pub noarch: bool,
    /// Component.
    pub component: ComponentKind,
    /// CUDA release, where there are packages for several.
    pub release: Option<CudaVersion>,
    /// Build string.
    pub build: BuildText,
    /// Build number.
    pub number: u64,
    /// Dependencies.
    pub depends: Vec<Dependency>,
    /// Conditions on packages that need not be there.
    pub constrains: Vec<String>,
    /// What packages that are built with it depend on.
    pub run_exports: Vec<String>,
    /// Globs over the installed tree.
    pub files: Vec<String>,
    /// Shell lines that must succeed.
    pub tests: Vec<String>,
    /// One line.
    pub summary: String,
}

impl Model {
    /// The library of a component that others link.
    pub fn library(&self, component: ComponentKind) -> Option<&Library> {
        self.libraries.iter().find(|library| library.component == component)
    }

    /// Whether a component is there.
    pub fn has(&self, component: ComponentKind) -> bool {
        self.files.contains_key(&component.to_string())
    }
}

/// The name of a library that a glob such as `lib/libvolley.so.*` stands for.
pub fn library_base(glob: &str) -> Option<(&str, bool)> {
    let name = glob.strip_prefix("lib/lib")?;
    let (base, archive) = match name.split_once(".so") {
        Some((base, _)) => (base, false),
        None => (name.strip_suffix(".a")?, true),
    };
    let is_word = |letter: char| letter.is_ascii_alphanumeric() || "_-+.".contains(letter);
    (!base.is_empty() && base.chars().all(is_word)).then_some((base, archive))
}
