//! The sections of debug information of an object, those that a linker has not seen yet with what it would put into them.

use std::borrow::Cow;

use gimli::{Dwarf, EndianSlice, LittleEndian, Relocate, RelocateReader, SectionId};
use object::{CompressionFormat, Object, ObjectSection, RelocationMap};

use crate::layout::LayoutError;

/// Bytes of all sections of debug information: a header that includes all of a library's has less.
const MOST_BYTES: u64 = 1 << 30;

/// How a section is read.
pub(super) type Bytes<'a> = RelocateReader<EndianSlice<'a, LittleEndian>, &'a Relocations>;

/// What a linker would put into a section.
#[derive(Debug, Default)]
pub(super) struct Relocations(RelocationMap);

impl Relocate for &Relocations {
    fn relocate_address(&self, offset: usize, value: u64) -> gimli::Result<u64> {
        Ok(self.0.relocate(offset as u64, value))
    }

    fn relocate_offset(&self, offset: usize, value: usize) -> gimli::Result<usize> {
        let value = self.0.relocate(offset as u64, value as u64);
        usize::try_from(value).map_err(|_| gimli::Error::UnsupportedOffset)
    }
}

/// Sections with their relocations.
pub(super) struct Sections<'a>(gimli::DwarfSections<(Cow<'a, [u8]>, Relocations)>);

impl<'a> Sections<'a> {
    /// Those of an object file, a library or a program in ELF.
    ///
    /// # Errors
    /// It is none, is not little-endian, or holds compressed debug information.
    pub fn of(bytes: &'a [u8]) -> Result<Self, LayoutError> {
        let damaged = |what: &dyn std::fmt::Display| LayoutError::Damaged(format!("the object cannot be read: {what}"));
        let file = object::File::parse(bytes).map_err(|error| damaged(&error))?;
        if !file.is_little_endian() || !file.is_64() {
            return Err(damaged(&"it is not for a processor of 64 bits, lowest first"));
        }
        let mut left = MOST_BYTES;
        let load = |id: SectionId| {
            let Some(section) = file.section_by_name(id.name()) else { return Ok(Default::default()) };
            let range = section.compressed_file_range().map_err(|error| damaged(&error))?;
            if range.format != CompressionFormat::None {
                return Err(damaged(&format_args!("{} is compressed; compile with -gz=none", id.name())));
            }
            let data = section.data().map_err(|error| damaged(&error))?;
            left = left.checked_sub(data.len() as u64).ok_or_else(|| damaged(&"it has too much debug information"))?;
            let mut relocations = RelocationMap::default();
            for (offset, relocation) in section.relocations() {
                // Places of code and of variables of threads are none of ours; a type that is behind one is not found.
                let _ = relocations.add(&file, offset, relocation);
            }
            Ok((Cow::Borrowed(data), Relocations(relocations)))
        };
        Ok(Self(gimli::DwarfSections::load(load)?))
    }

    pub fn dwarf(&self) -> Dwarf<Bytes<'_>> {
        self.0.borrow(|(data, relocations)| RelocateReader::new(EndianSlice::new(data, LittleEndian), relocations))
    }
}
