//! What a loader reads of a file before it takes it, and why it would not.

use object::elf;
use schemars::JsonSchema;
use serde::Serialize;

use crate::elf::bytes::{Bytes, find};
use crate::elf::{Dynamic, Facts, FileKind, Image, Machine, Versions};

/// How an object asks for another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum NeedKind {
    /// `DT_NEEDED`.
    Needed,
    /// `DT_FILTER`: its symbols come from that library.
    Filter,
    /// `DT_AUXILIARY`: the same, if the library is there.
    Auxiliary,
    /// `LD_PRELOAD` or `/etc/ld.so.preload`.
    Preload,
    /// `dlopen` at run time.
    Dlopen,
}

/// What the loader reads of one file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Object {
    /// `e_machine`.
    pub machine: u16,
    /// `DT_SONAME`.
    pub soname: Option<String>,
    /// What it asks for, in the order of the dynamic section.
    pub needs: Vec<(NeedKind, String)>,
    /// `DT_RPATH`; the loaders ignore it beside `DT_RUNPATH`.
    pub rpath: Option<String>,
    /// `DT_RUNPATH`.
    pub runpath: Option<String>,
    /// `DT_FLAGS_1`.
    pub flags_1: u64,
    /// Program interpreter.
    pub interpreter: Option<String>,
    /// Why it may not be loaded as a library although it is one for this machine.
    pub program_only: Option<&'static str>,
    /// Has a dynamic section.
    pub dynamic: bool,
    /// Version records: file and the versions needed of it.
    pub version_needs: Vec<(String, Vec<String>)>,
    /// Versions it defines, sorted.
    pub versions: Vec<String>,
    /// Its dynamic strings name `dlopen`: it may ask for libraries at run time.
    pub calls_dlopen: bool,
}

impl From<&Facts> for Object {
    /// What a loader would have read of a file whose facts are known. Filters (`DT_FILTER`) are not in them.
    fn from(facts: &Facts) -> Self {
        let machine = match facts.machine {
            Machine::X86_64 => elf::EM_X86_64.0,
            Machine::Aarch64 => elf::EM_AARCH64.0,
            Machine::Ppc64 => elf::EM_PPC64.0,
            Machine::Riscv => elf::EM_RISCV.0,
            Machine::Cuda => elf::EM_CUDA.0,
            Machine::Other(number) => number,
        };
        Self {
            machine,
            soname: facts.soname.clone(),
            needs: facts.needed.iter().map(|name| (NeedKind::Needed, name.clone())).collect(),
            rpath: facts.rpath.clone(),
            runpath: facts.runpath.clone(),
            flags_1: facts.flags_1,
            interpreter: facts.interp.clone(),
            program_only: program_only(facts.kind, facts.flags_1),
            dynamic: facts.dynamic,
            version_needs: facts
                .version_needs
                .iter()
                .map(|(file, versions)| (file.clone(), versions.iter().cloned().collect()))
                .collect(),
            versions: facts.version_definitions.iter().cloned().collect(),
            calls_dlopen: facts.imports_symbol("dlopen") || facts.imports_symbol("dlmopen"),
        }
    }
}

/// Why a file may not be loaded as a library although it is one for this machine.
fn program_only(kind: FileKind, flags_1: u64) -> Option<&'static str> {
    match kind {
        FileKind::Executable => Some("cannot dynamically load executable"),
        _ if flags_1 & elf::DF_1_PIE.0 != 0 => Some("cannot dynamically load position-independent executable"),
        _ => None,
    }
}

impl Object {
    /// `DF_1_NODEFLIB`: neither the cache's nor the default directories serve this object.
    pub fn no_default_directories(&self) -> bool {
        self.flags_1 & elf::DF_1_NODEFLIB.0 != 0
    }
}

/// Why a file is not taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rejection {
    /// 32-bit among 64-bit: glibc looks further without a word.
    Class,
    /// Another processor: glibc looks further without a word.
    Machine,
    /// Not a loadable file: the process ends here, whatever lies in later directories.
    Fatal(String),
}

/// Reads a file as the loader of `machine` does (glibc, `open_verify`).
///
/// # Errors
/// Why that loader does not take it.
pub fn read_object(bytes: &[u8], machine: u16) -> Result<Object, Rejection> {
    let fatal = |what: &str| Err(Rejection::Fatal(what.to_owned()));
    let file = Bytes(bytes);
    if file.len() < 64 {
        return fatal("file too short");
    }
    if !crate::elf::is_elf(bytes) {
        return fatal("invalid ELF header");
    }
    if file.u8(4) != Some(2) {
        return Err(Rejection::Class);
    }
    if file.u8(5) == Some(1) && file.u16(18) != Some(machine) {
        return Err(Rejection::Machine);
    }
    match (file.u8(5), file.u8(6), file.u8(7), file.get(9, 7)) {
        (Some(1), Some(1), Some(0 | 3), Some([0, 0, 0, 0, 0, 0, 0])) => {}
        (Some(1), Some(1), Some(0 | 3), _) => return fatal("nonzero padding in e_ident"),
        (Some(1), Some(1), ..) => return fatal("ELF file OS ABI invalid"),
        (Some(1), ..) => return fatal("ELF file version ident does not match current one"),
        _ => return fatal("ELF file data encoding not little-endian"),
    }
    if !matches!(file.u16(16), Some(2 | 3)) {
        return fatal("only ET_DYN and ET_EXEC can be loaded");
    }
    object(bytes).map_err(|error| Rejection::Fatal(error.to_string()))
}

fn object(bytes: &[u8]) -> Result<Object, crate::elf::ElfError> {
    let image = Image::segments_only(bytes)?;
    let mut object = Object { machine: image.header.machine.0, ..Object::default() };
    object.interpreter =
        image.segment(elf::PT_INTERP).and_then(|segment| Bytes(image.segment_bytes(segment)?).string(0, &image.budget));
    let Some(dynamic) = Dynamic::parse(&image)? else { return Ok(object) };
    object.dynamic = true;
    object.soname = dynamic.text(elf::DT_SONAME);
    object.rpath = dynamic.text(elf::DT_RPATH);
    object.runpath = dynamic.text(elf::DT_RUNPATH);
    object.flags_1 = dynamic.value(elf::DT_FLAGS_1).unwrap_or(0);
    object.needs =
        dynamic.entries.iter().filter_map(|entry| Some((kind(entry.tag)?, dynamic.string(entry.value)?))).collect();
    object.program_only = program_only(FileKind::of(&image, Some(&dynamic)), object.flags_1);
    let versions = Versions::parse(&image, &dynamic);
    object.versions = versions.defined.into_values().collect();
    object.versions.sort();
    object.version_needs = versions.files;
    object.calls_dlopen =
        [b"\0dlopen\0".as_slice(), b"\0dlmopen\0"].iter().any(|name| find(dynamic.strings(), name).is_some());
    image.budget.finish()?;
    Ok(object)
}

fn kind(tag: elf::DynamicTag) -> Option<NeedKind> {
    match tag {
        elf::DT_NEEDED => Some(NeedKind::Needed),
        elf::DT_FILTER => Some(NeedKind::Filter),
        elf::DT_AUXILIARY => Some(NeedKind::Auxiliary),
        _ => None,
    }
}
