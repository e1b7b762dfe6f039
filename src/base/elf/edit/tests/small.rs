//! Small ELF libraries made in code, for tests: every habit of a linker that matters to the editor is
//! a switch.

use object::elf;

/// What a library shall be like.
#[derive(Debug, Clone)]
pub(super) struct Small {
    pub(super) soname: Option<&'static str>,
    pub(super) runpath: Option<&'static str>,
    pub(super) needed: Vec<&'static str>,
    /// Names of defined symbols; names that end others share their bytes.
    pub(super) symbols: Vec<&'static str>,
    /// Empty dynamic entries behind the closing one.
    pub(super) spare: usize,
    /// NULs between the program headers and what follows.
    pub(super) room: usize,
    pub(super) note: bool,
    /// Section headers: none, at the end, or directly behind the program headers as Go has them.
    pub(super) sections: Sections,
    /// Alignment of loaded segments.
    pub(super) align: u64,
    /// Relocated words.
    pub(super) words: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sections {
    None,
    Behind,
    Before,
}

/// A section header in the making.
struct Header {
    name: &'static str,
    kind: u32,
    flags: u64,
    offset: usize,
    address: u64,
    size: usize,
    link: u32,
    entry: u64,
}

/// Strings with shared endings, as linkers merge them.
fn strings(texts: &[&str]) -> (Vec<u8>, impl Fn(&str) -> u64 + use<>) {
    let mut longest: Vec<&str> = texts.to_vec();
    longest.sort_by_key(|text| (std::cmp::Reverse(text.len()), text.to_owned()));
    let mut bytes = vec![0];
    let place = |bytes: &[u8], text: &str| {
        let wanted = [text.as_bytes(), b"\0"].concat();
        bytes.windows(wanted.len()).position(|it| it == wanted).map(|at| at as u64)
    };
    for text in longest {
        if place(&bytes, text).is_none() {
            bytes.extend_from_slice(text.as_bytes());
            bytes.push(0);
        }
    }
    let finished = bytes.clone();
    (bytes, move |text: &str| place(&finished, text).unwrap())
}

fn words(values: &[u64]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

impl Small {
    /// The bytes of the file.
    pub(super) fn bytes(&self) -> Vec<u8> {
        let names = ["", ".note", ".hash", ".dynsym", ".dynstr", ".rela.dyn", ".dynamic", ".data", ".shstrtab"];
        let count = if self.note { 9 } else { 8 };
        let segments = if self.note { 5 } else { 4 };
        let mut file = vec![0u8; 64 + segments * 56];
        let table_before = (self.sections == Sections::Before).then_some(file.len());
        if table_before.is_some() {
            file.resize(file.len() + count * 64, 0);
        }
        file.resize(file.len() + self.room, 0);
        let mut headers: Vec<Header> = Vec::new();
        let mut add = |file: &mut Vec<u8>, name, kind: elf::SectionType, link, entry, content: &[u8]| {
            file.resize(file.len().next_multiple_of(8), 0);
            let (offset, size) = (file.len(), content.len());
            headers.push(Header { name, kind: kind.0, flags: 2, offset, address: offset as u64, size, link, entry });
            file.extend_from_slice(content);
            offset as u64
        };
        let note = [&4u32.to_le_bytes()[..], &8u32.to_le_bytes(), &3u32.to_le_bytes(), b"GNU\0buildid1"].concat();
        let note_at = if self.note { add(&mut file, ".note", elf::SHT_NOTE, 0, 0, &note) } else { 0 };
        let first = u32::from(self.note);
        let chain: Vec<u8> = (0..self.symbols.len() as u32 + 4)
            .map(|index| match index {
                0 => 1,
                1 => self.symbols.len() as u32 + 1,
                2 => self.symbols.len() as u32,
                3 => 0,
                index => index - 4,
            })
            .flat_map(u32::to_le_bytes)
            .collect();
        let hash_at = add(&mut file, ".hash", elf::SHT_HASH, first + 2, 4, &chain);
        let mut texts: Vec<&str> = self.symbols.clone();
        texts.extend(self.soname.iter().chain(&self.runpath).chain(&self.needed));
        let (string_bytes, place) = strings(&texts);
        let mut symbols = vec![0u8; 24];
        for (index, name) in self.symbols.iter().enumerate() {
            symbols.extend_from_slice(&(place(name) as u32).to_le_bytes());
            // A global object in `.data`.
            symbols.extend_from_slice(&[0x11, 0]);
            symbols.extend_from_slice(&((first + 6) as u16).to_le_bytes());
            symbols.extend_from_slice(&words(&[8 * index as u64, 8]));
        }
        let symbols_at = add(&mut file, ".dynsym", elf::SHT_DYNSYM, first + 3, 24, &symbols);
        let strings_at = add(&mut file, ".dynstr", elf::SHT_STRTAB, 0, 0, &string_bytes);
        let mut entries: Vec<(elf::DynamicTag, u64)> = Vec::new();
        entries.extend(self.needed.iter().map(|name| (elf::DT_NEEDED, place(name))));
        entries.extend(self.soname.iter().map(|name| (elf::DT_SONAME, place(name))));
        entries.extend(self.runpath.iter().map(|name| (elf::DT_RUNPATH, place(name))));
        let relocations = self.words * 24;
        let relocations_at = add(&mut file, ".rela.dyn", elf::SHT_RELA, first + 2, 24, &vec![0; relocations]);
        entries.extend([
            (elf::DT_HASH, hash_at),
            (elf::DT_STRTAB, strings_at),
            (elf::DT_SYMTAB, symbols_at),
            (elf::DT_STRSZ, string_bytes.len() as u64),
            (elf::DT_SYMENT, 24),
            (elf::DT_RELA, relocations_at),
            (elf::DT_RELASZ, relocations as u64),
            (elf::DT_RELAENT, 24),
        ]);
        let read_only = file.len();
        file.resize(read_only.next_multiple_of(8), 0);
        let data_at = file.len();
        let shift = self.align.max(0x1000);
        let dynamic_size = (entries.len() + 1 + self.spare) * 16;
        let data_address = (data_at + dynamic_size) as u64 + shift;
        let mut dynamic: Vec<u8> =
            entries.iter().flat_map(|(tag, value)| words(&[tag.0.cast_unsigned(), *value])).collect();
        dynamic.resize(dynamic_size, 0);
        file.extend_from_slice(&dynamic);
        file.extend((0..self.words.max(self.symbols.len())).flat_map(|index| words(&[0x1000 + index as u64])));
        for index in 0..self.words {
            // R_X86_64_RELATIVE.
            let at = relocations_at as usize + index * 24;
            let word = data_address + 8 * index as u64;
            file[at..at + 24].copy_from_slice(&words(&[word, 8, 0x40 + index as u64]));
        }
        for index in 0..self.symbols.len() {
            let at = symbols_at as usize + 24 * (index + 1) + 8;
            let value = data_address + 8 * index as u64;
            file[at..at + 8].copy_from_slice(&value.to_le_bytes());
        }
        let end = file.len();
        let loaded = |name, kind: elf::SectionType, offset: usize, size: usize, entry| Header {
            name,
            kind: kind.0,
            flags: 3,
            offset,
            address: offset as u64 + shift,
            size,
            link: first + 3,
            entry,
        };
        headers.push(loaded(".dynamic", elf::SHT_DYNAMIC, data_at, dynamic_size, 16));
        headers.push(loaded(".data", elf::SHT_PROGBITS, data_at + dynamic_size, end - data_at - dynamic_size, 0));
        let mut table: Vec<[u64; 7]> = vec![
            [1 | 4 << 32, 0, 0, 0, read_only as u64, read_only as u64, self.align],
            [
                1 | 6 << 32,
                data_at as u64,
                data_at as u64 + shift,
                0,
                (end - data_at) as u64,
                (end - data_at) as u64,
                self.align,
            ],
            [2 | 6 << 32, data_at as u64, data_at as u64 + shift, 0, dynamic_size as u64, dynamic_size as u64, 8],
            [0x6474_e551 | 6 << 32, 0, 0, 0, 0, 0, 16],
        ];
        if self.note {
            table.push([4 | 4 << 32, note_at, note_at, 0, note.len() as u64, note.len() as u64, 4]);
        }
        for (index, row) in table.iter_mut().enumerate() {
            row[3] = row[2];
            file[64 + index * 56..64 + (index + 1) * 56].copy_from_slice(&words(row));
        }
        let sections_at = self.write_sections(&mut file, &names, headers, table_before);
        let header =
            [b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x03\0\x3e\0\x01\0\0\0".to_vec(), words(&[0, 64, sections_at])];
        file[..48].copy_from_slice(&header.concat());
        let names_index = if sections_at == 0 { 0 } else { count as u16 - 1 };
        let counts = [64, 56, segments as u16, 64, if sections_at == 0 { 0 } else { count as u16 }, names_index];
        for (index, value) in counts.iter().enumerate() {
            file[52 + 2 * index..54 + 2 * index].copy_from_slice(&value.to_le_bytes());
        }
        file
    }

    /// Writes the section headers with their names, and says where.
    fn write_sections(
        &self,
        file: &mut Vec<u8>,
        names: &[&str],
        mut headers: Vec<Header>,
        before: Option<usize>,
    ) -> u64 {
        if self.sections == Sections::None {
            return 0;
        }
        let (name_bytes, name_at) = strings(names);
        let offset = file.len();
        file.extend_from_slice(&name_bytes);
        let size = name_bytes.len();
        headers.push(Header { name: ".shstrtab", kind: 3, flags: 0, offset, address: 0, size, link: 0, entry: 0 });
        let mut table = vec![0u8; 64];
        for header in headers {
            table.extend_from_slice(&(name_at(header.name) as u32).to_le_bytes());
            table.extend_from_slice(&header.kind.to_le_bytes());
            table.extend_from_slice(&words(&[header.flags, header.address, header.offset as u64, header.size as u64]));
            table.extend_from_slice(&header.link.to_le_bytes());
            table.extend_from_slice(&u32::from(header.name == ".dynsym").to_le_bytes());
            table.extend_from_slice(&words(&[if header.name == ".dynstr" { 1 } else { 8 }, header.entry]));
        }
        if let Some(at) = before {
            file[at..at + table.len()].copy_from_slice(&table);
            return at as u64;
        }
        file.resize(file.len().next_multiple_of(8), 0);
        let at = file.len() as u64;
        file.extend_from_slice(&table);
        at
    }
}
