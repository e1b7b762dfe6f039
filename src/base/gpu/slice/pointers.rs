//! Who points at the containers of a linked file. Only when every pointer is found and can be
//! followed, containers may move together; one doubt, and each stays where it is.

use std::collections::BTreeSet;

use object::elf;

use super::plan::Order;
use crate::elf::bytes::Bytes;
use crate::elf::{Dynamic, Image};
use crate::parallel::side_by_side;

/// First four bytes of a wrapper in `.nvFatBinSegment`.
const WRAPPER_MAGIC: u32 = 0x4662_43b1;
const WRAPPER_SIZE: u64 = 24;
const WRAPPERS: &str = ".nvFatBinSegment";
const SYMBOL_SIZE: u64 = 24;
const RELA_SIZE: u64 = 24;

/// Eight bytes in the file that hold the address of a container.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Pointer {
    /// File offset.
    pub(super) at: u64,
    /// Address that stands there, or that the loader puts there.
    pub(super) target: u64,
}

/// Sections with containers, as address ranges, and the addresses at which containers begin.
pub(super) struct Targets {
    pub(super) ranges: Vec<(u64, u64)>,
    pub(super) starts: BTreeSet<u64>,
}

impl Targets {
    fn holds(&self, address: u64) -> bool {
        self.ranges.iter().any(|(from, to)| (*from..*to).contains(&address))
    }

    /// Whether a container begins there. Nearly no address is in the ranges at all, which is asked first.
    fn begins(&self, address: u64) -> bool {
        self.holds(address) && self.starts.contains(&address)
    }

    fn section_start(&self, address: u64) -> bool {
        self.ranges.iter().any(|(from, _)| *from == address)
    }
}

/// All pointers to the containers.
///
/// # Errors
/// The reason why they cannot all be followed.
pub(super) fn follow(
    image: &Image<'_>,
    dynamic: Option<&Dynamic<'_>>,
    targets: &Targets,
    order: Order<'_>,
) -> Result<Vec<Pointer>, String> {
    let mut found = Vec::new();
    let mut reached: BTreeSet<u64> = BTreeSet::new();
    if let Some(dynamic) = dynamic {
        relocated(image, dynamic, targets, &mut found)?;
    }
    reached.extend(found.iter().map(|pointer| pointer.target));
    if image.header.kind == elf::ET_EXEC {
        fixed(image, targets, &mut found)?;
        reached.extend(found.iter().map(|pointer| pointer.target));
    }
    if let Some(lost) = targets.starts.iter().find(|start| !reached.contains(*start)) {
        return Err(format!("nothing that could be followed points at the container at {lost:#x}"));
    }
    wrappers(image, &reached, targets)?;
    symbols(image, targets, &mut found)?;
    code(image, targets, order)?;
    found.sort();
    found.dedup();
    Ok(found)
}

fn inside(address: u64) -> String {
    format!("something points into the container around {address:#x}")
}

/// Relocations: their addends, and the words in place where they hold the address too.
fn relocated(
    image: &Image<'_>,
    dynamic: &Dynamic<'_>,
    targets: &Targets,
    found: &mut Vec<Pointer>,
) -> Result<(), String> {
    let relative = match image.header.machine {
        elf::EM_X86_64 => elf::R_X86_64_RELATIVE.0,
        elf::EM_AARCH64 => elf::R_AARCH64_RELATIVE.0,
        _ => return Err("pointers of this processor are not followed".to_owned()),
    };
    let cut = || "the relocations reach past the end of the file".to_owned();
    if let (Some(address), Some(size)) = (dynamic.value(elf::DT_RELA), dynamic.value(elf::DT_RELASZ)) {
        let at = image.offset_of(address).ok_or_else(cut)?;
        let table = Bytes(image.bytes.get(at, size).ok_or_else(cut)?);
        for entry in (0..size / RELA_SIZE).map(|index| index * RELA_SIZE) {
            let (Some(place), Some(info), Some(addend)) =
                (table.u64(entry), table.u64(entry + 8), table.u64(entry + 16))
            else {
                return Err(cut());
            };
            if !targets.holds(addend) {
                continue;
            }
            if info as u32 != relative || !targets.starts.contains(&addend) {
                return Err(inside(addend));
            }
            keep(image, found, Pointer { at: at + entry + 16, target: addend })?;
            if let Some(at) = image.offset_of(place)
                && image.bytes.u64(at) == Some(addend)
            {
                keep(image, found, Pointer { at, target: addend })?;
            }
        }
    }
    if let (Some(address), Some(size)) = (dynamic.value(elf::DT_RELR), dynamic.value(elf::DT_RELRSZ)) {
        let at = image.offset_of(address).ok_or_else(cut)?;
        let table = Bytes(image.bytes.get(at, size).ok_or_else(cut)?);
        for place in packed(table) {
            look(image, 4)?;
            let Some(at) = image.offset_of(place) else { return Err(cut()) };
            let target = image.bytes.u64(at).ok_or_else(cut)?;
            if targets.holds(target) {
                if !targets.starts.contains(&target) {
                    return Err(inside(target));
                }
                keep(image, found, Pointer { at, target })?;
            }
        }
    }
    Ok(())
}

/// Remembers a pointer: tables may overlap, and name the same place again and again.
fn keep(image: &Image<'_>, found: &mut Vec<Pointer>, pointer: Pointer) -> Result<(), String> {
    image.budget.keep_many::<Pointer>(1).ok_or_else(too_much)?;
    found.push(pointer);
    Ok(())
}

/// Pays for a look at so many bytes: sections may overlap.
fn look(image: &Image<'_>, bytes: u64) -> Result<(), String> {
    image.budget.work(bytes).ok_or_else(too_much)
}

fn too_much() -> String {
    "its tables name too much for its size".to_owned()
}

/// Places of packed relative relocations (gABI, "SHT_RELR"), one by one: eight bytes may name 63.
fn packed(table: Bytes<'_>) -> impl Iterator<Item = u64> {
    let mut next = 0u64;
    let words = (0..table.len() / 8).map_while(move |index| table.u64(index * 8));
    words.flat_map(move |word| {
        let is_bitmap = word & 1 == 1;
        let first = if is_bitmap { next } else { word };
        next = first.wrapping_add(if is_bitmap { 63 * 8 } else { 8 });
        let bits = if is_bitmap { word >> 1 } else { 1 };
        (0..63).filter(move |bit| bits >> bit & 1 == 1).map(move |bit| first.wrapping_add(bit * 8))
    })
}

/// A file at fixed addresses has no relocations: its wrappers hold the addresses, and nothing else may.
fn fixed(image: &Image<'_>, targets: &Targets, found: &mut Vec<Pointer>) -> Result<(), String> {
    for section in image.sections.iter().filter(|section| section.flags.0 & elf::SHF_ALLOC.0 != 0) {
        let own = targets.holds(section.address);
        let Some(bytes) = image.section_bytes(section).map(Bytes).filter(|_| !own) else { continue };
        look(image, bytes.len())?;
        let is_wrappers = section.name == WRAPPERS;
        // Code holds addresses in four bytes at any position, data in eight bytes at aligned ones.
        if section.flags.0 & elf::SHF_EXECINSTR.0 != 0 {
            let low = |at: usize| bytes.u32(at as u64).map(u64::from);
            if let Some(target) = (0..bytes.0.len()).filter_map(low).find(|word| targets.begins(*word)) {
                return Err(format!("code names the container at {target:#x}"));
            }
            continue;
        }
        for at in (0..bytes.len()).step_by(8) {
            let Some(target) = bytes.u64(at).filter(|word| targets.holds(*word)) else { continue };
            if !is_wrappers || !targets.starts.contains(&target) {
                return Err(format!("data in {} names the device code at {target:#x}", section.name));
            }
            keep(image, found, Pointer { at: section.offset + at, target })?;
        }
    }
    Ok(())
}

/// Every wrapper points at a container that was reached.
fn wrappers(image: &Image<'_>, reached: &BTreeSet<u64>, targets: &Targets) -> Result<(), String> {
    let Some(section) = image.section(WRAPPERS) else {
        return Err(format!("there is no {WRAPPERS}, so that nobody knows how the containers are reached"));
    };
    let bytes = image.section_bytes(section).map(Bytes).ok_or("the wrappers reach past the end of the file")?;
    let count = (0..bytes.len() / WRAPPER_SIZE).filter(|index| bytes.u32(index * WRAPPER_SIZE) == Some(WRAPPER_MAGIC));
    if (count.count() as u64) < section.size / WRAPPER_SIZE || reached.len() < targets.starts.len() {
        return Err("the wrappers have an unknown form".to_owned());
    }
    Ok(())
}

/// Symbols at the beginning of a container move with it; one inside is a reason to stay.
fn symbols(image: &Image<'_>, targets: &Targets, found: &mut Vec<Pointer>) -> Result<(), String> {
    for section in &image.sections {
        if !matches!(section.kind, elf::SHT_SYMTAB | elf::SHT_DYNSYM) {
            continue;
        }
        let Some(table) = image.section_bytes(section).map(Bytes) else {
            return Err("the symbols reach past the end of the file".to_owned());
        };
        look(image, section.size)?;
        for at in (0..section.size / SYMBOL_SIZE).map(|index| index * SYMBOL_SIZE) {
            let (Some(info), Some(owner), Some(value)) = (table.u8(at + 4), table.u16(at + 6), table.u64(at + 8))
            else {
                return Err("the symbols reach past the end of the file".to_owned());
            };
            // Values of thread-local symbols are offsets; undefined and absolute ones are no places.
            let no_place = info & 15 == elf::STT_TLS.0 || owner == 0 || owner >= elf::SHN_LORESERVE;
            if no_place || !targets.holds(value) {
                continue;
            }
            if targets.starts.contains(&value) {
                keep(image, found, Pointer { at: section.offset + at + 8, target: value })?;
            } else if !targets.section_start(value) && info & 15 != elf::STT_SECTION.0 {
                return Err(inside(value));
            }
        }
    }
    Ok(())
}

/// Position-independent code that computes the address of a container.
fn code(image: &Image<'_>, targets: &Targets, order: Order<'_>) -> Result<(), String> {
    if image.header.machine != elf::EM_X86_64 {
        return Err("addresses in code of this processor are not followed".to_owned());
    }
    let mut chunks = Vec::new();
    for section in image.sections.iter().filter(|section| section.flags.0 & elf::SHF_EXECINSTR.0 != 0) {
        let Some(bytes) = image.section_bytes(section) else { continue };
        look(image, bytes.len() as u64)?;
        for start in (0..bytes.len()).step_by(CHUNK) {
            let end = bytes.len().min(start + CHUNK + INSTRUCTION - 1);
            chunks.push((section.address.wrapping_add(start as u64), &bytes[start..end]));
        }
    }
    let bytes = chunks.iter().map(|(_, bytes)| bytes.len() as u64).sum();
    let found = side_by_side(
        &chunks,
        order.threads_for(bytes),
        || (),
        |(), (address, bytes)| computed(*address, bytes, targets),
    );
    match found.into_iter().flatten().next() {
        Some((at, target)) => Err(format!("code at {at:#x} names the container at {target:#x}")),
        None => Ok(()),
    }
}

/// Bytes of code that are searched at a time.
const CHUNK: usize = 1 << 20;
/// Bytes of the instructions that are sought.
const INSTRUCTION: usize = 7;

/// The first instruction in code at `address` that computes the address of a container: its own, and the container's.
fn computed(address: u64, code: &[u8], targets: &Targets) -> Option<(u64, u64)> {
    // REX.W, LEA or MOV, a ModR/M of "RIP + 32 bits" (Intel SDM, volume 2, tables 2-2 and 2-7). One comparison tells
    // most bytes apart: 0x8b and 0x8d are two of the four that have these bits.
    code.windows(INSTRUCTION).enumerate().find_map(|(index, window)| {
        let head = u32::from_le_bytes(*window.first_chunk()?);
        if head & 0x00c7_f9f8 != 0x0005_8948 || !matches!(window[1], 0x8d | 0x8b) {
            return None;
        }
        let shift = i32::from_le_bytes(*window.last_chunk()?);
        let at = address.wrapping_add(index as u64);
        let target = at.wrapping_add(INSTRUCTION as u64).wrapping_add_signed(i64::from(shift));
        // Between two instructions any bytes may look like one; a container's very beginning is no chance.
        targets.begins(target).then_some((at, target))
    })
}
