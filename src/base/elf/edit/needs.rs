//! The version records of needed libraries (`.gnu.version_r`): they name a file each, and the loader
//! stops with an assertion when that file is not among the loaded ones.

use object::elf;

use crate::elf::bytes::Bytes;
use crate::elf::{Dynamic, ElfError, Image};

/// One version that is needed of a file.
pub(super) struct NeededVersion {
    hash: u32,
    flags: u16,
    /// Index used in `.gnu.version`.
    pub(super) index: u16,
    /// Position of its name.
    pub(super) name_at: u32,
}

/// The record of one file.
pub(super) struct FileNeeds {
    /// File offset of the record.
    pub(super) at: u64,
    /// Position of the file's name.
    pub(super) file_at: u32,
    /// The file's name.
    pub(super) file: String,
    /// Its versions.
    pub(super) versions: Vec<NeededVersion>,
}

/// The whole table.
pub(super) struct NeedsTable {
    /// File offset.
    pub(super) offset: u64,
    /// Bytes from the first record to the end of the last.
    pub(super) size: u64,
    /// Records in order.
    pub(super) files: Vec<FileNeeds>,
}

const RECORD: u64 = 16;
/// Indices have 15 bits: more records are a loop.
const MOST: usize = 1 << 15;

impl NeedsTable {
    /// Reads the table; `None` if there is none.
    pub(super) fn parse(image: &Image<'_>, dynamic: &Dynamic<'_>) -> Result<Option<Self>, ElfError> {
        let Some(address) = dynamic.value(elf::DT_VERNEED) else { return Ok(None) };
        let damaged = || ElfError::damaged("the version records of needed libraries cannot be read");
        let offset = image.offset_of(address).ok_or_else(damaged)?;
        let mut table = Self { offset, size: 0, files: Vec::new() };
        table.read(image.bytes, dynamic).ok_or_else(damaged)?;
        // Every linker writes them one after another; what lies between others would be overwritten.
        let records: usize = table.files.iter().map(|file| 1 + file.versions.len()).sum();
        if table.size != records as u64 * RECORD {
            return Err(ElfError::damaged("the version records of needed libraries do not lie one after another"));
        }
        Ok(Some(table))
    }

    fn read(&mut self, bytes: Bytes<'_>, dynamic: &Dynamic<'_>) -> Option<()> {
        let mut at = self.offset;
        let mut records = 0;
        loop {
            let file_at = bytes.u32(at.checked_add(4)?)?;
            let mut file = FileNeeds { at, file_at, file: dynamic.string(u64::from(file_at))?, versions: Vec::new() };
            let mut auxiliary = at.checked_add(u64::from(bytes.u32(at.checked_add(8)?)?))?;
            self.size = self.size.max(at + RECORD - self.offset);
            for _ in 0..bytes.u16(at.checked_add(2)?)? {
                let record = Bytes(bytes.get(auxiliary, RECORD)?);
                file.versions.push(NeededVersion {
                    hash: record.u32(0)?,
                    flags: record.u16(4)?,
                    index: record.u16(6)? & elf::VERSYM_VERSION,
                    name_at: record.u32(8)?,
                });
                self.size = self.size.max((auxiliary + RECORD).checked_sub(self.offset)?);
                records += 1;
                if records > MOST {
                    return None;
                }
                match record.u32(12)? {
                    0 => break,
                    step => auxiliary = auxiliary.checked_add(u64::from(step))?,
                }
            }
            self.files.push(file);
            records += 1;
            match bytes.u32(at.checked_add(12)?)? {
                0 => return Some(()),
                _ if records > MOST => return None,
                step => at = at.checked_add(u64::from(step))?,
            }
        }
    }

    /// The records one after another, as linkers write them; NULs up to the old size.
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for (index, file) in self.files.iter().enumerate() {
            let count = file.versions.len() as u32;
            let last = index + 1 == self.files.len();
            bytes.extend_from_slice(&1u16.to_le_bytes());
            bytes.extend_from_slice(&(count as u16).to_le_bytes());
            bytes.extend_from_slice(&file.file_at.to_le_bytes());
            bytes.extend_from_slice(&(RECORD as u32).to_le_bytes());
            bytes.extend_from_slice(&(if last { 0 } else { RECORD as u32 * (1 + count) }).to_le_bytes());
            for (index, version) in file.versions.iter().enumerate() {
                let next = if index + 1 == file.versions.len() { 0 } else { RECORD as u32 };
                bytes.extend_from_slice(&version.hash.to_le_bytes());
                bytes.extend_from_slice(&version.flags.to_le_bytes());
                bytes.extend_from_slice(&version.index.to_le_bytes());
                bytes.extend_from_slice(&version.name_at.to_le_bytes());
                bytes.extend_from_slice(&next.to_le_bytes());
            }
        }
        bytes.resize(bytes.len().max(self.size as usize), 0);
        bytes
    }
}
