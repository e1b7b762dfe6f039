//! Reading a slice back: with another ELF parser, and by asking the same of it again.

use std::path::Path;

use object::elf;
use object::read::elf::{ElfFile64, FileHeader as _, ProgramHeader as _, SectionHeader as _};

use crate::error::{Error, Result};
use crate::fs::Content;
use crate::gpu::slice::{SlicePlan, SliceSpec, TargetBytes, holds};
use crate::manifest::Manifests;

/// Compares the slice at `slice` with the plan that made it from `original`.
///
/// # Errors
/// It is not what was planned: an internal error.
pub fn read_back(
    original: &Path,
    slice: &Path,
    planned: &SlicePlan,
    ask: &SliceSpec,
    manifests: &Manifests,
) -> Result<()> {
    let content = Content::open(slice)?;
    let bytes = content.bytes();
    let wrong = |what: String| Error::bug(format!("the slice of {} is wrong: {what}", original.display()));
    if bytes.len() as u64 != planned.new_length {
        return Err(wrong(format!("{} bytes instead of {}", bytes.len(), planned.new_length)));
    }
    if bytes.starts_with(&elf::ELFMAG) {
        shape(bytes).map_err(wrong)?;
    }
    // Asked again, the slice has nothing to give up: what stays is exactly what was asked for.
    let again = holds(bytes, ask, manifests).map_err(|error| wrong(error.to_string()))?;
    let kept = |targets: &[TargetBytes]| -> Vec<(String, u64)> {
        let stay = targets.iter().filter(|target| target.kept > 0);
        stay.map(|target| (target.target.clone(), target.kept)).collect()
    };
    if kept(&again) != kept(&planned.targets) || again.iter().any(|target| target.dropped > 0) {
        return Err(wrong(format!("it holds {again:?} instead of {:?}", kept(&planned.targets))));
    }
    Ok(())
}

/// Segments lie in the file, in order, congruent, and load every section that says so.
fn shape(bytes: &[u8]) -> std::result::Result<(), String> {
    let said = |error: object::Error| error.to_string();
    let file = ElfFile64::<object::LittleEndian>::parse(bytes).map_err(said)?;
    let (header, endian) = (file.elf_header(), file.endian());
    let segments = header.program_headers(endian, bytes).map_err(said)?;
    let loads: Vec<_> = segments.iter().filter(|segment| segment.p_type(endian) == elf::PT_LOAD).collect();
    let mut end = 0;
    for load in &loads {
        let (offset, address) = (load.p_offset(endian), load.p_vaddr(endian));
        let whole = offset.checked_add(load.p_filesz(endian)).is_some_and(|end| end <= bytes.len() as u64);
        let congruent = address.wrapping_sub(offset) % load.p_align(endian).max(1) == 0;
        if !whole || !congruent || address < end {
            return Err(format!("the segment at {address:#x} does not fit the file"));
        }
        end = address + load.p_memsz(endian);
    }
    let sections = header.sections(endian, bytes).map_err(said)?;
    for section in sections.iter().filter(|_| !loads.is_empty()) {
        let (at, size) = (section.sh_addr(endian), section.sh_size(endian));
        let loaded = section.sh_flags(endian).0 & elf::SHF_ALLOC.0 != 0 && section.sh_type(endian) != elf::SHT_NOBITS;
        if loaded && size > 0 && !is_loaded(&loads, endian, (at, size, section.sh_offset(endian))) {
            return Err(format!("the section at {at:#x} is not where segments load it"));
        }
    }
    Ok(())
}

/// Whether segments load a section's bytes, address by address. More than one may hold it, where each goes on where the
/// one before ends: patchelf puts pages of its own in front of a file, and its sections go over their boundary.
fn is_loaded(
    loads: &[&elf::ProgramHeader64<object::LittleEndian>],
    endian: object::LittleEndian,
    (at, size, offset): (u64, u64, u64),
) -> bool {
    let Some(end) = at.checked_add(size) else { return false };
    let mut reached = at;
    // In order of their addresses: what one loads is looked for behind what the last did.
    for load in loads {
        let start = load.p_vaddr(endian);
        let file_offset = reached.checked_sub(start).map(|inside| inside.checked_add(load.p_offset(endian)));
        let until = start.saturating_add(load.p_filesz(endian));
        if reached < until && file_offset == Some(offset.checked_add(reached - at)) {
            reached = until.min(end);
        }
    }
    reached == end
}
