//! What an inspection found: the values that `--json` prints.

use schemars::JsonSchema;
use serde::Serialize;

use crate::arch::{Capability, GlibcVersion, KernelTarget};
use crate::elf::{FileKind, Machine};
use crate::gpu::{CodeKind, Resources, SpirvModule};

/// One of the paths that were given.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub struct Inspected {
    /// The path as it was given.
    pub path: String,
    /// Directory, package or file.
    pub is_tree: bool,
    /// Files that were seen, those inside packages too.
    pub seen: usize,
    /// Their bytes.
    pub bytes: u64,
    /// Packages: the one that was given, or those in the tree.
    pub packages: Vec<PackageFacts>,
    /// Files about which there is something to say, sorted by path.
    pub files: Vec<FileFacts>,
    /// What could not be examined: never the same as nothing found.
    pub unexamined: Vec<Gap>,
}

/// What a package says about itself.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
pub struct PackageFacts {
    /// Its file, relative to the path that was given; empty for that path itself.
    pub path: String,
    /// Whose words these are.
    pub format: PackageFormat,
    /// Name.
    pub name: String,
    /// Version.
    pub version: String,
    /// What it depends on, as it writes it.
    pub depends: Vec<String>,
}

/// Who reads a package's metadata.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum PackageFormat {
    /// conda: `info/index.json`.
    Conda,
    /// pip: `METADATA` of a wheel, `PKG-INFO` of a source archive.
    Python,
    /// simpack: `simpack.json`. Where a package manager has its own, that one counts.
    Simpack,
}

/// Something that was not examined.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
pub struct Gap {
    /// File.
    pub path: String,
    /// Why.
    pub reason: String,
}

/// One file.
#[derive(Debug, Serialize, JsonSchema)]
pub struct FileFacts {
    /// `/`-joined path below the path that was given, behind `PACKAGE: ` when it is in one; empty for that path.
    pub path: String,
    /// Bytes.
    pub size: u64,
    /// What the loader and the linker see.
    pub elf: Option<ElfFacts>,
    /// Objects of a static archive.
    pub objects: Option<Objects>,
    /// Device code, in the order of the file.
    pub images: Vec<ImageFacts>,
}

/// Objects of a static archive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Objects {
    /// Members that are ELF.
    pub total: usize,
    /// Members with device code.
    pub with_device_code: usize,
}

/// What an ELF file of the host says.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ElfFacts {
    /// Processor.
    pub machine: Machine,
    /// Library, program or object.
    pub kind: FileKind,
    /// Name that users of the library record.
    pub soname: Option<String>,
    /// Libraries it needs.
    pub needed: Vec<String>,
    /// `DT_RUNPATH`.
    pub runpath: Option<String>,
    /// `DT_RPATH`.
    pub rpath: Option<String>,
    /// Lowest glibc it runs with.
    pub glibc: Option<GlibcVersion>,
}

/// One piece of device code.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ImageFacts {
    /// Section, or member and section; empty for a file that is the code itself.
    pub place: String,
    /// Position in the file or the member.
    pub at: u64,
    /// What it is.
    pub kind: CodeKind,
    /// What it runs on as it is: `sm_90`, `compute_75`, `spirv1.3`.
    pub target: Option<KernelTarget>,
    /// Capability, also of code that does not run as it is.
    pub capability: Option<Capability>,
    /// Device of another vendor: `gfx90a:xnack-`.
    pub label: Option<String>,
    /// PTX: instruction set. SASS: cubin ABI. SPIR-V: version.
    pub version: (u16, u16),
    /// Bytes in the file.
    pub stored_size: u64,
    /// Bytes when unpacked.
    pub unpacked_size: u64,
    /// Has device debug information.
    pub debug: bool,
    /// Not linked yet.
    pub relocatable: bool,
    /// Stands in ordinary data.
    pub hidden: bool,
    /// Programs that made it; known when kernels are read.
    pub compilers: Vec<String>,
    /// Kernels, when they are read.
    pub kernels: Vec<KernelFacts>,
    /// What a SPIR-V module says.
    pub spirv: Option<SpirvModule>,
}

/// One kernel.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct KernelFacts {
    /// Symbol.
    pub name: String,
    /// The symbol in words, where it is mangled.
    pub demangled: Option<String>,
    /// Parameters: bytes from the start of their block, and size.
    pub params: Vec<crate::gpu::Param>,
    /// What it uses; machine code only.
    pub resources: Option<Resources>,
}
