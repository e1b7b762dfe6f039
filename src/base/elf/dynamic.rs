//! The dynamic section, found through the program headers as the loader finds it.

use object::elf::{self, DynamicTag};

use super::bytes::Bytes;
use super::{ElfError, Image};
use crate::budget::Budget;

/// Bytes of one entry.
pub(crate) const ENTRY_SIZE: u64 = 16;

/// One entry of the dynamic section.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DynamicEntry {
    /// `DT_*`.
    pub tag: DynamicTag,
    /// Number or address, depending on the tag.
    pub value: u64,
}

/// The dynamic section: entries before the closing `DT_NULL`, and the strings they name.
#[derive(Clone)]
pub struct Dynamic<'a> {
    /// File offset.
    pub offset: u64,
    /// Entries that fit the section, with the closing one and the spare ones.
    pub capacity: u64,
    /// Entries before the closing one.
    pub entries: Vec<DynamicEntry>,
    /// File offset of the string table.
    pub strings_at: u64,
    pub(crate) strings: Bytes<'a>,
    budget: Budget,
}

impl<'a> Dynamic<'a> {
    /// Reads it; `None` when the file has none (static executables, objects).
    ///
    /// # Errors
    /// It reaches past the end of the file, or names no readable string table.
    pub fn parse(image: &Image<'a>) -> Result<Option<Self>, ElfError> {
        let Some((offset, size)) = place(image) else { return Ok(None) };
        let table = image
            .bytes
            .get(offset, size)
            .map(Bytes)
            .ok_or_else(|| ElfError::damaged("the dynamic section reaches past the end of the file"))?;
        let capacity = size / ENTRY_SIZE;
        // GNU ld writes no closing entry with `--spare-dynamic-tags=0`; then the end of the section ends it.
        let mut entries = Vec::new();
        for index in 0..capacity {
            let at = index * ENTRY_SIZE;
            let (Some(tag), Some(value)) = (table.u64(at), table.u64(at + 8)) else { break };
            let tag = DynamicTag(tag.cast_signed());
            if tag == elf::DT_NULL {
                break;
            }
            entries.push(DynamicEntry { tag, value });
        }
        let mut dynamic =
            Self { offset, capacity, entries, strings_at: 0, strings: Bytes(&[]), budget: image.budget.clone() };
        if let (Some(address), Some(size)) = (dynamic.value(elf::DT_STRTAB), dynamic.value(elf::DT_STRSZ)) {
            let found = image.offset_of(address).and_then(|at| Some((at, image.bytes.get(at, size)?)));
            let (at, strings) =
                found.ok_or_else(|| ElfError::damaged("the dynamic strings reach past the end of the file"))?;
            dynamic.strings_at = at;
            dynamic.strings = Bytes(strings);
        }
        Ok(Some(dynamic))
    }

    /// Value of the last entry of a tag: what the loader keeps.
    pub fn value(&self, tag: DynamicTag) -> Option<u64> {
        self.entries.iter().rev().find(|entry| entry.tag == tag).map(|entry| entry.value)
    }

    /// The dynamic strings.
    pub fn strings(&self) -> &'a [u8] {
        self.strings.0
    }

    /// Text at a position of the dynamic strings.
    pub fn string(&self, at: u64) -> Option<String> {
        self.strings.string(at, &self.budget)
    }

    /// Text that the last entry of a tag names.
    pub fn text(&self, tag: DynamicTag) -> Option<String> {
        self.string(self.value(tag)?)
    }

    /// Texts of all entries of a tag, in order.
    pub fn texts(&self, tag: DynamicTag) -> Vec<String> {
        self.entries.iter().filter(|entry| entry.tag == tag).filter_map(|entry| self.string(entry.value)).collect()
    }
}

fn place(image: &Image<'_>) -> Option<(u64, u64)> {
    if let Some(segment) = image.segment(elf::PT_DYNAMIC) {
        return Some((segment.offset, segment.file_size));
    }
    if !image.segments.is_empty() {
        return None;
    }
    let section = image.sections.iter().find(|section| section.kind == elf::SHT_DYNAMIC)?;
    Some((section.offset, section.size))
}
