//! Dynamic symbols with their versions, without needing section headers.

use std::borrow::Cow;
use std::collections::BTreeMap;

use object::elf;

use super::bytes::Bytes;
use super::{Dynamic, ElfError, Image};
use crate::budget::Budget;

/// Bytes of one symbol.
pub(crate) const SYMBOL_SIZE: u64 = 24;

/// One symbol.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Symbol<'a> {
    /// Name.
    pub name: Cow<'a, str>,
    /// Position of the name in its string table.
    pub name_at: u32,
    /// `STT_*`.
    pub kind: elf::SymbolType,
    /// `STB_*`.
    pub binding: elf::SymbolBind,
    /// `STV_*`.
    pub visibility: elf::SymbolVisibility,
    /// Section index, 0 = undefined.
    pub section: u16,
    /// Address or value.
    pub value: u64,
    /// Bytes.
    pub size: u64,
}

/// A symbol table over its bytes.
#[derive(Clone)]
pub struct SymbolTable<'a> {
    table: Bytes<'a>,
    strings: Bytes<'a>,
    budget: Budget,
}

impl<'a> SymbolTable<'a> {
    /// The dynamic symbols. Their number is in no single place: it is taken from the section headers
    /// when they agree with the dynamic section, else from the hash tables and the relocations.
    ///
    /// # Errors
    /// A table of symbols, strings or versions lies outside of the file or contradicts itself.
    pub fn dynamic(image: &Image<'a>, dynamic: &Dynamic<'a>) -> Result<Self, ElfError> {
        let Some(address) = dynamic.value(elf::DT_SYMTAB) else {
            return Ok(Self { table: Bytes(&[]), strings: dynamic.strings, budget: image.budget.clone() });
        };
        let cut = || ElfError::damaged("the dynamic symbols reach past the end of the file");
        let at = image.offset_of(address).ok_or_else(cut)?;
        let count = count(image, dynamic, address);
        let table = image.bytes.get(at, count.saturating_mul(SYMBOL_SIZE)).map(Bytes).ok_or_else(cut)?;
        Ok(Self { table, strings: dynamic.strings, budget: image.budget.clone() })
    }

    /// The static symbols (`.symtab`) of an object or of a file that was not stripped.
    pub fn full(image: &Image<'a>) -> Option<Self> {
        let section = image.sections.iter().find(|section| section.kind == elf::SHT_SYMTAB)?;
        let strings = image.sections.get(section.link as usize)?;
        let (table, strings) = (Bytes(image.section_bytes(section)?), Bytes(image.section_bytes(strings)?));
        Some(Self { table, strings, budget: image.budget.clone() })
    }

    /// Number of symbols, with the empty first one.
    pub fn len(&self) -> u64 {
        self.table.len() / SYMBOL_SIZE
    }

    /// No symbols at all.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Symbol by index.
    pub fn get(&self, index: u64) -> Option<Symbol<'a>> {
        let at = index.checked_mul(SYMBOL_SIZE)?;
        let info = self.table.u8(at + 4)?;
        let name_at = self.table.u32(at)?;
        Some(Symbol {
            name: self.strings.name(u64::from(name_at), &self.budget).unwrap_or_default(),
            name_at,
            kind: elf::SymbolType(info & 0xf),
            binding: elf::SymbolBind(info >> 4),
            visibility: elf::SymbolOther(self.table.u8(at + 5)?).visibility(),
            section: self.table.u16(at + 6)?,
            value: self.table.u64(at + 8)?,
            size: self.table.u64(at + 16)?,
        })
    }

    /// `st_other` of a symbol, whose upper bits belong to the processor.
    pub fn other(&self, index: u64) -> Option<u8> {
        self.table.u8(index.checked_mul(SYMBOL_SIZE)? + 5)
    }

    /// Bytes of the largest symbol.
    pub(crate) fn largest(&self) -> u64 {
        (0..self.len()).filter_map(|index| self.table.u64(index * SYMBOL_SIZE + 16)).max().unwrap_or(0)
    }

    /// Where the names lie in the string table, of all symbols in order.
    pub(crate) fn name_positions(&self) -> impl Iterator<Item = u32> + '_ {
        (0..self.len()).filter_map(|index| self.table.u32(index * SYMBOL_SIZE))
    }

    /// All symbols after the empty first one, with their index; as far as the budget reaches.
    pub fn iter(&self) -> impl Iterator<Item = (u64, Symbol<'a>)> + '_ {
        (1..self.len())
            .map_while(|index| self.budget.work(32).map(|()| index))
            .filter_map(|index| Some((index, self.get(index)?)))
    }
}

fn count(image: &Image<'_>, dynamic: &Dynamic<'_>, address: u64) -> u64 {
    let section = image.sections.iter().find(|section| {
        section.kind == elf::SHT_DYNSYM && section.address == address && section.entry_size == SYMBOL_SIZE
    });
    if let Some(section) = section {
        return section.size / SYMBOL_SIZE;
    }
    let hash = |tag| dynamic.value(tag).and_then(|address| image.offset_of(address));
    if let Some(chains) = hash(elf::DT_HASH).and_then(|at| image.bytes.u32(at + 4)) {
        return u64::from(chains);
    }
    let hashed = hash(elf::DT_GNU_HASH).and_then(|at| hashed_symbols(image.bytes, at)).unwrap_or(0);
    hashed.max(relocated_symbols(image, dynamic))
}

/// One more than the highest index that the GNU hash table reaches: undefined symbols come before
/// the hashed ones, so this is the number of all symbols unless nothing is exported.
fn hashed_symbols(bytes: Bytes<'_>, at: u64) -> Option<u64> {
    let buckets = u64::from(bytes.u32(at)?);
    let first = u64::from(bytes.u32(at.checked_add(4)?)?);
    let blooms = u64::from(bytes.u32(at.checked_add(8)?)?);
    let buckets_at = at.checked_add(16 + blooms * 8)?;
    let table = Bytes(bytes.get(buckets_at, buckets * 4)?);
    let highest = (0..buckets).filter_map(|index| table.u32(index * 4)).max().map(u64::from)?;
    if highest < first {
        return Some(first);
    }
    let chains_at = buckets_at + buckets * 4;
    let mut index = highest;
    // The chain ends at an odd hash; the file's end bounds the walk.
    while bytes.u32(chains_at.checked_add((index - first) * 4)?)? & 1 == 0 {
        index += 1;
    }
    Some(index + 1)
}

/// Bytes of the GNU hash table at `at`.
pub(crate) fn hash_size(bytes: Bytes<'_>, at: u64) -> Option<u64> {
    let buckets = u64::from(bytes.u32(at)?);
    let first = u64::from(bytes.u32(at.checked_add(4)?)?);
    let blooms = u64::from(bytes.u32(at.checked_add(8)?)?);
    Some(16 + blooms * 8 + buckets * 4 + (hashed_symbols(bytes, at)? - first) * 4)
}

fn relocated_symbols(image: &Image<'_>, dynamic: &Dynamic<'_>) -> u64 {
    relocation_tables(image, dynamic)
        .filter_map(|(at, size)| Some(Bytes(image.bytes.get(at, size)?)))
        .flat_map(|table| (0..table.len() / 24).filter_map(move |index| table.u64(index * 24 + 8)))
        .map(|info| (info >> 32) + 1)
        .max()
        .unwrap_or(0)
}

/// File offset and bytes of the tables of relocations that name symbols.
pub(crate) fn relocation_tables<'i>(
    image: &'i Image<'_>,
    dynamic: &'i Dynamic<'_>,
) -> impl Iterator<Item = (u64, u64)> {
    let tables = [(elf::DT_RELA, elf::DT_RELASZ), (elf::DT_JMPREL, elf::DT_PLTRELSZ)];
    tables.into_iter().filter_map(|(address, size)| {
        let at = image.offset_of(dynamic.value(address)?)?;
        Some((at, dynamic.value(size)?))
    })
}

/// Version records of a file, by the index that `.gnu.version` uses.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Versions {
    /// Needed: index -> (file, version).
    pub needed: BTreeMap<u16, (String, String)>,
    /// Defined: index -> version; the base definition (the file itself) is left out.
    pub defined: BTreeMap<u16, String>,
    /// Files in the order of `.gnu.version_r`, with their versions.
    pub files: Vec<(String, Vec<String>)>,
}

impl Versions {
    /// Reads both tables; what is damaged ends the reading of that table.
    pub fn parse(image: &Image<'_>, dynamic: &Dynamic<'_>) -> Self {
        let mut versions = Self::default();
        let bytes = image.bytes;
        let place = |tag| dynamic.value(tag).and_then(|address| image.offset_of(address));
        if let Some(at) = place(elf::DT_VERNEED) {
            read_needed(bytes, at, dynamic, &image.budget, &mut versions);
        }
        if let Some(at) = place(elf::DT_VERDEF) {
            read_defined(bytes, at, dynamic, &mut versions);
        }
        versions
    }

    /// Raw indices of symbols in `.gnu.version`, with the hidden bit.
    pub(crate) fn indices<'a>(image: &Image<'a>, dynamic: &Dynamic<'_>) -> impl Fn(u64) -> Option<u16> + use<'a> {
        let (bytes, start) = (image.bytes, dynamic.value(elf::DT_VERSYM).and_then(|address| image.offset_of(address)));
        move |symbol| bytes.u16(start?.checked_add(symbol.checked_mul(2)?)?)
    }
}

/// No file has more version records than symbols of 16 bits can name.
const MOST_RECORDS: usize = 1 << 16;

/// Where the next record begins, `step` behind this one: records of a table do not lie in each other.
fn next(at: u64, step: u32, size: u64) -> Option<u64> {
    at.checked_add(u64::from(step).max(size)).filter(|_| u64::from(step) >= size)
}

fn read_needed(
    bytes: Bytes<'_>,
    start: u64,
    dynamic: &Dynamic<'_>,
    budget: &Budget,
    versions: &mut Versions,
) -> Option<()> {
    let mut at = start;
    let mut records = 0;
    loop {
        let mut auxiliary = at.checked_add(u64::from(bytes.u32(at.checked_add(8)?)?))?;
        let file = dynamic.string(u64::from(bytes.u32(at.checked_add(4)?)?))?;
        let mut names = Vec::new();
        for _ in 0..bytes.u16(at.checked_add(2)?)? {
            records += 1;
            if records > MOST_RECORDS {
                return None;
            }
            let index = bytes.u16(auxiliary.checked_add(6)?)? & elf::VERSYM_VERSION;
            let name = dynamic.string(u64::from(bytes.u32(auxiliary.checked_add(8)?)?))?;
            budget.keep_text(file.len() + name.len() + 64)?;
            versions.needed.insert(index, (file.clone(), name.clone()));
            names.push(name);
            match bytes.u32(auxiliary.checked_add(12)?)? {
                0 => break,
                step => auxiliary = next(auxiliary, step, 16)?,
            }
        }
        versions.files.push((file, names));
        match bytes.u32(at.checked_add(12)?)? {
            0 => return Some(()),
            step => at = next(at, step, 16)?,
        }
        records += 1;
        if records > MOST_RECORDS {
            return None;
        }
    }
}

fn read_defined(bytes: Bytes<'_>, start: u64, dynamic: &Dynamic<'_>, versions: &mut Versions) -> Option<()> {
    let mut at = start;
    for _ in 0..MOST_RECORDS {
        let flags = bytes.u16(at.checked_add(2)?)?;
        let index = bytes.u16(at.checked_add(4)?)? & elf::VERSYM_VERSION;
        let auxiliary = at.checked_add(u64::from(bytes.u32(at.checked_add(12)?)?))?;
        let name = dynamic.string(u64::from(bytes.u32(auxiliary)?))?;
        if flags & elf::VER_FLG_BASE.0 == 0 {
            versions.defined.insert(index, name);
        }
        match bytes.u32(at.checked_add(16)?)? {
            0 => return Some(()),
            step => at = next(at, step, 20)?,
        }
    }
    None
}
