//! `ld.so.cache`, read as glibc reads it: the old format, the new one, the new one inside the old, and
//! the extension with names of `glibc-hwcaps` subdirectories (glibc, `elf/dl-cache.c`, `dl-cache.h`).

use std::cmp::Ordering;

use serde::Serialize;

use super::ElfError;
use super::bytes::{Bytes, round_up};
use crate::budget::Budget;

const OLD_MAGIC: &[u8] = b"ld.so-1.7.0";
const NEW_MAGIC: &[u8] = b"glibc-ld.so.cache1.1";
const OLD_HEADER: u64 = 16;
const OLD_ENTRY: u64 = 12;
const NEW_HEADER: u64 = 48;
const NEW_ENTRY: u64 = 24;
/// `cache_extension_magic`.
const EXTENSION_MAGIC: u32 = 0xEAA4_2174;
/// `cache_extension_tag_glibc_hwcaps`.
const TAG_HWCAPS: u32 = 1;
/// The bit by which an entry names a subdirectory of `glibc-hwcaps`.
const NAMED: u64 = 1 << 62;
/// Bits of the instruction set level in the upper half of a named entry.
const LEVEL_MASK: u64 = (1 << 10) - 1;
/// No cache has more entries than this: a count beyond the file's size is refused anyway.
const MOST_HWCAPS: u64 = 1 << 12;

/// How the file is laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum CacheFormat {
    /// `ld.so-1.7.0` only (glibc before 2.2).
    Old,
    /// `glibc-ld.so.cache1.1` behind an old table (glibc 2.2 to 2.31).
    Both,
    /// `glibc-ld.so.cache1.1` only (glibc 2.32 and later).
    New,
}

/// What of the machine decides which entries count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CacheReader {
    /// Flags of an entry for this machine's libraries: `0x0303` on x86-64.
    pub flags: u32,
    /// Names of subdirectories of `glibc-hwcaps` that this CPU takes, best first.
    pub hwcaps: Vec<String>,
    /// Level of the instruction set: 1 to 4 on x86-64.
    pub level: u32,
    /// Legacy bits that this CPU has; none from glibc 2.37 on.
    pub legacy: u64,
}

/// One entry of the cache.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CacheEntry {
    /// SONAME or file name.
    pub name: String,
    /// Where the file was when `ldconfig` ran.
    pub path: String,
    /// `FLAG_*`: kind of library and machine.
    pub flags: u32,
    /// Bits of the CPU, or the index of a named subdirectory.
    pub hwcap: u64,
    /// The subdirectory of `glibc-hwcaps`, when the entry names one.
    pub subdirectory: Option<String>,
}

/// The cache over its bytes.
#[derive(Debug, Clone)]
pub struct LdCache {
    bytes: Vec<u8>,
    format: CacheFormat,
    /// Where the positions of names count from.
    strings_at: usize,
    entries_at: usize,
    entry_size: u64,
    count: u64,
    hwcaps: Vec<String>,
}

struct Raw {
    key: u32,
    value: u32,
    flags: u32,
    hwcap: u64,
}

impl LdCache {
    /// Reads the tables.
    ///
    /// # Errors
    /// The file is none of the formats, or its tables reach past its end.
    pub fn parse(file: &[u8]) -> Result<Self, ElfError> {
        let damaged = |what: &str| ElfError::damaged(format!("ld.so.cache: {what}"));
        let cut = || damaged("the file ends inside its entries");
        let bytes = Bytes(file);
        let fits = |at: u64, header: u64, entry: u64| -> Option<u64> {
            let count = u64::from(bytes.u32(at.checked_add(if entry == OLD_ENTRY { 12 } else { 20 })?)?);
            bytes.get(at, header.checked_add(count.checked_mul(entry)?)?)?;
            Some(count)
        };
        let mut start = 0;
        if file.starts_with(OLD_MAGIC) {
            let count = fits(0, OLD_HEADER, OLD_ENTRY).ok_or_else(cut)?;
            let end = OLD_HEADER + count * OLD_ENTRY;
            let new = round_up(end, 8).ok_or_else(cut)?;
            if bytes.get(new, NEW_HEADER).is_none_or(|header| !header.starts_with(NEW_MAGIC)) {
                return Ok(Self {
                    format: CacheFormat::Old,
                    strings_at: usize::try_from(end).map_err(|_| cut())?,
                    entries_at: 16,
                    entry_size: OLD_ENTRY,
                    count,
                    hwcaps: Vec::new(),
                    bytes: file.to_vec(),
                });
            }
            start = new;
        } else if !file.starts_with(NEW_MAGIC) {
            return Err(damaged("neither `ld.so-1.7.0` nor `glibc-ld.so.cache1.1` stands at its start"));
        }
        let count = fits(start, NEW_HEADER, NEW_ENTRY).ok_or_else(cut)?;
        // `cache_file_new_flags_endian`: 0 is unset, 2 is little.
        if !matches!(bytes.u8(start + 28).map(|flags| flags & 3), Some(0 | 2)) {
            return Err(damaged("it is of another byte order"));
        }
        let budget = Budget::of(file);
        let begin = usize::try_from(start).map_err(|_| cut())?;
        Ok(Self {
            format: if start == 0 { CacheFormat::New } else { CacheFormat::Both },
            strings_at: begin,
            entries_at: begin + NEW_HEADER as usize,
            entry_size: NEW_ENTRY,
            count,
            hwcaps: hwcaps(bytes, start, &budget).unwrap_or_default(),
            bytes: file.to_vec(),
        })
    }

    /// How the file is laid out.
    pub fn format(&self) -> CacheFormat {
        self.format
    }

    /// Subdirectories of `glibc-hwcaps` that entries name.
    pub fn hwcaps(&self) -> &[String] {
        &self.hwcaps
    }

    /// All entries in the order of the file; unreadable ones are left out.
    pub fn entries(&self) -> impl Iterator<Item = CacheEntry> + '_ {
        (0..self.count).filter_map(|index| self.entry(&self.raw(index)?))
    }

    /// All entries of a name, in the order of the file.
    pub fn named<'a>(&'a self, name: &'a str) -> impl Iterator<Item = CacheEntry> + 'a {
        let first = self.first(name).unwrap_or(self.count);
        (first..self.count)
            .map_while(move |index| self.raw(index).filter(|raw| self.is(raw, name)))
            .filter_map(|raw| self.entry(&raw))
    }

    /// The path that the loader takes for a name.
    pub fn lookup(&self, name: &str, reader: &CacheReader) -> Option<String> {
        let mut best: Option<(u32, usize)> = None;
        for index in self.first(name)?..self.count {
            let Some(raw) = self.raw(index).filter(|raw| self.is(raw, name)) else { break };
            // 1 is FLAG_ELF: a library of any C library of this machine.
            if (raw.flags != 1 && raw.flags != reader.flags) || self.text(raw.value).is_none() {
                continue;
            }
            let named = self.entry_size == NEW_ENTRY && raw.hwcap >> 32 & !LEVEL_MASK == NAMED >> 32;
            if named {
                let level = raw.hwcap >> 32 & LEVEL_MASK;
                let subdirectory = self.hwcaps.get((raw.hwcap & 0xffff_ffff) as usize);
                let place = subdirectory.and_then(|name| reader.hwcaps.iter().position(|known| known == name));
                let Some(place) = place.filter(|_| level < u64::from(reader.level)) else { continue };
                if best.is_none_or(|(_, known)| place < known) {
                    best = Some((raw.value, place));
                }
                continue;
            }
            // Named entries come first: one that fits beats everything behind.
            if best.is_some_and(|(_, place)| place != usize::MAX) {
                break;
            }
            if self.entry_size == NEW_ENTRY && raw.hwcap & !reader.legacy != 0 {
                continue;
            }
            best = Some((raw.value, usize::MAX));
            if raw.flags == reader.flags {
                break;
            }
        }
        best.and_then(|(value, _)| self.text(value)).map(|path| String::from_utf8_lossy(path).into_owned())
    }

    /// Index of the first entry of a name: the table is sorted, highest first.
    fn first(&self, name: &str) -> Option<u64> {
        let (mut low, mut high) = (0, self.count);
        while low < high {
            let middle = low + (high - low) / 2;
            match compare(name.as_bytes(), self.text(self.raw(middle)?.key)?) {
                Ordering::Less => low = middle + 1,
                Ordering::Greater | Ordering::Equal => high = middle,
            }
        }
        self.raw(low).filter(|raw| self.is(raw, name)).map(|_| low)
    }

    fn is(&self, raw: &Raw, name: &str) -> bool {
        self.text(raw.key).is_some_and(|key| compare(name.as_bytes(), key) == Ordering::Equal)
    }

    fn text(&self, at: u32) -> Option<&[u8]> {
        Bytes(self.bytes.get(self.strings_at..)?).text(u64::from(at))
    }

    fn raw(&self, index: u64) -> Option<Raw> {
        let table = Bytes(self.bytes.get(self.entries_at..)?);
        let at = (index < self.count).then(|| index.checked_mul(self.entry_size))??;
        Some(Raw {
            flags: table.u32(at)?,
            key: table.u32(at + 4)?,
            value: table.u32(at + 8)?,
            hwcap: if self.entry_size == NEW_ENTRY { table.u64(at + 16)? } else { 0 },
        })
    }

    fn entry(&self, raw: &Raw) -> Option<CacheEntry> {
        let text = |at| Some(String::from_utf8_lossy(self.text(at)?).into_owned());
        let named = raw.hwcap >> 32 & !LEVEL_MASK == NAMED >> 32;
        Some(CacheEntry {
            name: text(raw.key)?,
            path: text(raw.value)?,
            flags: raw.flags,
            hwcap: raw.hwcap,
            subdirectory: named.then(|| self.hwcaps.get((raw.hwcap & 0xffff_ffff) as usize).cloned()).flatten(),
        })
    }
}

/// Names of the `glibc-hwcaps` extension; nothing when there is none or it is damaged.
fn hwcaps(bytes: Bytes<'_>, start: u64, budget: &Budget) -> Option<Vec<String>> {
    let at = u64::from(bytes.u32(start.checked_add(32)?)?);
    if at == 0 || at % 4 != 0 || bytes.u32(at)? != EXTENSION_MAGIC {
        return None;
    }
    let sections = u64::from(bytes.u32(at.checked_add(4)?)?).min(MOST_HWCAPS);
    for index in 0..sections {
        let section = at.checked_add(8 + index * 16)?;
        if bytes.u32(section)? != TAG_HWCAPS {
            continue;
        }
        let (from, size) = (u64::from(bytes.u32(section + 8)?), u64::from(bytes.u32(section + 12)?));
        let table = Bytes(bytes.get(from, size)?);
        let count = (size / 4).min(MOST_HWCAPS);
        return (0..count).map(|name| bytes.string(u64::from(table.u32(name * 4)?), budget)).collect();
    }
    None
}

/// `_dl_cache_libcmp`: runs of digits count as numbers, and a digit comes after everything else.
fn compare(a: &[u8], b: &[u8]) -> Ordering {
    let (mut a, mut b) = (a, b);
    while let Some(&x) = a.first() {
        let y = b.first().copied().unwrap_or(0);
        match (x.is_ascii_digit(), y.is_ascii_digit()) {
            (true, true) => {
                let order = number(&mut a).cmp(&number(&mut b));
                if order != Ordering::Equal {
                    return order;
                }
            }
            (true, false) => return Ordering::Greater,
            (false, true) => return Ordering::Less,
            (false, false) if x != y => return x.cast_signed().cmp(&y.cast_signed()),
            (false, false) => {
                a = &a[1..];
                b = b.get(1..).unwrap_or_default();
            }
        }
    }
    if b.is_empty() { Ordering::Equal } else { Ordering::Less }
}

/// The number at the start, in the C type `int` that glibc computes with.
fn number(text: &mut &[u8]) -> i32 {
    let mut value: i32 = 0;
    while let Some(digit) = text.first().filter(|byte| byte.is_ascii_digit()) {
        value = value.wrapping_mul(10).wrapping_add(i32::from(digit - b'0'));
        *text = &text[1..];
    }
    value
}

#[cfg(test)]
#[path = "ld_cache_tests.rs"]
mod tests;
