//! Device code as plain values: pieces for one target each, and their kernels.

use std::sync::Arc;

use super::KernelSignature;
use super::code_place::CodePlace;
use super::containers::fatbin::CodeKind;
use super::cubin::Resources;
use super::spirv::SpirvModule;
use crate::arch::{Capability, KernelTarget};

/// How closely to look.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Look {
    /// Unpack the code and read its kernels. Without, only headers are touched.
    pub kernels: bool,
    /// Search the whole file for containers that stand in ordinary data (some vendor libraries). Without, only the
    /// data of files that name CUDA are searched.
    pub deep: bool,
}

/// All device code of a file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DeviceCode {
    /// Pieces of code in the order of the file.
    pub images: Vec<CodeImage>,
    /// What could not be examined, and why: never the same as nothing found.
    pub unexamined: Vec<String>,
}

/// One piece of code for one target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CodeImage {
    /// Where it stands.
    pub place: CodePlace,
    /// Position in the file, or in the archive's member.
    pub at: u64,
    /// Position of the container that it stands in with others; its own where it stands alone.
    pub container: u64,
    /// What it is.
    pub kind: CodeKind,
    /// For which capability; `None` for a number that makes no sense, and for what is not CUDA.
    pub capability: Option<Capability>,
    /// The device in its maker's words, where it is no capability: `gfx90a:xnack-`.
    pub label: Option<String>,
    /// PTX: version of the instruction set. SASS: version of the cubin's ABI. SPIR-V: version.
    pub version: (u16, u16),
    /// Bytes in the file.
    pub stored_size: u64,
    /// Bytes when unpacked.
    pub unpacked_size: u64,
    /// Made with device debug information.
    pub debug: bool,
    /// Not linked yet (`-rdc`).
    pub relocatable: bool,
    /// Relocatable code in a program or shared library, which a link left there.
    pub left_by_link: bool,
    /// Stands in ordinary data, where the usual tools do not find it.
    pub hidden: bool,
    /// Known to hold no kernel, as what a compiler leaves of a unit without any: nothing runs of it.
    pub empty: bool,
    /// Programs that made it, where they say so.
    pub compilers: Vec<String>,
    /// Kernels, if they were asked for and this kind of code has them in readable form.
    pub kernels: Vec<Kernel>,
    /// What a SPIR-V module says, or a shader in WGSL as such a module.
    pub spirv: Option<SpirvModule>,
}

/// A kernel as any kind of code shows it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Kernel {
    /// Name and parameters; those of one file share them.
    pub signature: Arc<KernelSignature>,
    /// What it uses; only machine code knows.
    pub resources: Option<Resources>,
}

impl CodeImage {
    /// What it runs on; `None` for code that no device takes as it is (LTO-IR, HIP, unknown kinds).
    pub fn target(&self) -> Option<KernelTarget> {
        match self.kind {
            CodeKind::Sass => self.capability.map(KernelTarget::Sass),
            CodeKind::Ptx => self.capability.map(KernelTarget::Ptx),
            CodeKind::Spirv => {
                self.spirv.as_ref().map(|module| KernelTarget::Spirv(module.version.0, module.version.1))
            }
            CodeKind::Wgsl => Some(KernelTarget::WebGpu),
            CodeKind::LtoIr | CodeKind::Offload | CodeKind::Other(_) => None,
        }
    }

    /// ISA of the PTX that a driver can compile; none for other kinds of code.
    pub fn ptx_isa(&self) -> Option<(u32, u32)> {
        let (major, minor) = self.version;
        matches!(self.target(), Some(KernelTarget::Ptx(_))).then_some((major.into(), minor.into()))
    }

    /// The device that it was made for: a capability, its maker's name, SPIR-V's version.
    pub fn device(&self) -> String {
        match (self.capability, &self.label, self.kind) {
            (Some(capability), ..) => capability.to_string(),
            (None, Some(label), _) => label.clone(),
            (None, None, CodeKind::Spirv) => format!("{}.{}", self.version.0, self.version.1),
            (None, None, CodeKind::Wgsl) => "WebGPU".to_owned(),
            (None, None, CodeKind::Other(number)) => format!("{number:#x}"),
            (None, None, _) => "?".to_owned(),
        }
    }

    /// The code in words: `sm_90`, `compute_75`, `LTO-IR of sm_90`.
    pub fn describe(&self) -> String {
        let of = self.capability.map_or_else(|| "an unknown capability".to_owned(), |capability| capability.sm());
        match (self.kind, self.target()) {
            (_, Some(target)) => target.to_string(),
            (CodeKind::Sass, None) => format!("machine code of {of}"),
            (CodeKind::Ptx, None) => format!("PTX of {of}"),
            (CodeKind::LtoIr, None) => format!("LTO-IR of {of}"),
            (CodeKind::Spirv, None) => "SPIR-V".to_owned(),
            (CodeKind::Wgsl, None) => "WGSL".to_owned(),
            (CodeKind::Offload, None) => {
                format!("HIP code for {}", self.label.as_deref().unwrap_or("an unknown device"))
            }
            (CodeKind::Other(number), None) => format!("device code of an unknown kind ({number:#x})"),
        }
    }

    /// An image of which only the place is known.
    pub fn new(kind: CodeKind, place: &CodePlace, at: u64, size: u64) -> Self {
        Self {
            place: place.clone(),
            at,
            container: at,
            kind,
            capability: None,
            label: None,
            version: (0, 0),
            stored_size: size,
            unpacked_size: size,
            debug: false,
            relocatable: false,
            left_by_link: false,
            hidden: false,
            empty: false,
            compilers: Vec::new(),
            kernels: Vec::new(),
            spirv: None,
        }
    }
}

impl DeviceCode {
    /// No device code, and everything was examined.
    pub fn is_empty(&self) -> bool {
        self.images.is_empty() && self.unexamined.is_empty()
    }

    /// What the code runs on, sorted, without repetition.
    pub fn targets(&self) -> Vec<KernelTarget> {
        let mut targets: Vec<KernelTarget> = self.images.iter().filter_map(CodeImage::target).collect();
        targets.sort();
        targets.dedup();
        targets
    }

    /// Signatures of the kernels for one target, sorted, without repetition.
    pub fn kernels_of(&self, target: KernelTarget) -> Vec<KernelSignature> {
        let images = self.images.iter().filter(|image| image.target() == Some(target));
        let mut kernels: Vec<KernelSignature> =
            images.flat_map(|image| &image.kernels).map(|kernel| (*kernel.signature).clone()).collect();
        kernels.sort();
        kernels.dedup();
        kernels
    }
}
