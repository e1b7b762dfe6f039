//! What an inspection found: the values that `--json` prints.

use std::collections::HashMap;
use std::ops::Deref;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use super::location::Location;
use crate::arch::{Capability, GlibcVersion, KernelTarget};
use crate::elf::{FileKind, Machine, demangled, most_words};
use crate::gpu::{CodeImage, CodeKind, CodePlace, Kernel, Param, Resources, SpirvModule};
use crate::package::PackageFormat;

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
    /// Only some kernels were asked for, and kept.
    #[serde(skip)]
    pub is_filtered: bool,
}

impl Inspected {
    /// Keeps the kernels whose symbol, or name in words, is wanted, and the code and files that have such.
    pub fn keep_kernels(&mut self, wanted: &dyn Fn(&str) -> bool) {
        self.is_filtered = true;
        for file in &mut self.files {
            let Code { images, words } = &mut file.images;
            words.retain(|name, words| wanted(name) || words.as_deref().is_some_and(wanted));
            for image in images.iter_mut() {
                image.kernels.retain(|kernel| words.contains_key(&kernel.signature.name));
            }
            images.retain(|image| !image.kernels.is_empty());
        }
        self.files.retain(|file| !file.images.is_empty());
    }
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
    pub path: Location,
    /// Bytes.
    pub size: u64,
    /// What the loader and the linker see.
    pub elf: Option<ElfFacts>,
    /// Objects of a static archive.
    pub objects: Option<Objects>,
    /// Device code, in the order of the file.
    #[schemars(with = "Vec<ImageFacts<'static>>")]
    pub images: Code,
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
    #[schemars(with = "String")]
    place: &'a CodePlace,
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
    /// Known to hold no kernel.
    #[schemars(default)]
    empty: bool,
    /// Programs that made it; known when kernels are read, and else of one piece for each capability.
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
    demangled: Option<&'a str>,
    /// Parameters: bytes from the start of their block, and size.
    params: &'a [Param],
    /// What it uses; machine code only.
    resources: Option<Resources>,
}

impl<'a> ImageFacts<'a> {
    fn new(image: &'a CodeImage, code: &'a Code) -> Self {
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
            empty: image.empty,
            compilers: &image.compilers,
            kernels: image.kernels.iter().map(|kernel| KernelFacts::new(kernel, code)).collect(),
            spirv: image.spirv.as_ref(),
        }
    }
}

impl<'a> KernelFacts<'a> {
    fn new(kernel: &'a Kernel, code: &'a Code) -> Self {
        let Kernel { signature, resources } = kernel;
        let demangled = code.words(&signature.name);
        Self { name: &signature.name, demangled, params: &signature.params, resources: *resources }
    }
}

/// The device code of a file, with the names of its kernels as people wrote them.
#[derive(Debug, Default)]
pub struct Code {
    images: Vec<CodeImage>,
    /// Symbols of kernels in words, where they are mangled.
    words: HashMap<String, Option<String>>,
}

impl Code {
    /// The code, its names not read yet.
    pub(super) fn new(images: Vec<CodeImage>) -> Self {
        Self { images, words: HashMap::new() }
    }

    /// Reads each of the names once. What all names of an output together become is in proportion to them: those that
    /// come when it is spent stay as they are.
    pub(super) fn read_names(&mut self) {
        let Self { images, words } = self;
        for kernel in images.iter().flat_map(|image| &image.kernels) {
            let name = kernel.signature.name.as_str();
            if words.contains_key(name) {
                continue;
            }
            let left = WORDS_LEFT.fetch_add(2 * name.len() as u64, Relaxed);
            let is_read = left > 0 && name.starts_with('_');
            let found = is_read.then(|| demangled(name)).flatten();
            if is_read {
                // A name that nobody would read has cost as much as the longest that somebody would.
                let spent = found.as_ref().map_or_else(|| most_words(name), String::len) as u64;
                let _ = WORDS_LEFT.fetch_update(Relaxed, Relaxed, |left| Some(left.saturating_sub(spent)));
            }
            words.insert(name.to_owned(), found);
        }
    }

    /// A symbol in words, where it is mangled.
    pub fn words(&self, name: &str) -> Option<&str> {
        self.words.get(name)?.as_deref()
    }
}

impl Deref for Code {
    type Target = [CodeImage];

    fn deref(&self) -> &[CodeImage] {
        &self.images
    }
}

impl<'a> IntoIterator for &'a Code {
    type Item = &'a CodeImage;
    type IntoIter = std::slice::Iter<'a, CodeImage>;

    fn into_iter(self) -> Self::IntoIter {
        self.images.iter()
    }
}

impl Serialize for Code {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter().map(|image| ImageFacts::new(image, self)))
    }
}

/// Bytes of words that may still be printed by this process.
static WORDS_LEFT: AtomicU64 = AtomicU64::new(32 << 20);
