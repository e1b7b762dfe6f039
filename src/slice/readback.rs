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
        let placed = Placed { address: at, offset: section.sh_offset(endian), length: size };
        let loaded = section.sh_flags(endian).0 & elf::SHF_ALLOC.0 != 0 && section.sh_type(endian) != elf::SHT_NOBITS;
        let loads = loads.iter().map(|load| Placed {
            address: load.p_vaddr(endian),
            offset: load.p_offset(endian),
            length: load.p_filesz(endian),
        });
        if loaded && size > 0 && !is_loaded(placed, loads) {
            return Err(format!("the section at {at:#x} is not where segments load it"));
        }
    }
    Ok(())
}

/// Bytes of a file that have an address.
#[derive(Debug, Clone, Copy)]
struct Placed {
    address: u64,
    offset: u64,
    length: u64,
}

/// Whether segments, in the order of their addresses, load a section's bytes. More than one may hold it, where each goes
/// on where the one before ends: patchelf puts pages of its own in front of a file, and its sections go over their boundary.
fn is_loaded(section: Placed, loads: impl Iterator<Item = Placed>) -> bool {
    let shift = |placed: Placed| placed.offset.wrapping_sub(placed.address);
    let end = section.address.saturating_add(section.length);
    let mut reached = section.address;
    for load in loads {
        let until = load.address.saturating_add(load.length);
        if (load.address..until).contains(&reached) && shift(load) == shift(section) {
            reached = until.min(end);
        }
    }
    reached == end
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_may_go_over_segments_that_go_on() {
        let placed = |address, offset, length| Placed { address, offset, length };
        let section = placed(0x618, 0x618, 0x1ed1);
        let loaded = |loads: &[Placed]| is_loaded(section, loads.iter().copied());
        let (first, second) = (placed(0, 0, 0x1000), placed(0x1000, 0x1000, 0x1000));
        let third = placed(0x2000, 0x2000, 0x1000);
        assert!(loaded(&[first, second, third]));
        assert!(loaded(&[placed(0, 0, 0x3000)]));
        assert!(!loaded(&[first, second]), "the end is in none");
        assert!(!loaded(&[first, third]), "a hole");
        assert!(!loaded(&[second, third]), "the start is in none");
        assert!(!loaded(&[first, placed(0x1000, 0x1800, 0x1000), third]), "from another place of the file");
        assert!(!loaded(&[]));
    }
}
