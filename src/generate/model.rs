//! The model: all that generated texts say, as plain values.

use std::collections::BTreeMap;

use serde::Serialize;

use super::KernelTable;
use crate::arch::{CudaVersion, KernelTarget, Version};
use crate::build_system::BuildDriver;
use crate::error::{Error, Result};
use crate::fs::Digest;
use crate::manifest::{CondaForge, EasyBuild};
use crate::package::Package;
use crate::plan::ShaderCall;
use crate::recipe::{ComponentKind, Source};

/// A simulator and its packages.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Model {
    /// Name.
    pub name: String,
    /// Kernel tables, one a kernel group that has one.
    pub tables: Vec<KernelTable>,
    /// Version.
    pub version: Version,
    /// SPDX expression.
    pub license: String,
    /// The licences that it names, for readers that know no expressions.
    pub licenses: Vec<String>,
    /// One line.
    pub summary: String,
    /// Home page.
    pub homepage: Option<String>,
    /// Accounts of those who look after the recipes.
    pub maintainers: Vec<String>,
    /// Names of those among nixpkgs' maintainers who look after the package there.
    pub nix_maintainers: Vec<String>,
    /// The smoke test on a GPU: a program below the prefix and its arguments, in which `{device}` and `{target}` are still to
    /// be replaced; empty without one.
    pub gpu_check: Vec<String>,
    /// The recipe's own build number.
    pub build_number: u64,
    /// Recipes of conda follow conda-forge's conventions.
    pub conda_forge: bool,
    /// The tag that ties kernels to core.
    pub kernel_abi: Option<String>,
    /// The recipe's directory below the current one, for texts that call simpack itself.
    pub recipe: String,
    /// Where such texts install simpack from.
    pub simpack: Option<Revision>,
    /// Where the source is.
    pub source: ModelSource,
    /// What it is put together from, where that is several, or a wheel.
    pub parts: Vec<ModelPart>,
    /// Wheels are installed.
    pub wheels: bool,
    /// Wheels are among it.
    pub unpacks: bool,
    /// The recipe patches some of them.
    pub patches_wheels: bool,
    /// Licence texts, relative to the source.
    pub licences: Vec<String>,
    /// Builds of the host part, core's first, each behind those that it is built against.
    pub builds: Vec<Build>,
    /// An option of a build names a place of the build or a compiler.
    pub places: bool,
    /// One of them is built against what another one installs.
    pub against: bool,
    /// Components that are copied out of the source.
    pub copies: Vec<CopyBuild>,
    /// The recipe lists what is installed of some builds.
    pub installs: bool,
    /// SONAMEs that libraries of the host part are given.
    pub sonames: Vec<String>,
    /// Kernel groups that nvcc compiles.
    pub groups: Vec<Group>,
    /// Targets of kernel groups that ship cut: the host part is built for each, because nothing cuts there.
    pub cut: Vec<KernelTarget>,
    /// Variants of what ships cut that builds tell apart, that of the host part first; none where there is one build.
    pub cut_variants: Vec<String>,
    /// What ships cut, as extended patterns of bash.
    pub cut_files: Vec<String>,
    /// Calls of glslc, one a shader.
    pub shaders: Vec<ShaderCall>,
    /// Modules of shaders in WGSL, as simpack makes them: another release of naga makes others.
    pub modules: Vec<ShaderModule>,
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
    /// What EasyBuild has.
    #[serde(skip)]
    pub easybuild: EasyBuild,
    /// Vendor libraries and other packages that components use.
    pub uses: Vec<Use>,
    /// What builds need, core's and the others' but for that of the module for Python.
    pub needs: Needed,
    /// What the build of the module for Python needs, where it has one of its own.
    pub python_needs: Option<Needed>,
    /// Packages that hold what the module for Python is built against, where it is.
    pub python_against: Vec<String>,
    /// Libraries of the components, from their globs.
    pub libraries: Vec<Library>,
    /// Globs over the installed tree, by component.
    pub files: BTreeMap<String, Vec<String>>,
    /// There is a program of the simulator's name.
    pub program: bool,
    /// Packages, as simpack makes them, in the order in which they build on each other; only for targets that name
    /// packages ([`Target::names_packages`](super::Target::names_packages)).
    #[serde(skip)]
    pub packages: Vec<Output>,
}

/// Where the source is, and what other builders ask of it beyond the recipe's words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ModelSource {
    /// The recipe's own; a path is relative to the directory of the generated files and begins with `./` or `../`.
    pub of: Source,
    /// The digest of an archive as a hash of subresource integrity.
    pub sri: Option<String>,
    /// The file of a source that a Python package index has.
    pub listed: Option<Listed>,
    /// Patches that are applied to it, relative to the directory of the generated files.
    pub patches: Vec<String>,
    /// Directory whose files are put over it then, relative to that directory.
    pub overlay: Option<String>,
}

/// A part of a source tree, in a directory of its own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ModelPart {
    /// The directory; `.` for the tree itself.
    pub into: String,
    /// What is fetched, as [`ModelSource::of`]; none where the recipe's own files are all.
    pub of: Option<Source>,
    /// The address of what is fetched by one.
    pub url: Option<String>,
    /// Its digest (SHA-256, in hex).
    pub sha256: Option<String>,
    /// The same as a hash of subresource integrity.
    pub sri: Option<String>,
    /// It is a wheel, which `host.sh` unpacks and changes: no builder does.
    pub wheel: bool,
    /// Builds find what the wheel holds in the directory: not all of them install it.
    pub open: bool,
    /// Patches that are applied to it, relative to the directory of the generated files.
    pub patches: Vec<String>,
    /// Directory whose files are put over it then, relative to that directory.
    pub overlay: Option<String>,
}

/// A source distribution in a Python package index.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Listed {
    /// Where the index has it.
    pub url: String,
    /// Project, as the file's name spells it.
    pub project: String,
    /// Version, as the file's name spells it.
    pub version: String,
    /// Ending of the name: `tar.gz`.
    pub extension: String,
}

impl Listed {
    /// Reads the name of the file at an address: `https://index.example/my_sim-1.0.tar.gz`. None for anything but a
    /// source distribution.
    pub fn at(url: &str) -> Option<Self> {
        let file = url.rsplit('/').next()?;
        let extension = ["tar.gz", "tgz", "zip", "tar.bz2", "tar.xz", "tar.zst"]
            .into_iter()
            .find(|ending| file.strip_suffix(ending).is_some_and(|stem| stem.ends_with('.')))?;
        let stem = &file[..file.len() - extension.len() - 1];
        // The version begins with the first digit that follows a dash (PEP 440).
        let is_version = |(at, _): &(usize, &str)| stem[at + 1..].starts_with(|first: char| first.is_ascii_digit());
        let (at, _) = stem.match_indices('-').find(is_version)?;
        let (project, version) = (stem[..at].to_owned(), stem[at + 1..].to_owned());
        Some(Self { url: url.to_owned(), project, version, extension: extension.to_owned() })
    }
}

/// A commit of simpack's own repository, which texts that call simpack install.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Revision {
    /// Address of the repository.
    pub address: String,
    /// Its commit in full: a branch or tag says something else tomorrow.
    pub commit: String,
}

impl std::str::FromStr for Revision {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let is_commit = |commit: &str| {
            matches!(commit.len(), 40 | 64) && commit.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
        };
        let is_address = |address: &str| {
            let known = ["https://", "ssh://", "file:///"].iter().any(|scheme| address.starts_with(scheme));
            known && !address.contains(|c: char| c.is_control() || c.is_whitespace())
        };
        match text.rsplit_once('#') {
            Some((address, commit)) if is_address(address) && is_commit(commit) => {
                Ok(Self { address: address.to_owned(), commit: commit.to_owned() })
            }
            _ => Err(Error::usage(format!("`{text}` is no commit of a repository"))
                .hint("write https://HOST/PATH#COMMIT, the commit with all its digits")),
        }
    }
}

/// The build of one host component.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Build {
    /// Component.
    pub component: ComponentKind,
    /// Build system.
    pub driver: BuildDriver,
    /// What stands before an option in its call.
    pub flag: &'static str,
    /// What it makes lies among its sources.
    pub in_source: bool,
    /// Directory below the source root; `.` for the root.
    pub source: String,
    /// Options; `{prefix}` and `{jobs}` are still to be replaced.
    pub options: BTreeMap<String, String>,
    /// Make targets, or the script.
    pub targets: Vec<String>,
    /// What of it is installed, where the build does not install by itself: regular expressions over what it left, and places below the
    /// prefix.
    pub install: Vec<(String, String)>,
    /// Which files of a wheel are installed, as extended patterns of bash; none for all.
    pub patterns: Vec<String>,
    /// Host variants, the default first, each with all of its options; none where there is one build.
    pub variants: Vec<BuildVariant>,
    /// Components that it is built against.
    pub against: Vec<ComponentKind>,
    /// It is called once for each of the variants of what ships cut.
    pub by_cut: bool,
}

/// The build of a host variant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct BuildVariant {
    /// What other builders call it: `nompi`, `openmpi`, `openmpi/311`.
    pub key: String,
    /// Options, as those of the build.
    pub options: BTreeMap<String, String>,
}

/// What builds need of channels, and by which choices it differs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Needed {
    /// Match specs of packages that every variant needs, sorted.
    pub specs: Vec<String>,
    /// Axes of host variants, Python last.
    pub axes: Vec<Axis>,
}

/// A dimension of host variants.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Axis {
    /// Its name: `mpi`.
    pub name: String,
    /// Its values are versions of Python.
    pub python: bool,
    /// Its values, the default first.
    pub values: Vec<AxisValue>,
}

/// A value of a dimension.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AxisValue {
    /// What other builders call it: `nompi`, `openmpi`, `3.11`.
    pub key: String,
    /// Match specs of packages that its builds need beside the others.
    pub specs: Vec<String>,
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
    /// conda-forge pins compilers for this very release.
    pub pinned: bool,
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
    /// The versions of it, as a range; empty for any.
    pub versions: String,
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

/// A package, and where its files are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Output {
    /// The package, as simpack makes it.
    pub package: Package,
    /// CUDA release, where there are packages for several.
    pub release: Option<CudaVersion>,
    /// Globs over the installed tree.
    pub files: Vec<String>,
    /// Axes of its host variants, of which `package` is the default one; Python last.
    pub axes: Vec<Axis>,
}

impl Model {
    /// Whether packages hold shaders.
    pub fn has_shaders(&self) -> bool {
        !(self.shaders.is_empty() && self.modules.is_empty())
    }

    /// The library of a component that others link.
    pub fn library(&self, component: ComponentKind) -> Option<&Library> {
        self.libraries.iter().find(|library| library.component == component)
    }

    /// The library that whoever links another one links, too: core's, or that of the kernel packages where core's code
    /// ships cut.
    pub fn main_library(&self) -> Option<&Library> {
        self.library(ComponentKind::Core).or_else(|| self.library(ComponentKind::Kernels))
    }

    /// Address and digest (SHA-256, in hex) of the source's archive.
    pub fn archive(&self) -> Option<(&str, &str)> {
        match (&self.source.of, &self.source.listed) {
            (Source::Url { url, sha256 }, _) => Some((url, sha256)),
            (Source::Pypi { sha256, .. }, Some(listed)) => Some((&listed.url, sha256)),
            _ => None,
        }
    }

    /// Core's build, where a builder's own support of CMake can do it, and the components that `host.sh` builds.
    pub fn hooked(&self) -> (Option<&Build>, Vec<ComponentKind>) {
        let is_open = self.parts.iter().any(|part| part.open);
        let main = self.builds.first().filter(|build| {
            self.cut.is_empty()
                && !self.places
                && !is_open
                && build.install.is_empty()
                && build.component == ComponentKind::Core
                && build.driver == BuildDriver::Cmake
                && !build.source.contains("..")
        });
        let others = self.builds.iter().skip(usize::from(main.is_some())).map(|build| build.component);
        (main, others.chain(self.copies.iter().map(|copy| copy.component)).collect())
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

/// The licences that an SPDX expression names, in its order: `A AND (B OR C WITH D)` names `A`, `B` and `C WITH D`.
pub fn licence_ids(expression: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut goes_on = false;
    let signs = |sign: char| sign.is_whitespace() || sign == '(' || sign == ')';
    for word in expression.split(signs).filter(|word| !word.is_empty()) {
        match (word, found.last_mut()) {
            ("AND" | "OR", _) => {}
            ("WITH", Some(last)) => {
                last.push_str(" WITH ");
                goes_on = true;
            }
            (word, Some(last)) if goes_on => {
                last.push_str(word);
                goes_on = false;
            }
            (word, _) => found.push(word.to_owned()),
        }
    }
    found.dedup();
    found
}

/// A module of a shader in WGSL.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ShaderModule {
    /// Shader, relative to the source.
    pub source: String,
    /// Digest of its text: a module of another text is not the source's.
    pub sha256: Digest,
    /// Module, relative to the prefix.
    pub output: String,
    /// Whether the module is text, for WebGPU.
    pub is_text: bool,
    /// The text in lines, of what follows the last line break, too; else the bytes in Base64.
    pub lines: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_source_distribution() {
        let found = Listed::at("https://index.example/p/my-sim-gpu-1.0rc1.tar.gz").unwrap();
        assert_eq!((found.project.as_str(), found.version.as_str()), ("my-sim-gpu", "1.0rc1"));
        assert_eq!(found.extension, "tar.gz");
        for none in ["https://index.example/my_sim-1.0-py3-none-any.whl", "https://index.example/my_sim.tar.gz", ""] {
            assert_eq!(Listed::at(none), None, "{none}");
        }
    }

    #[test]
    fn licences_of_an_expression() {
        assert_eq!(licence_ids("BSD-3-Clause"), ["BSD-3-Clause"]);
        let expression = "MIT AND (Apache-2.0 WITH LLVM-exception OR GPL-2.0-only)";
        assert_eq!(licence_ids(expression), ["MIT", "Apache-2.0 WITH LLVM-exception", "GPL-2.0-only"]);
    }
}
