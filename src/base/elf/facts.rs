//! What a file says about itself, as a plain value: what it needs, gives and promises.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use object::elf;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::arch::GlibcVersion;

/// The processor a file is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Machine {
    /// x86-64.
    #[serde(rename = "x86_64")]
    X86_64,
    /// 64-bit Arm.
    Aarch64,
    /// 64-bit POWER.
    Ppc64,
    /// RISC-V.
    Riscv,
    /// NVIDIA device code: a cubin.
    Cuda,
    /// Anything else, by its number.
    Other(u16),
}

impl From<elf::Machine> for Machine {
    fn from(machine: elf::Machine) -> Self {
        match machine {
            elf::EM_X86_64 => Self::X86_64,
            elf::EM_AARCH64 => Self::Aarch64,
            elf::EM_PPC64 => Self::Ppc64,
            elf::EM_RISCV => Self::Riscv,
            elf::EM_CUDA => Self::Cuda,
            other => Self::Other(other.0),
        }
    }
}

impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::X86_64 => f.write_str("x86_64"),
            Self::Aarch64 => f.write_str("aarch64"),
            Self::Ppc64 => f.write_str("ppc64"),
            Self::Riscv => f.write_str("riscv"),
            Self::Cuda => f.write_str("cuda"),
            Self::Other(number) => write!(f, "machine {number}"),
        }
    }
}

/// What the file is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FileKind {
    /// An object for the linker (`ET_REL`).
    Object,
    /// An executable at fixed addresses (`ET_EXEC`).
    Executable,
    /// An executable that can be loaded anywhere (`ET_DYN` with `DF_1_PIE` or an interpreter).
    PieExecutable,
    /// A static executable that relocates itself: `ET_DYN`, dynamic section, no interpreter, `DF_1_PIE`.
    StaticPie,
    /// A shared library (`ET_DYN`).
    Library,
    /// Anything else, by its number.
    Other(u16),
}

/// What `PT_GNU_STACK` asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Stack {
    /// No statement: the loader makes the stack executable on x86-64.
    Unstated,
    /// Not executable.
    Data,
    /// Executable: kernels with stricter rules refuse to load such a library.
    Executable,
}

/// How much of the relocated data becomes read-only after loading.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Relro {
    /// Nothing.
    None,
    /// Everything but the lazily bound function table.
    Partial,
    /// Everything.
    Full,
}

/// One section as far as rules about files speak of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SectionFact {
    /// Name.
    pub name: String,
    /// `SHT_*`.
    pub kind: u32,
    /// `SHF_*`.
    pub flags: u64,
    /// Bytes.
    pub size: u64,
}

/// A symbol that the file gives to others.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Export {
    /// Name.
    pub name: String,
    /// Version node, if the file defines versions.
    pub version: Option<String>,
    /// Whether a linker takes this version when none is asked for (`name@@version`).
    pub default: bool,
    /// `function`, `object`, `tls`, `ifunc`, `none`, `common` or a number.
    pub kind: Cow<'static, str>,
    /// `global`, `weak`, `unique` or a number.
    pub binding: Cow<'static, str>,
    /// `default`, or `protected`: the library itself always uses its own.
    pub visibility: Cow<'static, str>,
    /// Bytes.
    pub size: u64,
}

/// A symbol that the file takes from others.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Import {
    /// Name.
    pub name: String,
    /// Version node it must have.
    pub version: Option<String>,
    /// The file that `.gnu.version_r` expects it from.
    pub library: Option<String>,
    /// `function`, `object`, `tls`, `none` ...
    pub kind: Cow<'static, str>,
    /// May stay unresolved.
    pub weak: bool,
}

/// Everything simpack's rules ask about one file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Facts {
    /// Processor.
    pub machine: Machine,
    /// 64: other classes are refused.
    pub class: u8,
    /// What the file is for.
    pub kind: FileKind,
    /// Name that users of the library record.
    pub soname: Option<String>,
    /// Libraries it needs, in order.
    pub needed: Vec<String>,
    /// `DT_RPATH`.
    pub rpath: Option<String>,
    /// `DT_RUNPATH`.
    pub runpath: Option<String>,
    /// Program interpreter.
    pub interp: Option<String>,
    /// `DT_FLAGS`.
    pub flags: u64,
    /// `DT_FLAGS_1`.
    pub flags_1: u64,
    /// Has a dynamic section: takes part in dynamic linking.
    pub dynamic: bool,
    /// Sections without the empty first one, in order; none if the headers are gone.
    pub sections: Vec<SectionFact>,
    /// What it exports, sorted. Of an object: its global definitions.
    pub exports: Vec<Export>,
    /// What it imports, sorted. Of an object: its undefined symbols.
    pub imports: Vec<Import>,
    /// Version records: file -> versions needed of it.
    pub version_needs: BTreeMap<String, BTreeSet<String>>,
    /// Versions it defines, sorted.
    pub version_definitions: BTreeSet<String>,
    /// What it asks of the stack.
    pub stack: Stack,
    /// Relocations in read-only segments.
    pub text_relocations: bool,
    /// Read-only relocations.
    pub relro: Relro,
    /// Binds all functions at load time.
    pub bind_now: bool,
    /// Has `.symtab`.
    pub symbol_table: bool,
    /// Has `.debug_info` (plain or compressed).
    pub debug_info: bool,
    /// The linker's build id as lowercase hex.
    pub build_id: Option<String>,
}

impl Facts {
    /// Highest version of a family that is needed: `highest("GLIBCXX")` is `[3, 4, 30]`. Names that
    /// are not numbers (`GLIBC_PRIVATE`) do not count.
    pub fn highest(&self, family: &str) -> Option<Vec<u32>> {
        highest(self.version_needs.values().flatten(), family)
    }

    /// Lowest glibc the file runs with, from the versions it needs.
    pub fn glibc(&self) -> Option<GlibcVersion> {
        let highest = self.highest("GLIBC")?;
        Some(GlibcVersion::new(*highest.first()?, highest.get(1).copied().unwrap_or(0)))
    }

    /// Highest `GLIBCXX_*` needed, as text: `3.4.30`.
    pub fn glibcxx(&self) -> Option<String> {
        self.highest("GLIBCXX").map(|version| dotted(&version))
    }

    /// Highest `CXXABI_*` needed, as text: `1.3.13`.
    pub fn cxxabi(&self) -> Option<String> {
        self.highest("CXXABI").map(|version| dotted(&version))
    }

    /// The section of this name.
    pub fn section(&self, name: &str) -> Option<&SectionFact> {
        self.sections.iter().find(|section| section.name == name)
    }

    /// Whether a symbol of this name is imported, under whatever version.
    pub fn imports_symbol(&self, name: &str) -> bool {
        self.imports.iter().any(|import| import.name == name)
    }

    /// Whether a symbol of this name is exported, under whatever version.
    pub fn exports_symbol(&self, name: &str) -> bool {
        self.exports.iter().any(|export| export.name == name)
    }

    /// Directories in which the loader looks because this file says so, `$ORIGIN` unexpanded.
    /// `DT_RPATH` counts only without `DT_RUNPATH` (ld.so(8)).
    pub fn search_path(&self) -> Vec<String> {
        let text = self.runpath.as_deref().or(self.rpath.as_deref()).unwrap_or_default();
        text.split(':').filter(|part| !part.is_empty()).map(str::to_owned).collect()
    }
}

/// Highest version of a family among names such as `GLIBC_2.34`.
pub fn highest<'a>(names: impl IntoIterator<Item = &'a String>, family: &str) -> Option<Vec<u32>> {
    let number = |name: &String| -> Option<Vec<u32>> {
        let rest = name.strip_prefix(family)?.strip_prefix('_')?;
        rest.split('.').map(|part| part.parse().ok()).collect()
    };
    names.into_iter().filter_map(number).max()
}

fn dotted(numbers: &[u32]) -> String {
    numbers.iter().map(u32::to_string).collect::<Vec<_>>().join(".")
}
