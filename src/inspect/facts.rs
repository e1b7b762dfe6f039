//! What an inspection found: the values that `--json` prints.

use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use crate::arch::{Capability, GlibcVersion, KernelTarget};
use crate::elf::{FileKind, Machine};
use crate::gpu::{CodeImage, CodeKind, Kernel, Param, Resources, SpirvModule};

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
    #[serde(serialize_with = "print")]
    #[schemars(with = "Vec<ImageFacts<'static>>")]
    pub images: Vec<CodeImage>,
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
#[derive(Serialize, JsonSchema)]
struct ImageFacts<'a> {
    /// Section, or member and section; empty for a file that is the code itself.
    place: &'a str,
    /// Position in the file or the member.
    at: u64,
    /// What it is.
    kind: CodeKind,
    /// What it runs on as it is: `sm_90`, `compute_75`, `spirv1.3`.
    target: Option<KernelTarget>,
    /// Capability, also of code that does not run as it is.
    capability: Option<Capability>,
    /// Device of another vendor: `gfx90a:xnack-`.
    label: Option<&'a str>,
    /// PTX: instruction set. SASS: cubin ABI. SPIR-V: version.
    version: (u16, u16),
    /// Bytes in the file.
    stored_size: u64,
    /// Bytes when unpacked.
    unpacked_size: u64,
    /// Has device debug information.
    debug: bool,
    /// Not linked yet.
    relocatable: bool,
    /// Stands in ordinary data.
    hidden: bool,
    /// Programs that made it; known when kernels are read.
    compilers: &'a [String],
    /// Kernels, when they are read.
    kernels: Vec<KernelFacts<'a>>,
    /// What a SPIR-V module says.
    spirv: Option<&'a SpirvModule>,
}

/// One kernel.
#[derive(Serialize, JsonSchema)]
struct KernelFacts<'a> {
    /// Symbol.
    name: &'a str,
    /// The symbol in words, where it is mangled.
    demangled: Option<String>,
    /// Parameters: bytes from the start of their block, and size.
    params: &'a [Param],
    /// What it uses; machine code only.
    resources: Option<Resources>,
}

impl<'a> From<&'a CodeImage> for ImageFacts<'a> {
    fn from(image: &'a CodeImage) -> Self {
        Self {
            place: &image.place,
            at: image.at,
            kind: image.kind,
            target: image.target(),
            capability: image.capability,
            label: image.label.as_deref(),
            version: image.version,
            stored_size: image.stored_size,
            unpacked_size: image.unpacked_size,
            debug: image.debug,
            relocatable: image.relocatable,
            hidden: image.hidden,
            compilers: &image.compilers,
            kernels: image.kernels.iter().map(KernelFacts::from).collect(),
            spirv: image.spirv.as_ref(),
        }
    }
}

impl<'a> From<&'a Kernel> for KernelFacts<'a> {
    fn from(kernel: &'a Kernel) -> Self {
        let Kernel { signature, resources } = kernel;
        Self { name: &signature.name, demangled: kernel.demangled(), params: &signature.params, resources: *resources }
    }
}

fn print<S: Serializer>(images: &[CodeImage], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(images.iter().map(ImageFacts::from))
}
