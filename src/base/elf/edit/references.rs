//! Who else points into `.dynstr`: dynamic symbols and version definitions, which no edit changes.

use std::collections::BTreeSet;

use object::elf;

use crate::elf::{Dynamic, ElfError, Image, SymbolTable};

/// Positions in the dynamic strings named by symbols and version definitions.
pub(super) fn foreign(image: &Image<'_>, dynamic: &Dynamic<'_>) -> Result<BTreeSet<u64>, ElfError> {
    let symbols = SymbolTable::dynamic(image, dynamic)?;
    let mut places: BTreeSet<u64> = symbols.name_positions().map(u64::from).collect();
    places.insert(0);
    if let Some(at) = dynamic.value(elf::DT_VERDEF).and_then(|address| image.offset_of(address)) {
        definitions(image, at, &mut places)
            .ok_or_else(|| ElfError::damaged("the version definitions reach past the end of the file"))?;
    }
    let size = dynamic.strings().len() as u64;
    if places.last().is_some_and(|last| *last >= size.max(1)) {
        return Err(ElfError::damaged("a name lies outside the dynamic strings"));
    }
    Ok(places)
}

fn definitions(image: &Image<'_>, start: u64, places: &mut BTreeSet<u64>) -> Option<()> {
    let bytes = image.bytes;
    let mut at = start;
    // Indices have 15 bits: more records are a loop.
    for _ in 0..1 << 15 {
        let mut name = at.checked_add(u64::from(bytes.u32(at.checked_add(12)?)?))?;
        for _ in 0..bytes.u16(at.checked_add(6)?)? {
            places.insert(u64::from(bytes.u32(name)?));
            match bytes.u32(name.checked_add(4)?)? {
                0 => break,
                step => name = name.checked_add(u64::from(step))?,
            }
        }
        match bytes.u32(at.checked_add(16)?)? {
            0 => return Some(()),
            step => at = at.checked_add(u64::from(step))?,
        }
    }
    None
}

/// Tags whose value is a position in the dynamic strings.
pub(super) const TEXT_TAGS: [elf::DynamicTag; 9] = [
    elf::DT_NEEDED,
    elf::DT_SONAME,
    elf::DT_RPATH,
    elf::DT_RUNPATH,
    elf::DT_AUXILIARY,
    elf::DT_FILTER,
    elf::DT_CONFIG,
    elf::DT_DEPAUDIT,
    elf::DT_AUDIT,
];

/// Those whose texts edits change.
pub(super) const EDITABLE_TAGS: [elf::DynamicTag; 4] = [elf::DT_NEEDED, elf::DT_SONAME, elf::DT_RPATH, elf::DT_RUNPATH];
