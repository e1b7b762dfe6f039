//! Cubins: machine code of one capability. Kernels, their parameter layouts and what they use.
//!
//! Attribute numbers (`EIATTR_*`) and their forms are those that `cuobjdump -elf` of CUDA 13.5 prints.

use std::borrow::Cow;
use std::collections::BTreeMap;

use object::elf;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{CodeError, KernelSignature, Param};
use crate::arch::{Capability, Suffix};
use crate::budget::Budget;
use crate::elf::bytes::{Bytes, round_up};
use crate::elf::{ElfError, Image, Section, Symbol, SymbolTable};

/// What a cubin says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cubin {
    /// What it runs on.
    pub capability: Capability,
    /// Whether the file says which suffix it has. The family suffix `f` stands only in a note of the
    /// compiler; where that is gone, an `f` cubin looks plain.
    pub suffix_known: bool,
    /// Version of the cubin's ABI: 7 up to CUDA 12, 8 from 13.
    pub abi: u8,
    /// Not linked yet (`-rdc`).
    pub relocatable: bool,
    /// Has device debug information.
    pub debug: bool,
    /// Programs that made it, from its notes: `ptxas 13.0, V13.0.88`.
    pub compilers: Vec<String>,
    /// Kernels, sorted by name.
    pub kernels: Vec<CubinKernel>,
}

/// A kernel of a cubin.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct CubinKernel {
    /// Name and parameters.
    pub signature: KernelSignature,
    /// What it uses.
    pub resources: Resources,
}

/// What a kernel uses, as far as it is known before a launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize, JsonSchema)]
pub struct Resources {
    /// Registers of a thread.
    pub registers: u32,
    /// Static shared memory of a block in bytes, with what the system reserves.
    pub shared: u32,
    /// Stack of a thread in bytes, with that of the functions it calls; `None` where the compiler cannot
    /// know (recursion, code that is not linked yet).
    pub stack: Option<u32>,
    /// Local memory of a thread in bytes, beside the stack.
    pub local: u32,
    /// Constant bank 0 in bytes: parameters and what stands before them.
    pub constant: u32,
    /// Where parameters begin in constant bank 0, in bytes: each stands aligned there, not in the block of parameters.
    #[serde(default)]
    #[schemars(default)]
    pub parameters_at: Option<u32>,
    /// Barriers.
    pub barriers: u32,
    /// Most threads of a block in x, y, z, where the source says so.
    pub max_threads: Option<[u32; 3]>,
}

/// Whether the bytes are an ELF file for NVIDIA's processor.
pub fn is_cubin(bytes: &[u8]) -> bool {
    crate::elf::is_elf(bytes) && Bytes(bytes).u16(18) == Some(elf::EM_CUDA.0)
}

/// Reads a cubin.
///
/// # Errors
/// Not a cubin, 32-bit, or damaged tables.
pub fn cubin(bytes: &[u8]) -> Result<Cubin, CodeError> {
    cubin_within(bytes, &Budget::of(bytes))
}

/// As [`cubin`], within a budget that others share.
pub(super) fn cubin_within(bytes: &[u8], budget: &Budget) -> Result<Cubin, CodeError> {
    let image = image(bytes, budget)?;
    let notes = notes(&image);
    let (capability, suffix_known) = capability(&image, &notes)?;
    let cubin = Cubin {
        capability,
        suffix_known,
        abi: image.header.abi_version,
        relocatable: image.header.kind == elf::ET_REL,
        debug: image.section(".debug_info").is_some() || image.section(".nv_debug_info_ptx").is_some(),
        compilers: compilers(&image, &notes),
        kernels: kernels(&image)?,
    };
    budget.finish()?;
    Ok(cubin)
}

/// Programs that made a cubin, from its notes alone.
///
/// # Errors
/// As [`cubin`], kernels aside.
pub(super) fn compilers_of(bytes: &[u8], budget: &Budget) -> Result<Vec<String>, CodeError> {
    let image = image(bytes, budget)?;
    Ok(compilers(&image, &notes(&image)))
}

fn image<'a>(bytes: &'a [u8], budget: &Budget) -> Result<Image<'a>, CodeError> {
    let image = Image::parse_within(bytes, budget.clone())?;
    match image.header.machine {
        elf::EM_CUDA => Ok(image),
        _ => Err(CodeError::Elf(ElfError::Unsupported("other than NVIDIA's"))),
    }
}

/// Names of the kernels, from the symbols alone.
///
/// # Errors
/// As [`cubin`], parameters aside.
pub(super) fn kernel_names(bytes: &[u8], budget: &Budget) -> Result<Vec<String>, CodeError> {
    let image = image(bytes, budget)?;
    let Some(table) = SymbolTable::full(&image) else { return Ok(Vec::new()) };
    let kept = |name: &str| budget.keep_text(24 + name.len());
    let names = launched(&table).map_while(|(_, symbol)| kept(&symbol.name).map(|()| symbol.name.into_owned()));
    let names = names.collect();
    budget.finish()?;
    Ok(names)
}

/// `.note.nv.tkinfo`: which program made this, and how it was called.
struct ToolNote<'a> {
    name: Cow<'a, str>,
    version: Cow<'a, str>,
    arguments: Cow<'a, str>,
}

impl ToolNote<'_> {
    /// `ptxas 13.0, V13.0.88`: the release as the program prints it, without its fixed words. Notes may share their
    /// texts, so each description is paid for.
    fn describe(&self, budget: &Budget) -> Option<String> {
        let release = self.version.rsplit_once("release ").map_or(&*self.version, |(_, release)| release);
        // Here, and where it is printed.
        budget.keep_text(2 * (self.name.len() + 1 + release.len()))?;
        Some(format!("{} {release}", self.name))
    }
}

/// From the compilers' own notes. Older ones (before CUDA 12.5) leave only the toolkit's number, in
/// `.note.nv.cuinfo`: a version, the virtual capability, and ten times major plus minor.
fn compilers(image: &Image<'_>, notes: &[ToolNote<'_>]) -> Vec<String> {
    if !notes.is_empty() {
        return notes.iter().map_while(|note| note.describe(&image.budget)).collect();
    }
    let toolkit = image.section(".note.nv.cuinfo").and_then(|section| image.section_bytes(section));
    let number = toolkit.and_then(|bytes| note(Bytes(bytes), 0)).and_then(|(content, _)| content.u16(4));
    number.map(|number| format!("cuda {}.{}", number / 10, number % 10)).into_iter().collect()
}

fn notes<'a>(image: &Image<'a>) -> Vec<ToolNote<'a>> {
    let mut notes = Vec::new();
    for section in image.sections.iter().filter(|section| section.name == ".note.nv.tkinfo") {
        let Some(bytes) = image.section_bytes(section).map(Bytes) else { continue };
        let mut at = 0;
        while let Some((content, next)) = note(bytes, at).filter(|_| image.budget.work(32).is_some()) {
            let note = tool_note(content, &image.budget);
            notes.extend(note.filter(|_| image.budget.keep_many::<ToolNote<'_>>(1).is_some()));
            at = next;
        }
    }
    notes
}

/// Content of the note at `at`, and where the next begins.
fn note(bytes: Bytes<'_>, at: u64) -> Option<(Bytes<'_>, u64)> {
    let name = u64::from(bytes.u32(at)?);
    let size = u64::from(bytes.u32(at + 4)?);
    let content = (at + 12).checked_add(round_up(name, 4)?)?;
    let next = content.checked_add(round_up(size, 4)?)?;
    Some((Bytes(bytes.get(content, size)?), next))
}

/// Six numbers (the last four are positions in the text behind them), then NUL-ended texts.
fn tool_note<'a>(content: Bytes<'a>, budget: &Budget) -> Option<ToolNote<'a>> {
    const TEXTS: u64 = 24;
    let texts = Bytes(content.get(TEXTS, content.len().checked_sub(TEXTS)?)?);
    let text = |index: u64| texts.name(u64::from(content.u32(8 + 4 * index)?), budget);
    let note =
        ToolNote { name: text(0)?, version: text(1)?, arguments: text(3).or_else(|| text(2)).unwrap_or_default() };
    // They are searched word by word.
    budget.work(8 * (note.version.len() + note.arguments.len()) as u64)?;
    Some(note)
}

/// The capability from the header; the suffix from wherever this compiler left it.
///
/// ABI 7 holds the number in the low byte of `e_flags` and `a` as 0x800. ABI 8 holds it in the second
/// byte; CUDA 12.8 sets `a` as 0x8, CUDA 13 only in `.nv.compat`; `f` is nowhere but in the
/// arguments that the compiler notes.
fn capability(image: &Image<'_>, notes: &[ToolNote<'_>]) -> Result<(Capability, bool), CodeError> {
    let flags = image.header.flags;
    let (number, mut exact) = match image.header.abi_version {
        ..8 => (flags & 0xff, flags & 0x800 != 0),
        _ => ((flags >> 8) & 0xff, flags & 0x8 != 0),
    };
    let plain = Capability::from_number(number, Suffix::Plain)
        .filter(|capability| capability.major > 0)
        .ok_or_else(|| CodeError::damaged("a cubin for no capability"))?;
    exact |= compat_exact(image) == Some(true);
    let noted = notes.iter().filter_map(|note| noted_arch(&note.arguments)).find(|arch| arch.plain() == plain);
    let suffix = match (exact, noted) {
        (true, _) => Suffix::Exact,
        (false, Some(noted)) => noted.suffix,
        (false, None) => Suffix::Plain,
    };
    // Before 10.0 there are no families.
    let known = exact || noted.is_some() || plain.major < 10;
    Ok((Capability { suffix, ..plain }, known))
}

/// `-arch sm_100f` among a compiler's arguments.
fn noted_arch(arguments: &str) -> Option<Capability> {
    let mut words = arguments.split_whitespace();
    while let Some(word) = words.next() {
        let value = match word {
            "-arch" | "--gpu-name" | "-gpu-name" | "--arch" => words.next(),
            _ => word
                .split_once('=')
                .filter(|(name, _)| name.ends_with("arch") || name.ends_with("gpu-name"))
                .map(|it| it.1),
        };
        if let Some(capability) = value.and_then(Capability::from_arch) {
            return Some(capability);
        }
    }
    None
}

/// Attribute 9 of `.nv.compat` is 1 for `a`. Attributes have the forms of `.nv.info`.
fn compat_exact(image: &Image<'_>) -> Option<bool> {
    let bytes = image.section_bytes(image.section(".nv.compat")?)?;
    attributes(bytes).find(|attribute| attribute.number == 9).map(|attribute| attribute.small & 0xff == 1)
}

/// One attribute of `.nv.info`.
struct Attribute<'a> {
    number: u8,
    /// Value of the short forms.
    small: u16,
    /// Content of the long form.
    content: Bytes<'a>,
}

const REQNTID: u8 = 0x10;
const MAX_THREADS: u8 = 0x05;
const PARAM_CBANK: u8 = 0x0a;
const MIN_STACK_SIZE: u8 = 0x12;
const KPARAM_INFO: u8 = 0x17;
const REGCOUNT: u8 = 0x2f;
const KPARAM_INFO_V2: u8 = 0x45;
const NUM_BARRIERS: u8 = 0x4c;

/// Forms: 1 no value, 2 a byte, 3 two bytes, 4 a size and that many bytes. All begin with form and number.
fn attributes(bytes: &[u8]) -> impl Iterator<Item = Attribute<'_>> {
    let bytes = Bytes(bytes);
    let mut at = 0;
    std::iter::from_fn(move || {
        let form = bytes.u8(at)?;
        let number = bytes.u8(at + 1)?;
        let small = bytes.u16(at + 2)?;
        let size = if form == 4 { u64::from(small) } else { 0 };
        let content = Bytes(bytes.get(at + 4, size)?);
        at += 4 + size;
        Some(Attribute { number, small, content })
    })
}

/// About the bytes that a kernel takes beside its name, with what is printed of it.
pub(super) const KERNEL_COST: usize = 512;

/// Symbols of device functions that can be launched have this bit (`STO_CUDA_ENTRY`).
const ENTRY_BIT: u8 = 0x10;

/// Symbols of the kernels that are here, with their index.
fn launched<'t, 'a>(table: &'t SymbolTable<'a>) -> impl Iterator<Item = (u64, Symbol<'a>)> + 't {
    table.iter().filter(|(index, symbol)| {
        let entry = table.other(*index).is_some_and(|other| other & ENTRY_BIT != 0);
        symbol.kind == elf::STT_FUNC && entry && symbol.section != elf::SHN_UNDEF.0
    })
}

fn kernels(image: &Image<'_>) -> Result<Vec<CubinKernel>, CodeError> {
    let Some(table) = SymbolTable::full(image) else { return Ok(Vec::new()) };
    let common = common(image);
    let sections: BTreeMap<&str, &Section> =
        image.sections.iter().map(|section| (section.name.as_str(), section)).collect();
    let mut kernels = Vec::new();
    for (index, symbol) in launched(&table) {
        let text = image.sections.get(usize::from(symbol.section));
        kernels.push(kernel(image, &sections, &symbol.name, index, text, &common)?);
    }
    kernels.sort();
    Ok(kernels)
}

/// Registers and stacks by symbol, from the attributes of the whole file.
struct Common {
    registers: BTreeMap<u32, u32>,
    stacks: BTreeMap<u32, u32>,
}

fn common(image: &Image<'_>) -> Common {
    let mut common = Common { registers: BTreeMap::new(), stacks: BTreeMap::new() };
    let bytes = image.section(".nv.info").and_then(|section| image.section_bytes(section)).unwrap_or_default();
    for attribute in attributes(bytes) {
        let (Some(symbol), Some(value)) = (attribute.content.u32(0), attribute.content.u32(4)) else { continue };
        match attribute.number {
            REGCOUNT => drop(common.registers.insert(symbol, value)),
            MIN_STACK_SIZE => drop(common.stacks.insert(symbol, value)),
            _ => {}
        }
    }
    common
}

fn kernel(
    image: &Image<'_>,
    sections: &BTreeMap<&str, &Section>,
    name: &str,
    symbol: u64,
    text: Option<&Section>,
    common: &Common,
) -> Result<CubinKernel, CodeError> {
    let stopped = || CodeError::stopped(&image.budget, || CodeError::damaged("a kernel without an end"));
    // Four names of sections are made of this one.
    image.budget.work(8 * name.len() as u64).ok_or_else(stopped)?;
    image.budget.keep_text(KERNEL_COST + 2 * name.len()).ok_or_else(stopped)?;
    let size = |prefix: &str| {
        sections.get(format!("{prefix}{name}").as_str()).map_or(0, |section| u32::try_from(section.size).unwrap_or(0))
    };
    let symbol = u32::try_from(symbol).unwrap_or(u32::MAX);
    let mut resources = Resources {
        // Where the attribute is missing, the upper byte of the section's info holds the registers.
        registers: common.registers.get(&symbol).copied().or(text.map(|text| text.info >> 24)).unwrap_or(0),
        shared: size(".nv.shared."),
        // All bits set: the compiler could not know.
        stack: common.stacks.get(&symbol).copied().filter(|size| *size != u32::MAX),
        local: size(".nv.local."),
        constant: size(".nv.constant0."),
        parameters_at: None,
        barriers: 0,
        max_threads: None,
    };
    let mut params: BTreeMap<u16, Param> = BTreeMap::new();
    let info = sections.get(format!(".nv.info.{name}").as_str());
    let info = info.and_then(|section| image.section_bytes(section)).unwrap_or_default();
    for attribute in attributes(info) {
        image.budget.work(8).ok_or_else(stopped)?;
        match attribute.number {
            KPARAM_INFO | KPARAM_INFO_V2 => {
                let (ordinal, param) = param(&attribute)
                    .ok_or_else(|| CodeError::damaged(format!("kernel {name}: a parameter's record is cut")))?;
                image.budget.keep(32).ok_or_else(stopped)?;
                params.insert(ordinal, param);
            }
            MAX_THREADS | REQNTID => resources.max_threads = extent(attribute.content),
            // A symbol, then position and size in 16 bits each.
            PARAM_CBANK => resources.parameters_at = attribute.content.u16(4).map(u32::from),
            NUM_BARRIERS => resources.barriers = u32::from(attribute.small & 0xff),
            _ => {}
        }
    }
    let params = params.into_values().collect();
    Ok(CubinKernel { signature: KernelSignature::new(name, params), resources })
}

/// Index, ordinal, offset; then a word with the size in its upper 14 bits, or (second version, for
/// kernels with more than 4 KiB of parameters) the size as two bytes.
fn param(attribute: &Attribute<'_>) -> Option<(u16, Param)> {
    let content = attribute.content;
    let size = match attribute.number {
        KPARAM_INFO_V2 => u32::from(content.u16(8)?),
        _ => content.u32(8)? >> 18,
    };
    Some((content.u16(4)?, Param { offset: u32::from(content.u16(6)?), size }))
}

fn extent(content: Bytes<'_>) -> Option<[u32; 3]> {
    Some([content.u32(0)?, content.u32(4)?, content.u32(8)?])
}

#[cfg(test)]
#[path = "cubin_tests.rs"]
mod tests;
