//! The sections of debug information of an object, those that a linker has not seen yet with what it would put into them.

use std::borrow::Cow;
use std::io::Read;

use gimli::{Dwarf, EndianSlice, LittleEndian, Reader, Relocate, RelocateReader, Section, SectionId};
use memchr::memmem;
use object::{CompressionFormat, Object, ObjectSection, RelocationMap};

use crate::budget::{Budget, OverBudget};
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
    /// It is none, is not little-endian, or holds debug information that is compressed by anything but zlib.
    pub fn of(bytes: &'a [u8], budget: &Budget) -> Result<Self, LayoutError> {
        let damaged = |what: &dyn std::fmt::Display| LayoutError::Damaged(format!("the object cannot be read: {what}"));
        let file = object::File::parse(bytes).map_err(|error| damaged(&error))?;
        if !file.is_little_endian() || !file.is_64() {
            return Err(damaged(&"it is not for a processor of 64 bits, lowest first"));
        }
        let mut left = MOST_BYTES;
        let load = |id: SectionId| {
            let Some(section) = file.section_by_name(id.name()) else { return Ok(Default::default()) };
            let range = section.compressed_file_range().map_err(|error| damaged(&error))?;
            let size = range.uncompressed_size;
            left = left.checked_sub(size).ok_or_else(|| damaged(&"it has too much debug information"))?;
            let data = match range.format {
                CompressionFormat::None => Cow::Borrowed(section.data().map_err(|error| damaged(&error))?),
                CompressionFormat::Zlib => {
                    budget.keep(size).ok_or_else(|| damaged(&OverBudget::Memory))?;
                    let compressed = section.compressed_data().map_err(|error| damaged(&error))?.data;
                    Cow::Owned(inflated(compressed, size).ok_or_else(|| damaged(&id.name()))?)
                }
                _ => return Err(damaged(&format_args!("{} is compressed; compile with -gz=none", id.name()))),
            };
            let mut relocations = RelocationMap::default();
            for (offset, relocation) in section.relocations() {
                // Places of code and of variables of threads are none of ours; a type that is behind one is not found.
                let _ = relocations.add(&file, offset, relocation);
            }
            Ok((data, Relocations(relocations)))
        };
        Ok(Self(gimli::DwarfSections::load(load)?))
    }

    /// Whether a name stands anywhere in them.
    pub fn mention(&self, name: &str) -> bool {
        let (dwarf, finder) = (self.dwarf(), memmem::Finder::new(name));
        let sections = [dwarf.debug_str.reader(), dwarf.debug_info.reader()];
        sections.into_iter().filter_map(|data| data.to_slice().ok()).any(|data| finder.find(&data).is_some())
    }

    pub fn dwarf(&self) -> Dwarf<Bytes<'_>> {
        self.0.borrow(|(data, relocations)| RelocateReader::new(EndianSlice::new(data, LittleEndian), relocations))
    }
}

/// What zlib has made smaller, where it is as long as was said.
fn inflated(compressed: &[u8], size: u64) -> Option<Vec<u8>> {
    let mut data = Vec::new();
    let read = flate2::read::ZlibDecoder::new(compressed).take(size.checked_add(1)?).read_to_end(&mut data);
    (read.is_ok() && data.len() as u64 == size).then_some(data)
}
