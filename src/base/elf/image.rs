//! The raw tables of a 64-bit little-endian ELF file: header, segments, sections.

use object::elf;

use super::ElfError;
use super::bytes::Bytes;
use crate::budget::Budget;

/// Bytes of the file header.
pub(crate) const HEADER_SIZE: u64 = 64;
/// Bytes of one program header.
pub(crate) const SEGMENT_SIZE: u64 = 56;
/// Bytes of one section header.
pub(crate) const SECTION_SIZE: u64 = 64;

/// Whether the bytes begin like an ELF file.
pub fn is_elf(bytes: &[u8]) -> bool {
    bytes.starts_with(&elf::ELFMAG)
}

/// The file header, as far as simpack uses it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// `EI_OSABI`.
    pub os_abi: u8,
    /// `EI_ABIVERSION`.
    pub abi_version: u8,
    /// `ET_*`.
    pub kind: elf::FileType,
    /// `EM_*`.
    pub machine: elf::Machine,
    /// Address of the first instruction.
    pub entry: u64,
    /// File offset of the program headers, 0 = none.
    pub segments_at: u64,
    /// File offset of the section headers, 0 = none.
    pub sections_at: u64,
    /// Machine-specific flags.
    pub flags: u32,
    /// Index of the section that holds the section names.
    pub names: u32,
}

/// One program header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segment {
    /// `PT_*`.
    pub kind: elf::ProgramType,
    /// `PF_*`.
    pub flags: elf::ProgramFlags,
    /// File offset.
    pub offset: u64,
    /// Virtual address.
    pub address: u64,
    /// Physical address: the virtual one on the systems simpack knows.
    pub physical: u64,
    /// Bytes in the file.
    pub file_size: u64,
    /// Bytes in memory.
    pub memory_size: u64,
    /// Alignment, a power of two.
    pub align: u64,
}

impl Segment {
    /// Where in the file the byte at `address` lies.
    pub fn offset_of(&self, address: u64) -> Option<u64> {
        let delta = address.checked_sub(self.address)?;
        if delta < self.file_size { self.offset.checked_add(delta) } else { None }
    }
}

/// One section header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Section {
    /// Name; empty if the name table is damaged.
    pub name: String,
    /// Position of the name in the name table.
    pub name_at: u32,
    /// `SHT_*`.
    pub kind: elf::SectionType,
    /// `SHF_*`.
    pub flags: elf::SectionFlags,
    /// Virtual address, 0 when not loaded.
    pub address: u64,
    /// File offset.
    pub offset: u64,
    /// Bytes.
    pub size: u64,
    /// Another section, depending on the kind.
    pub link: u32,
    /// More, depending on the kind.
    pub info: u32,
    /// Alignment.
    pub align: u64,
    /// Bytes per entry of a table.
    pub entry_size: u64,
}

impl Section {
    /// Whether the section takes room in the file.
    pub fn in_file(&self) -> bool {
        self.kind != elf::SHT_NOBITS && self.kind != elf::SHT_NULL
    }
}

/// The tables of one file over its bytes.
#[derive(Clone)]
pub struct Image<'a> {
    pub(crate) bytes: Bytes<'a>,
    /// What may be spent on the file.
    pub(crate) budget: Budget,
    /// File header.
    pub header: Header,
    /// Program headers in the order of the file.
    pub segments: Vec<Segment>,
    /// Section headers in the order of the file, with the empty first one; none if stripped away.
    pub sections: Vec<Section>,
}

impl<'a> Image<'a> {
    /// Reads the tables.
    ///
    /// # Errors
    /// Not ELF, 32-bit or big-endian, a table reaches past the end of the file, or takes more than the file is worth.
    pub fn parse(file: &'a [u8]) -> Result<Self, ElfError> {
        Self::parse_within(file, Budget::of(file))
    }

    /// As [`Image::parse`], within a budget that others share.
    ///
    /// # Errors
    /// As [`Image::parse`].
    pub fn parse_within(file: &'a [u8], budget: Budget) -> Result<Self, ElfError> {
        let mut image = Self::header_only(file, budget)?;
        image.sections = image.read_sections()?;
        image.segments = image.read_segments()?;
        image.spent()?;
        Ok(image)
    }

    /// Reads what a loader reads: header and segments.
    ///
    /// # Errors
    /// As [`Image::parse`], sections aside.
    pub fn segments_only(file: &'a [u8]) -> Result<Self, ElfError> {
        let mut image = Self::header_only(file, Budget::of(file))?;
        image.segments = image.read_segments()?;
        Ok(image)
    }

    fn header_only(file: &'a [u8], budget: Budget) -> Result<Self, ElfError> {
        if !is_elf(file) {
            return Err(ElfError::NotElf);
        }
        let bytes = Bytes(file);
        let cut = || ElfError::damaged("the file ends inside its header");
        match (bytes.u8(4), bytes.u8(5)) {
            (Some(2), Some(1)) => {}
            (Some(1), Some(1 | 2)) => return Err(ElfError::Unsupported("32-bit")),
            (Some(2), Some(2)) => return Err(ElfError::Unsupported("big-endian")),
            (Some(_), Some(_)) => return Err(ElfError::damaged("unknown class or byte order")),
            _ => return Err(cut()),
        }
        let header = bytes.get(0, HEADER_SIZE).map(Bytes).and_then(read_header).ok_or_else(cut)?;
        Ok(Self { bytes, budget, header, segments: Vec::new(), sections: Vec::new() })
    }

    /// Says whether all that was asked of the file was read.
    ///
    /// # Errors
    /// It takes more than a file of its size is worth.
    pub fn spent(&self) -> Result<(), ElfError> {
        Ok(self.budget.finish()?)
    }

    /// Whether it is device code: a cubin is ELF, too, but the rules about host code do not hold for it.
    pub fn is_device_code(&self) -> bool {
        self.header.machine == elf::EM_CUDA
    }

    /// The whole file.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes.0
    }

    fn read_segments(&self) -> Result<Vec<Segment>, ElfError> {
        if self.header.segments_at == 0 {
            return Ok(Vec::new());
        }
        let mut count = u64::from(self.bytes.u16(56).unwrap_or(0));
        if count == u64::from(elf::PN_XNUM) {
            count = self.sections.first().map_or(0, |first| u64::from(first.info));
        }
        if count > 0 && self.bytes.u16(54).map(u64::from) != Some(SEGMENT_SIZE) {
            return Err(ElfError::damaged("program headers of an unknown size"));
        }
        let table = self
            .bytes
            .get(self.header.segments_at, count.saturating_mul(SEGMENT_SIZE))
            .map(Bytes)
            .ok_or_else(|| ElfError::damaged("the file ends inside its program headers"))?;
        self.room_for::<Segment>(count)?;
        Ok((0..count).filter_map(|index| read_segment(table, index * SEGMENT_SIZE)).collect())
    }

    fn read_sections(&self) -> Result<Vec<Section>, ElfError> {
        let at = self.header.sections_at;
        if at == 0 {
            return Ok(Vec::new());
        }
        let cut = || ElfError::damaged("the file ends inside its section headers");
        let mut count = u64::from(self.bytes.u16(60).unwrap_or(0));
        if count == 0 {
            // More than 65,279 sections: the number is in the first header (gABI, "e_shnum").
            count = self.bytes.u64(at.checked_add(32).ok_or_else(cut)?).ok_or_else(cut)?;
        }
        if count > 0 && self.bytes.u16(58).map(u64::from) != Some(SECTION_SIZE) {
            return Err(ElfError::damaged("section headers of an unknown size"));
        }
        let table = self.bytes.get(at, count.saturating_mul(SECTION_SIZE)).map(Bytes).ok_or_else(cut)?;
        self.room_for::<Section>(count)?;
        let mut sections: Vec<Section> =
            (0..count).filter_map(|index| read_section(table, index * SECTION_SIZE)).collect();
        let mut names = self.header.names;
        if names == u32::from(elf::SHN_XINDEX.0) {
            names = sections.first().map_or(0, |first| first.link);
        }
        if let Some(strings) = sections.get(names as usize).and_then(|section| self.section_bytes(section)) {
            for section in &mut sections {
                section.name = Bytes(strings).string(u64::from(section.name_at), &self.budget).unwrap_or_default();
            }
        }
        Ok(sections)
    }

    fn room_for<T>(&self, count: u64) -> Result<(), ElfError> {
        self.budget.keep_many::<T>(usize::try_from(count).unwrap_or(usize::MAX));
        self.spent()
    }

    /// The first section of this name.
    pub fn section(&self, name: &str) -> Option<&Section> {
        self.sections.iter().find(|section| section.name == name)
    }

    /// Content of a section; `None` if it reaches past the end or takes no room in the file.
    pub fn section_bytes(&self, section: &Section) -> Option<&'a [u8]> {
        if section.in_file() { self.bytes.get(section.offset, section.size) } else { None }
    }

    /// Where in the file the loaded byte at `address` lies.
    pub fn offset_of(&self, address: u64) -> Option<u64> {
        self.loads().find_map(|segment| segment.offset_of(address))
    }

    /// Where in the file the loaded byte at `address` lies, and how many bytes follow it in file and memory alike.
    /// Segments that adjoin in both are one run: old releases of patchelf put a segment before an executable's first
    /// one, and tables across both.
    pub(crate) fn run_at(&self, address: u64) -> Option<(u64, u64)> {
        let mut loads = self.loads();
        let (first, offset) = loads.find_map(|load| Some((load, load.offset_of(address)?)))?;
        let mut last = first;
        for next in loads {
            let adjoins = last.memory_size == last.file_size
                && last.address.checked_add(last.file_size) == Some(next.address)
                && last.offset.checked_add(last.file_size) == Some(next.offset);
            if adjoins {
                last = next;
            }
        }
        Some((offset, last.offset.checked_add(last.file_size)?.checked_sub(offset)?))
    }

    /// The loaded segments.
    pub fn loads(&self) -> impl Iterator<Item = &Segment> {
        self.segments.iter().filter(|segment| segment.kind == elf::PT_LOAD)
    }

    /// The first segment of a kind.
    pub fn segment(&self, kind: elf::ProgramType) -> Option<&Segment> {
        self.segments.iter().find(|segment| segment.kind == kind)
    }

    /// Content of a segment in the file.
    pub fn segment_bytes(&self, segment: &Segment) -> Option<&'a [u8]> {
        self.bytes.get(segment.offset, segment.file_size)
    }
}

fn read_header(bytes: Bytes<'_>) -> Option<Header> {
    Some(Header {
        os_abi: bytes.u8(7)?,
        abi_version: bytes.u8(8)?,
        kind: elf::FileType(bytes.u16(16)?),
        machine: elf::Machine(bytes.u16(18)?),
        entry: bytes.u64(24)?,
        segments_at: bytes.u64(32)?,
        sections_at: bytes.u64(40)?,
        flags: bytes.u32(48)?,
        names: u32::from(bytes.u16(62)?),
    })
}

fn read_segment(table: Bytes<'_>, at: u64) -> Option<Segment> {
    Some(Segment {
        kind: elf::ProgramType(table.u32(at)?),
        flags: elf::ProgramFlags(table.u32(at + 4)?),
        offset: table.u64(at + 8)?,
        address: table.u64(at + 16)?,
        physical: table.u64(at + 24)?,
        file_size: table.u64(at + 32)?,
        memory_size: table.u64(at + 40)?,
        align: table.u64(at + 48)?,
    })
}

fn read_section(table: Bytes<'_>, at: u64) -> Option<Section> {
    Some(Section {
        name: String::new(),
        name_at: table.u32(at)?,
        kind: elf::SectionType(table.u32(at + 4)?),
        flags: elf::SectionFlags(table.u64(at + 8)?),
        address: table.u64(at + 16)?,
        offset: table.u64(at + 24)?,
        size: table.u64(at + 32)?,
        link: table.u32(at + 40)?,
        info: table.u32(at + 44)?,
        align: table.u64(at + 48)?,
        entry_size: table.u64(at + 56)?,
    })
}
