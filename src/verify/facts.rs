//! What was read from the bundles: plain values that the predicates look at.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::arch::CudaVersion;
use crate::bundle::{Artifact, ArtifactKind, BundleManifest, Dependency, KernelsList, Provider};
use crate::elf;
use crate::fs::{Digest, EntryKind};
use crate::gpu::{DeviceCode, SpirvModule};
use crate::layout::CompiledType;
use crate::package::conda::Record;
use crate::package::{KeptState, PythonProject};
use crate::recipe::{ComponentKind, TestOutcome};
use crate::report::Subject;

/// One package that simpack made.
#[derive(Debug, Clone)]
pub struct PackageFacts {
    /// What it says about itself.
    pub manifest: BundleManifest,
    /// What is in it, without its manifest.
    pub contents: Contents,
    /// What the list says that was kept of its installation.
    pub kept: Kept,
}

/// What lists with digests say of an installed package: of what lies beside its manifest, and of it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Kept {
    /// Nothing lies beside the manifest, or nobody asked.
    #[default]
    Nothing,
    /// Something does, and nobody has kept its digest.
    NoList,
    /// A list, with the files that are not as it says, or why it cannot be compared.
    List {
        /// The list, as the prefix or root has it.
        place: String,
        /// Files that are not as they were installed, sorted.
        differences: Result<Vec<(KeptState, String)>, String>,
    },
}

/// Files under one name: those of a package, or a library, wheel or directory that others made.
#[derive(Debug, Clone)]
pub struct Contents {
    /// What findings call it.
    pub name: String,
    /// Platform tags, of a wheel: what they say of glibc is a promise.
    pub platform: Option<String>,
    /// What it says of itself, if it is a wheel or an installed project of Python.
    pub project: Option<Arc<PythonProject>>,
    /// The environment that it is installed in.
    pub environment: Option<String>,
    /// One file that was named by itself: what lies around it is not known.
    pub is_alone: bool,
    /// Files and links, sorted by path.
    pub files: Vec<FileFacts>,
}

/// What a package manager is told of a package.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct PackageIndex {
    /// What conda is told.
    pub record: Record,
    /// CUDA release that its manifest names.
    pub cuda: Option<CudaVersion>,
}

/// A member of a package that would leave it, and is not unpacked.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Stray {
    /// The file of the package.
    pub package: String,
    /// The member's name, as far as it is text.
    pub member: String,
    /// How it would leave, in words that follow the name.
    pub why: String,
}

/// One file or link.
#[derive(Debug, Clone)]
pub struct FileFacts {
    /// `/`-joined path below the prefix.
    pub path: String,
    /// What it is.
    pub kind: EntryKind,
    /// Permission bits of a file, when they could be read.
    pub mode: Option<u32>,
    /// Digest of its bytes, if the run asked for it.
    pub digest: Option<Digest>,
    /// The ELF objects in it: one of an ELF file, the members of an archive, none of anything else.
    /// Cubins are under `device`.
    pub objects: Vec<ObjectFacts>,
    /// Device code in it. What of it could not be examined stands in the report, too.
    pub device: Arc<DeviceCode>,
    /// The modules among those that its package's build was given to embed that stand in its bytes, by their digests.
    pub embedded: BTreeMap<Digest, SpirvModule>,
    /// Paths of the build that stand in its bytes, unless it is a text that takes part in builds.
    pub leaks: Vec<String>,
    /// Lines of a text that takes part in builds that name paths of its own build.
    pub leaking: Vec<String>,
    /// What its text fixes of the machine that it was made on, where it takes part in builds.
    pub fixed: Vec<String>,
    /// Lines of its text that name the prefix of builds.
    pub prefixed: Vec<String>,
    /// The package's kernel ABI tag stands in its bytes (looked for in ELF files).
    pub holds_tag: bool,
    /// What a `kernels.json` says, or why it cannot be understood.
    pub list: Option<Result<KernelsList, String>>,
    /// The library of built-in functions that an NVRTC opens by name.
    pub builtins: Option<String>,
    /// Known names of libraries among the constants of a package's file that calls `dlopen`.
    pub opens: Vec<String>,
}

/// One ELF object of host code.
#[derive(Debug, Clone)]
pub struct ObjectFacts {
    /// Member's name, in an archive.
    pub member: Option<String>,
    /// What it says.
    pub elf: Arc<elf::Facts>,
    /// Level of the x86-64 psABI that it says it needs.
    pub isa: Option<u32>,
    /// What its instructions need, if they were asked for.
    pub code: Option<elf::HostCode>,
    /// Types that shaders are filled from, as its debug information has them.
    pub types: Vec<CompiledType>,
}

/// What staging found in the installed tree.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Staging {
    /// Files that no component claims.
    pub unclaimed: Vec<String>,
    /// Files that several components claim.
    pub claimed_twice: Vec<(String, Vec<ComponentKind>)>,
    /// Globs that match nothing.
    pub empty_globs: Vec<(ComponentKind, String)>,
    /// Capabilities that the source fixes: file, line, text.
    pub hard_coded: Vec<String>,
    /// Tools that the recipe's options name.
    pub overrides: Vec<String>,
    /// Options of the recipe that the build of a component did not use, sorted.
    pub unused: BTreeSet<(ComponentKind, String)>,
    /// Files whose search path is another than their build gave them.
    pub search_paths: Vec<ReplacedSearchPath>,
    /// Shared libraries of the packages that builds were given, each with its package.
    pub given: BTreeMap<String, String>,
    /// The recipe's tests, and how they ended.
    pub tests: Vec<TestOutcome>,
}

/// A file whose search path is another than its build gave it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplacedSearchPath {
    /// Package that holds it.
    pub package: String,
    /// CUDA release of the package.
    pub cuda: Option<CudaVersion>,
    /// The file, `/`-joined below the prefix.
    pub path: String,
    /// What its build gave it: directories joined by colons.
    pub built: String,
}

impl Contents {
    /// The subject of a finding about one of its files. A file that is examined by itself is its own subject.
    pub fn subject(&self, path: &str) -> Subject {
        if self.name == path { path.into() } else { Subject::file(self.name.as_str(), path) }
    }

    /// The file or link at a path.
    pub fn file(&self, path: &str) -> Option<&FileFacts> {
        self.files.binary_search_by(|file| file.path.as_str().cmp(path)).ok().map(|index| &self.files[index])
    }

    /// Every ELF object with the subject of a finding about it and the file that holds it.
    pub fn objects(&self) -> impl Iterator<Item = (Subject, &FileFacts, &elf::Facts)> {
        self.files.iter().flat_map(move |file| {
            file.objects.iter().map(move |object| {
                let subject = match &object.member {
                    Some(member) => self.subject(&format!("{}({member})", file.path)),
                    None => self.subject(&file.path),
                };
                (subject, file, &*object.elf)
            })
        })
    }

    /// Every ELF file that the loader maps: libraries and dynamic executables.
    pub fn loaded(&self) -> impl Iterator<Item = (Subject, &FileFacts, &elf::Facts)> {
        self.objects().filter(|(_, _, facts)| facts.dynamic)
    }
}

impl PackageFacts {
    /// Name of the package.
    pub fn name(&self) -> &str {
        &self.manifest.package
    }

    /// What findings call it: its name, with the CUDA release where packages of several releases have it.
    pub fn label(&self) -> &str {
        &self.contents.name
    }

    /// Its files and links, sorted by path.
    pub fn files(&self) -> &[FileFacts] {
        &self.contents.files
    }

    /// The subject of a finding about one of its files.
    pub fn subject(&self, path: &str) -> Subject {
        self.contents.subject(path)
    }

    /// As [`Contents::objects`].
    pub fn objects(&self) -> impl Iterator<Item = (Subject, &FileFacts, &elf::Facts)> {
        self.contents.objects()
    }

    /// As [`Contents::loaded`].
    pub fn loaded(&self) -> impl Iterator<Item = (Subject, &FileFacts, &elf::Facts)> {
        self.contents.loaded()
    }

    /// The manifest's entry of a path.
    pub fn artifact(&self, path: &str) -> Option<&Artifact> {
        self.manifest.artifacts.iter().find(|artifact| artifact.path == path)
    }

    /// Whether the package brings files of its own beside its manifest.
    pub fn has_files(&self) -> bool {
        !self.contents.files.is_empty() || !self.manifest.artifacts.is_empty()
    }

    /// Names of the packages of channels that its build was given, and whose libraries its files need.
    pub fn given(&self) -> impl Iterator<Item = &str> {
        self.manifest.outside.iter().filter_map(|outside| match &outside.from {
            Provider::Channel { package, .. } => Some(package.as_str()),
            Provider::System { .. } => None,
        })
    }

    /// Names of the packages and vendor libraries it declares in `uses`.
    pub fn uses(&self) -> impl Iterator<Item = &str> {
        self.manifest.uses.iter().filter_map(Dependency::name)
    }
}

impl FileFacts {
    /// Last part of the path.
    pub fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or(&self.path)
    }

    /// The kernel that an entry point of its code is. Shaders in GLSL have one, which is always called `main`: it is the
    /// kernel that the file is named for.
    pub fn kernel_name<'a>(&'a self, entry: &'a str) -> &'a str {
        let is_shader = || self.device.images.iter().any(|image| image.spirv.is_some());
        if entry == "main" && is_shader() { self.name().split('.').next().unwrap_or(entry) } else { entry }
    }

    /// Directory of the file below the prefix; empty at the top.
    pub fn directory(&self) -> &str {
        self.path.rsplit_once('/').map_or("", |(directory, _)| directory)
    }

    /// What the manifest should say of the file, if its digest is known.
    pub fn artifact_kind(&self) -> Option<ArtifactKind> {
        match &self.kind {
            EntryKind::File { size, executable } => {
                let sha256 = self.digest?;
                Some(ArtifactKind::File { sha256, size: *size, executable: *executable })
            }
            EntryKind::Link(to) => Some(ArtifactKind::Link { to: to.clone() }),
            EntryKind::Directory => None,
        }
    }
}
