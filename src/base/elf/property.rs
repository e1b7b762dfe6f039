//! The GNU property note: what a file asks of the processor (Linux gABI extensions, x86-64 psABI).

use object::elf;

use super::Image;
use super::bytes::{Bytes, round_up};
use crate::budget::Budget;

/// `NT_GNU_PROPERTY_TYPE_0`.
const PROPERTY_NOTE: u32 = 5;
/// `GNU_PROPERTY_X86_ISA_1_NEEDED`: one bit for each level of the x86-64 psABI, the lowest for the baseline.
const X86_ISA_NEEDED: u32 = 0xc000_8002;

/// Level of the x86-64 psABI that a file says it needs, 1 to 4; `None` when it says nothing.
pub fn isa_level(image: &Image<'_>) -> Option<u32> {
    if image.header.machine != elf::EM_X86_64 {
        return None;
    }
    let segments = image.segments.iter().filter(|segment| segment.kind == elf::PT_GNU_PROPERTY);
    let segments = segments.filter_map(|segment| image.segment_bytes(segment));
    // An object for the linker has sections only.
    let sections = image.sections.iter().filter(|section| section.name == ".note.gnu.property");
    let sections = sections.filter_map(|section| image.section_bytes(section));
    segments.chain(sections).find_map(|notes| needed_level(Bytes(notes), &image.budget))
}

fn needed_level(notes: Bytes<'_>, budget: &Budget) -> Option<u32> {
    let mut at = 0;
    loop {
        budget.work(48)?;
        let (name_size, size) = (u64::from(notes.u32(at)?), u64::from(notes.u32(at.checked_add(4)?)?));
        let content = at.checked_add(12)?.checked_add(round_up(name_size, 4)?)?;
        if notes.u32(at + 8)? == PROPERTY_NOTE && notes.get(at + 12, name_size)? == b"GNU\0" {
            let level = level_in(Bytes(notes.get(content, size)?), budget);
            if level.is_some() {
                return level;
            }
        }
        at = content.checked_add(round_up(size, 8)?)?;
    }
}

fn level_in(properties: Bytes<'_>, budget: &Budget) -> Option<u32> {
    let mut at = 0;
    loop {
        budget.work(48)?;
        let (kind, size) = (properties.u32(at)?, u64::from(properties.u32(at.checked_add(4)?)?));
        if kind == X86_ISA_NEEDED && size == 4 {
            let bits = properties.u32(at + 8)? & 0xf;
            return (bits != 0).then(|| 32 - bits.leading_zeros());
        }
        at = at.checked_add(8)?.checked_add(round_up(size, 8)?)?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::elf::fixture;

    #[test]
    fn levels_are_what_the_linker_was_told() {
        let dir = fixture::dir();
        for (flag, level) in
            [("", None), ("-z,x86-64-v2", Some(2)), ("-z,x86-64-v3", Some(3)), ("-z,x86-64-v4", Some(4))]
        {
            let flag = format!("-Wl,{flag}");
            let mut flags = vec!["-shared", "-nostdlib", "-fcf-protection=none"];
            flags.extend(level.map(|_| &*flag));
            let file = fixture::compile(dir.path(), "a.so", "int a;", &flags);
            let bytes = std::fs::read(file).unwrap();
            assert_eq!(isa_level(&Image::parse(&bytes).unwrap()), level, "{flag}");
        }
    }

    #[test]
    fn damaged_notes_end_the_reading() {
        let note = |size: u32| [4, size, 5, 0x0055_4e47, X86_ISA_NEEDED, 4, 0b111, 0].map(u32::to_le_bytes).concat();
        assert_eq!(needed_level(Bytes(&note(16)), &Budget::for_size(0)), Some(3));
        for bytes in [note(u32::MAX), note(4), note(16)[..20].to_vec(), Vec::new()] {
            assert_eq!(needed_level(Bytes(&bytes), &Budget::for_size(0)), None);
        }
    }
}
