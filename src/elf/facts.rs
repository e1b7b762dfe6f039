//! What a file says about itself, as a plain value: what it needs, gives and promises.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use object::elf;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::bytes::Bytes;
use super::{Dynamic, ElfError, Image, Symbol, SymbolTable, Versions};
use crate::target::GlibcVersion;

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
    pub kind: String,
    /// `global`, `weak`, `unique` or a number.
    pub binding: String,
    /// `default`, or `protected`: the library itself always uses its own.
    pub visibility: String,
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
    pub kind: String,
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

/// Reads the facts of a 64-bit little-endian file.
///
/// # Errors
/// See [`ElfError`]: not ELF, an unsupported class, or damaged tables.
pub fn facts(bytes: &[u8]) -> Result<Facts, ElfError> {
    let image = Image::parse(bytes)?;
    let dynamic = Dynamic::parse(&image)?;
    let mut facts = Facts {
        machine: image.header.machine.into(),
        class: 64,
        kind: FileKind::of(&image, dynamic.as_ref()),
        soname: None,
        needed: Vec::new(),
        rpath: None,
        runpath: None,
        interp: interpreter(&image),
        flags: 0,
        flags_1: 0,
        dynamic: dynamic.is_some(),
        sections: image.sections.iter().skip(1).map(section_fact).collect(),
        exports: Vec::new(),
        imports: Vec::new(),
        version_needs: BTreeMap::new(),
        version_definitions: BTreeSet::new(),
        stack: stack(&image),
        text_relocations: false,
        relro: Relro::None,
        bind_now: false,
        symbol_table: image.sections.iter().any(|section| section.kind == elf::SHT_SYMTAB),
        debug_info: image.sections.iter().any(|section| matches!(&*section.name, ".debug_info" | ".zdebug_info")),
        build_id: build_id(&image),
    };
    match &dynamic {
        Some(dynamic) => read_dynamic(&image, dynamic, &mut facts)?,
        None => read_object(&image, &mut facts),
    }
    facts.exports.sort();
    facts.exports.dedup();
    facts.imports.sort();
    facts.imports.dedup();
    Ok(facts)
}

fn section_fact(section: &super::Section) -> SectionFact {
    SectionFact { name: section.name.clone(), kind: section.kind.0, flags: section.flags.0, size: section.size }
}

impl FileKind {
    /// The kind of a file with these tables.
    pub fn of(image: &Image<'_>, dynamic: Option<&Dynamic<'_>>) -> Self {
        let pie = dynamic
            .and_then(|dynamic| dynamic.value(elf::DT_FLAGS_1))
            .is_some_and(|flags| flags & elf::DF_1_PIE.0 != 0);
        let interpreted = image.segment(elf::PT_INTERP).is_some();
        match image.header.kind {
            elf::ET_REL => Self::Object,
            elf::ET_EXEC => Self::Executable,
            elf::ET_DYN if pie && !interpreted => Self::StaticPie,
            // Libraries that print their version when run (libc.so.6) have an interpreter and a SONAME.
            elf::ET_DYN if pie => Self::PieExecutable,
            elf::ET_DYN if interpreted && dynamic.is_some_and(|dynamic| dynamic.value(elf::DT_SONAME).is_none()) => {
                Self::PieExecutable
            }
            elf::ET_DYN => Self::Library,
            other => Self::Other(other.0),
        }
    }
}

fn interpreter(image: &Image<'_>) -> Option<String> {
    Bytes(image.segment_bytes(image.segment(elf::PT_INTERP)?)?).string(0)
}

fn stack(image: &Image<'_>) -> Stack {
    match image.segment(elf::PT_GNU_STACK) {
        None => Stack::Unstated,
        Some(segment) if segment.flags.0 & elf::PF_X.0 != 0 => Stack::Executable,
        Some(_) => Stack::Data,
    }
}

fn read_dynamic(image: &Image<'_>, dynamic: &Dynamic<'_>, facts: &mut Facts) -> Result<(), ElfError> {
    facts.soname = dynamic.text(elf::DT_SONAME);
    facts.needed = dynamic.texts(elf::DT_NEEDED);
    facts.rpath = dynamic.text(elf::DT_RPATH);
    facts.runpath = dynamic.text(elf::DT_RUNPATH);
    facts.flags = dynamic.value(elf::DT_FLAGS).unwrap_or(0);
    facts.flags_1 = dynamic.value(elf::DT_FLAGS_1).unwrap_or(0);
    facts.text_relocations = dynamic.value(elf::DT_TEXTREL).is_some() || facts.flags & elf::DF_TEXTREL.0 != 0;
    facts.bind_now = dynamic.value(elf::DT_BIND_NOW).is_some()
        || facts.flags & elf::DF_BIND_NOW.0 != 0
        || facts.flags_1 & elf::DF_1_NOW.0 != 0;
    facts.relro = match (image.segment(elf::PT_GNU_RELRO).is_some(), facts.bind_now) {
        (false, _) => Relro::None,
        (true, false) => Relro::Partial,
        (true, true) => Relro::Full,
    };
    let versions = Versions::parse(image, dynamic);
    for (file, names) in &versions.files {
        facts.version_needs.entry(file.clone()).or_default().extend(names.iter().cloned());
    }
    facts.version_definitions = versions.defined.values().cloned().collect();
    for (index, symbol) in SymbolTable::dynamic(image, dynamic)?.iter() {
        let version = Versions::index_of(image, dynamic, index);
        add_symbol(facts, symbol, version, &versions);
    }
    Ok(())
}

/// Objects and static files speak through `.symtab`.
fn read_object(image: &Image<'_>, facts: &mut Facts) {
    if image.header.kind != elf::ET_REL {
        return;
    }
    if let Some(table) = SymbolTable::full(image) {
        for (_, symbol) in table.iter() {
            add_symbol(facts, symbol, None, &Versions::default());
        }
    }
}

fn add_symbol(facts: &mut Facts, symbol: Symbol, version: Option<u16>, versions: &Versions) {
    let hidden_from_others = matches!(symbol.visibility, elf::STV_HIDDEN | elf::STV_INTERNAL);
    if symbol.binding == elf::STB_LOCAL || symbol.name.is_empty() {
        return;
    }
    let index = version.map(|raw| raw & elf::VERSYM_VERSION);
    if symbol.section == elf::SHN_UNDEF.0 {
        let (library, version) = index.and_then(|index| versions.needed.get(&index)).cloned().unzip();
        facts.imports.push(Import {
            kind: kind_name(symbol.kind),
            weak: symbol.binding == elf::STB_WEAK,
            name: symbol.name,
            version,
            library,
        });
    } else if !hidden_from_others {
        // The version nodes themselves are absolute symbols of their own name: not an interface.
        let node = symbol.section == elf::SHN_ABS.0 && versions.defined.values().any(|name| *name == symbol.name);
        if !node {
            facts.exports.push(Export {
                kind: kind_name(symbol.kind),
                binding: binding_name(symbol.binding),
                visibility: if symbol.visibility == elf::STV_PROTECTED { "protected" } else { "default" }.into(),
                version: index.and_then(|index| versions.defined.get(&index)).cloned(),
                default: version.is_none_or(|raw| raw & elf::VERSYM_HIDDEN.0 == 0),
                size: symbol.size,
                name: symbol.name,
            });
        }
    }
}

fn kind_name(kind: elf::SymbolType) -> String {
    match kind {
        elf::STT_NOTYPE => "none".into(),
        elf::STT_OBJECT => "object".into(),
        elf::STT_FUNC => "function".into(),
        elf::STT_SECTION => "section".into(),
        elf::STT_FILE => "file".into(),
        elf::STT_COMMON => "common".into(),
        elf::STT_TLS => "tls".into(),
        elf::STT_GNU_IFUNC => "ifunc".into(),
        other => other.0.to_string(),
    }
}

fn binding_name(binding: elf::SymbolBind) -> String {
    match binding {
        elf::STB_LOCAL => "local".into(),
        elf::STB_GLOBAL => "global".into(),
        elf::STB_WEAK => "weak".into(),
        elf::STB_GNU_UNIQUE => "unique".into(),
        other => other.0.to_string(),
    }
}

fn build_id(image: &Image<'_>) -> Option<String> {
    let from_segments = image.segments.iter().filter(|segment| segment.kind == elf::PT_NOTE);
    let mut areas: Vec<&[u8]> = from_segments.filter_map(|segment| image.segment_bytes(segment)).collect();
    if areas.is_empty() {
        let notes = image.sections.iter().filter(|section| section.kind == elf::SHT_NOTE);
        areas = notes.filter_map(|section| image.section_bytes(section)).collect();
    }
    areas.into_iter().find_map(|area| build_id_in(Bytes(area)))
}

fn build_id_in(notes: Bytes<'_>) -> Option<String> {
    let mut at = 0;
    loop {
        let name_size = u64::from(notes.u32(at)?);
        let size = u64::from(notes.u32(at + 4)?);
        let kind = notes.u32(at + 8)?;
        let content = (at + 12).checked_add(super::bytes::round_up(name_size, 4)?)?;
        if kind == elf::NT_GNU_BUILD_ID.0 && notes.get(at + 12, name_size)? == b"GNU\0" {
            return Some(notes.get(content, size)?.iter().map(|byte| format!("{byte:02x}")).collect());
        }
        at = content.checked_add(super::bytes::round_up(size, 4)?)?;
    }
}

#[cfg(test)]
#[path = "facts_tests.rs"]
mod tests;
