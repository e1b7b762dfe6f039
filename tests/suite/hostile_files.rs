//! Files that ask for more than they are worth: small, well formed enough to be read, and with tables that name the
//! same bytes again and again. One generator for each shape, by size. `tests/bench/hostile.rs` measures the same ones.

/// A shape: its class, its name, and a file of about so many bytes.
pub struct Shape {
    pub class: &'static str,
    pub name: &'static str,
    /// What the file is called: some are recognised by their ending.
    pub file: &'static str,
    pub make: fn(usize) -> Vec<u8>,
}

const fn shape(class: &'static str, name: &'static str, file: &'static str, make: fn(usize) -> Vec<u8>) -> Shape {
    Shape { class, name, file, make }
}

pub const SHAPES: [Shape; 42] = [
    shape("names", "sections-share-one", "a.so", sections_share_a_name),
    shape("names", "exports-share-one", "a.so", |size| symbols_share_a_name(size, 1)),
    shape("names", "imports-share-one", "a.so", |size| symbols_share_a_name(size, 0)),
    shape("names", "needed-share-one", "a.so", needed_share_a_name),
    shape("names", "many-short-symbols", "a.so", short_symbols),
    shape("versions", "needs-share-one", "a.so", |size| version_needs(size, 16)),
    shape("versions", "needs-overlap", "a.so", |size| version_needs(size, 1)),
    shape("versions", "imports-of-one-long", "a.so", imports_of_a_long_version),
    shape("versions", "nodes-by-symbols", "a.so", nodes_by_symbols),
    shape("quadratic", "entries-by-symbols", "a.so", entries_by_symbols),
    shape("quadratic", "segments-by-symbols", "a.so", segments_by_symbols),
    shape("quadratic", "sections-by-notes", "a.o", sections_by_notes),
    shape("notes", "segments-overlap", "a.so", note_segments),
    shape("notes", "properties-overlap", "a.so", |size| {
        overlapping(size, b".note.gnu.property\0", 7, 2, &note(&[0; 4], 5))
    }),
    shape("notes", "one-long-build-id", "a.so", long_build_id),
    shape("notes", "tools-overlap", "a.cubin", tool_notes),
    shape("sections", "fatbins-overlap", "a.so", |size| {
        overlapping(size, b".nv_fatbin\0", 1, 2, &container(&[entry(2, 80, &[0; 64])]))
    }),
    shape("sections", "code-overlaps", "a.so", |size| {
        overlapping(size, b".text\0", 1, 6, &[0xc5, 0xf5, 0xfe, 0xc0, 0xc3])
    }),
    shape("sections", "constants-overlap", "a.so", |size| overlapping(size, b".rodata\0", 1, 2, b"libcuda.so\0")),
    shape("slices", "sections-by-symbols", "a.so", code_sections_by_symbols),
    shape("slices", "packed-relocations", "a.so", packed_relocations),
    shape("slices", "symbol-tables-overlap", "a.o", symbol_tables_overlap),
    shape("fatbins", "bombs", "a.fatbin", bombs),
    shape("fatbins", "groups-share-a-name", "a.fatbin", group_members),
    shape("fatbins", "small-entries", "a.fatbin", small_entries),
    shape("fatbins", "chains", "a.bin", chains),
    shape("cubins", "kernels-share-a-name", "a.cubin", |size| kernels(size, size / 2, 0)),
    shape("cubins", "kernels-share-parameters", "a.cubin", |size| kernels(size, 1, size / 2)),
    shape("cubins", "many-kernels", "a.cubin", |size| kernels(size, 1, 0)),
    shape("ptx", "one-exploding-name", "a.ptx", |_| ptx(&exploding(56), 1)),
    shape("ptx", "exploding-names", "a.ptx", |size| ptx(&exploding(56), size / 420)),
    shape("ptx", "exploding-rust-name", "a.ptx", |_| ptx(&exploding_rust(40), 1)),
    shape("ptx", "many-kernels", "a.ptx", |size| ptx("k", size / 13)),
    shape("offload", "packed-tables", "a.hipfb", packed_tables),
    shape("offload", "small-entries", "a.hipfb", |size| offload_table(size / 24)),
    shape("offload", "pieces-share-a-name", "a.o", pieces_share_a_name),
    shape("archives", "members-share-a-name", "a.a", |size| archive(size, size / 2, b"x")),
    shape("archives", "members-of-device-code", "a.a", |size| archive(size, 16, &container(&[entry(2, 80, &[0; 64])]))),
    shape("archives", "members-that-explode", "a.a", |size| archive(size, 16, &symbols_share_a_name(8 << 10, 1))),
    shape("spirv", "variables-share-a-name", "a.spv", variables_share_a_name),
    shape("spirv", "types-hold-each-other", "a.spv", doubling_types),
    shape("spirv", "many-names", "a.spv", many_names),
];

/// Bytes of an ELF file: a header, segments, sections (the first is empty, the second holds the names), content.
struct Elf {
    kind: u16,
    machine: u16,
    /// `e_flags` and `EI_ABIVERSION`.
    flags: (u32, u8),
    segments: Vec<[u64; 6]>,
    sections: Vec<[u64; 8]>,
    content: Vec<u8>,
    names_at: u64,
    names_size: u64,
}

/// Content begins here; program headers stand behind it.
const CONTENT: u64 = 64;

impl Elf {
    fn new() -> Self {
        let (segments, sections) = (Vec::new(), Vec::new());
        Self {
            kind: 3,
            machine: 62,
            flags: (0, 0),
            segments,
            sections,
            content: Vec::new(),
            names_at: 0,
            names_size: 0,
        }
    }

    /// A cubin of capability 9.0.
    fn cubin() -> Self {
        Self { kind: 2, machine: 190, flags: (0x0600_5a04, 8), ..Self::new() }
    }

    /// Puts bytes into the file; gives their place, which is their address, too.
    fn put(&mut self, bytes: &[u8]) -> u64 {
        self.content.resize(self.content.len().next_multiple_of(8), 0);
        let at = CONTENT + self.content.len() as u64;
        self.content.extend_from_slice(bytes);
        at
    }

    /// The names of sections.
    fn names(&mut self, names: &[u8]) {
        (self.names_at, self.names_size) = (self.put(names), names.len() as u64);
    }

    /// A section: position of its name, type, flags, place, bytes, link, info.
    fn section(&mut self, name: usize, kind: u64, flags: u64, (at, size): (u64, usize), link: u64, info: u64) {
        self.sections.push([name as u64, kind, flags, at, size as u64, link, info, 0]);
    }

    /// A segment of all bytes.
    fn segment(&mut self, kind: u64, flags: u64, at: u64, size: u64) {
        self.segments.push([kind, flags, at, at, size, 8]);
    }

    /// Segments of a library with these entries of its dynamic section.
    fn dynamic(&mut self, entries: &[(u64, u64)]) {
        let table: Vec<u8> = entries
            .iter()
            .chain(&[(0, 0)])
            .flat_map(|(tag, value)| [tag.to_le_bytes(), value.to_le_bytes()].concat())
            .collect();
        let at = self.put(&table);
        self.segment(1, 4, 0, u64::MAX);
        self.segment(2, 6, at, table.len() as u64);
    }

    fn finish(mut self) -> Vec<u8> {
        let segments_at = self.put(&[]);
        let end = segments_at + self.segments.len() as u64 * 56;
        let count = self.sections.len() as u64 + 2;
        let length = end + count * 64;
        let mut file = b"\x7fELF\x02\x01\x01\0".to_vec();
        file.extend([self.flags.1, 0, 0, 0, 0, 0, 0, 0]);
        file.extend([self.kind.to_le_bytes(), self.machine.to_le_bytes()].concat());
        file.extend(1u32.to_le_bytes());
        file.extend([0, segments_at * u64::from(!self.segments.is_empty()), end].map(u64::to_le_bytes).concat());
        file.extend(self.flags.0.to_le_bytes());
        let half = [64, 56, self.segments.len() as u16, 64, if count < 0xff00 { count as u16 } else { 0 }, 1];
        file.extend(half.map(u16::to_le_bytes).concat());
        file.extend(&self.content);
        for [kind, flags, at, address, size, align] in self.segments {
            let size = size.min(length);
            file.extend([kind as u32, flags as u32].map(u32::to_le_bytes).concat());
            file.extend([at, address, address, size, size, align].map(u64::to_le_bytes).concat());
        }
        let mut first = [0; 8];
        first[4] = count;
        let names = [0, 3, 0, self.names_at, self.names_size, 0, 0, 0];
        for [name, kind, flags, at, size, link, info, entry] in [first, names].into_iter().chain(self.sections) {
            file.extend([name as u32, kind as u32].map(u32::to_le_bytes).concat());
            file.extend([flags, at, at, size].map(u64::to_le_bytes).concat());
            file.extend([link as u32, info as u32].map(u32::to_le_bytes).concat());
            file.extend([1, entry].map(u64::to_le_bytes).concat());
        }
        file
    }
}

fn long_name(size: usize) -> Vec<u8> {
    [b"\0".as_slice(), &vec![b'n'; size], b"\0"].concat()
}

/// A symbol: position of its name, binding and kind, section, value.
fn symbol(name: u32, info: u8, other: u8, section: u16, value: u64) -> Vec<u8> {
    [name.to_le_bytes().as_slice(), &[info, other], &section.to_le_bytes(), &value.to_le_bytes(), &8u64.to_le_bytes()]
        .concat()
}

/// A library with these strings, symbols and further entries of its dynamic section, which name places after `first`.
fn library(strings: &[u8], symbols: &[u8], more: impl FnOnce(&mut Elf) -> Vec<(u64, u64)>) -> Elf {
    let mut elf = Elf::new();
    let strings_at = elf.put(strings);
    let symbols_at = elf.put(symbols);
    let hash: Vec<u8> = [1, (symbols.len() / 24) as u32, 0].into_iter().flat_map(u32::to_le_bytes).collect();
    let hash_at = elf.put(&hash);
    let mut entries = vec![(5, strings_at), (10, strings.len() as u64), (6, symbols_at), (11, 24), (4, hash_at)];
    let more = more(&mut elf);
    entries.extend(more);
    elf.dynamic(&entries);
    elf
}

fn sections_share_a_name(size: usize) -> Vec<u8> {
    let mut elf = Elf::new();
    elf.names(&long_name(size / 2));
    for _ in 0..size / 128 {
        elf.section(1, 1, 2, (64, 1), 0, 0);
    }
    elf.finish()
}

fn symbols_share_a_name(size: usize, section: u16) -> Vec<u8> {
    let symbols: Vec<u8> = (0..size / 48).flat_map(|index| symbol(1, 0x12, 0, section, index as u64)).collect();
    library(&long_name(size / 2), &symbols, |_| Vec::new()).finish()
}

fn short_symbols(size: usize) -> Vec<u8> {
    let strings: Vec<u8> =
        (0..size / 4).map(|index| if index % 4 == 3 { 0 } else { b'a' + (index % 23) as u8 }).chain([0]).collect();
    let symbols: Vec<u8> =
        (0..size / 32).flat_map(|index| symbol((index * 8 % (size / 4)) as u32, 0x11, 0, 1, index as u64)).collect();
    library(&strings, &symbols, |_| Vec::new()).finish()
}

fn needed_share_a_name(size: usize) -> Vec<u8> {
    let mut needed: Vec<(u64, u64)> = vec![(1, 1); size / 32];
    needed.extend([(14, 1), (29, 1), (15, 1)]);
    library(&long_name(size / 2), &[], |_| needed).finish()
}

/// Records that need versions of one long name from one file of that name.
fn version_needs(size: usize, step: u32) -> Vec<u8> {
    let table: Vec<u8> = if step == 16 {
        let count = (size / 32).min(60_000);
        let record = |index: usize| {
            let next = if index + 1 < count { 32 } else { 0u32 };
            let head = [1u32 | 1 << 16, 1, 16, next].map(u32::to_le_bytes).concat();
            [head, [0, 2 << 16, 1, 0u32].map(u32::to_le_bytes).concat()].concat()
        };
        (0..count).flat_map(record).collect()
    } else {
        vec![1; size / 2]
    };
    library(&long_name(size / 2), &symbol(1, 0x12, 0, 0, 0), |elf| {
        vec![(0x6fff_fffe, elf.put(&table)), (0x6fff_ffff, 1)]
    })
    .finish()
}

fn imports_of_a_long_version(size: usize) -> Vec<u8> {
    let strings = [long_name(size / 2), b"f\0".to_vec()].concat();
    let place = strings.len() as u32 - 2;
    let symbols: Vec<u8> = (0..size / 52).flat_map(|_| symbol(place, 0x12, 0, 0, 0)).collect();
    let table = [1 | 1 << 16, 1, 16, 0, 0, 2 << 16, 1, 0u32].map(u32::to_le_bytes).concat();
    let indices: Vec<u8> = (0..size / 52).flat_map(|_| 2u16.to_le_bytes()).collect();
    library(&strings, &symbols, |elf| {
        vec![(0x6fff_fffe, elf.put(&table)), (0x6fff_ffff, 1), (0x6fff_fff0, elf.put(&indices))]
    })
    .finish()
}

/// Absolute symbols might each be a version node.
fn nodes_by_symbols(size: usize) -> Vec<u8> {
    let count = (size / 64).min(32_000);
    let record = |index: usize| {
        let next = if index + 1 < count { 28 } else { 0u32 };
        let head = [1u32, (index as u32 + 1) | 1 << 16, 0, 20, next].map(u32::to_le_bytes).concat();
        [head, [1u32 + (index as u32 % 20), 0].map(u32::to_le_bytes).concat()].concat()
    };
    let table: Vec<u8> = (0..count).flat_map(record).collect();
    let symbols: Vec<u8> = (0..size / 48).flat_map(|_| symbol(40, 0x11, 0, 0xfff1, 0)).collect();
    library(&long_name(64), &symbols, |elf| vec![(0x6fff_fffc, elf.put(&table)), (0x6fff_fffd, count as u64)]).finish()
}

fn entries_by_symbols(size: usize) -> Vec<u8> {
    let symbols: Vec<u8> = (0..size / 48).flat_map(|_| symbol(1, 0x12, 0, 0, 0)).collect();
    let indices = vec![0; size / 24];
    library(&long_name(1), &symbols, |elf| {
        let at = elf.put(&indices);
        [(0x6fff_fff0, at)].into_iter().chain(vec![(0x7000_0001, 0); size / 40]).collect()
    })
    .finish()
}

fn segments_by_symbols(size: usize) -> Vec<u8> {
    let symbols: Vec<u8> = (0..size / 48).flat_map(|_| symbol(1, 0x12, 0, 0, 0)).collect();
    let indices = vec![0; size / 24];
    let mut elf = library(&long_name(1), &symbols, |elf| vec![(0x6fff_fff0, elf.put(&indices))]);
    let all = elf.segments.remove(0);
    for _ in 0..(size / 120).min(60_000) {
        elf.segment(1, 4, 1, 1);
    }
    elf.segments.push(all);
    elf.finish()
}

/// Nothing here is in the file twice, but each section could be asked for each symbol.
fn sections_by_notes(size: usize) -> Vec<u8> {
    let mut elf = Elf { kind: 1, ..Elf::new() };
    elf.names(b"\0.symtab\0.note\0.gnu.lto_.symtab\0.rela\0");
    let strings = long_name(1);
    let place = elf.put(&strings);
    elf.section(0, 3, 0, (place, strings.len()), 0, 0);
    for index in 0..size / 128 {
        elf.section([9, 15][index % 2], 7, 2, (64, 1), 0, 0);
    }
    let symbols: Vec<u8> = (0..size / 48).flat_map(|index| symbol(1, 0x12, 0, (index % 0xff00) as u16, 0)).collect();
    let place = elf.put(&symbols);
    elf.section(1, 2, 0, (place, symbols.len()), 2, 0);
    elf.finish()
}

fn note(content: &[u8], kind: u32) -> Vec<u8> {
    [[4, content.len() as u32, kind].map(u32::to_le_bytes).concat(), b"GNU\0".to_vec(), content.to_vec()].concat()
}

fn note_segments(size: usize) -> Vec<u8> {
    let notes = note(&[0; 4], 1).repeat(size / 48);
    let mut elf = library(&long_name(1), &[], |_| Vec::new());
    let at = elf.put(&notes);
    for _ in 0..(size / 112).min(60_000) {
        elf.segment(4, 4, at, notes.len() as u64);
    }
    elf.finish()
}

/// Sections of one name that all hold the same bytes, half of the file.
fn overlapping(size: usize, name: &[u8], kind: u64, flags: u64, unit: &[u8]) -> Vec<u8> {
    let content = unit.repeat((size / 2 / unit.len()).max(1));
    let symbols = [symbol(0, 0, 0, 0, 0), symbol(1, 0x12, 0, 0, 0)].concat();
    let mut elf = library(b"\0dlopen\0", &symbols, |_| Vec::new());
    elf.names(&[b"\0", name].concat());
    let at = elf.put(&content);
    for _ in 0..size / 128 {
        elf.section(1, kind, flags, (at, content.len()), 0, 0);
    }
    elf.finish()
}

/// Each symbol could be compared with each section of device code.
fn code_sections_by_symbols(size: usize) -> Vec<u8> {
    let symbols: Vec<u8> = (0..size / 96).flat_map(|_| symbol(1, 0x11, 0, 1, u64::MAX)).collect();
    let mut elf = library(&long_name(1), &symbols, |_| Vec::new());
    elf.names(b"\0.nv_fatbin\0.dynsym\0");
    let table = elf.put(&symbols);
    elf.section(12, 11, 2, (table, symbols.len()), 0, 0);
    let code = container(&[entry(2, 80, &[0; 64])]);
    for _ in 0..size / 4 / (code.len() + 64) {
        let at = elf.put(&code);
        elf.section(1, 1, 2, (at, code.len()), 0, 0);
    }
    elf.finish()
}

/// A bit of the table is a pointer of eight bytes.
fn packed_relocations(size: usize) -> Vec<u8> {
    let table = [64u64.to_le_bytes().to_vec(), vec![0xff; size / 8 * 8]].concat();
    let mut elf = library(&long_name(1), &[], |elf| vec![(36, elf.put(&table)), (35, table.len() as u64)]);
    elf.names(b"\0.nv_fatbin\0");
    let code = container(&[entry(2, 80, &[0; 64])]);
    let at = elf.put(&code);
    elf.section(1, 1, 2, (at, code.len()), 0, 0);
    elf.finish()
}

/// Each symbol names a container, and each section holds all symbols.
fn symbol_tables_overlap(size: usize) -> Vec<u8> {
    let mut elf = Elf { kind: 1, ..Elf::new() };
    elf.names(b"\0.nv_fatbin\0.symtab\0");
    let code = container(&[entry(2, 80, &[0; 64])]).repeat(2);
    let at = elf.put(&code);
    elf.section(1, 1, 2, (at, code.len()), 0, 0);
    let symbols: Vec<u8> = (0..size / 48).flat_map(|_| symbol(0, 0x11, 0, 2, 0)).collect();
    let table = elf.put(&symbols);
    for _ in 0..size / 128 {
        elf.section(12, 2, 0, (table, symbols.len()), 1, 0);
    }
    elf.finish()
}

fn long_build_id(size: usize) -> Vec<u8> {
    let mut elf = library(&long_name(1), &[], |_| Vec::new());
    let id = note(&vec![7; size - 256], 3);
    let at = elf.put(&id);
    elf.segment(4, 4, at, id.len() as u64);
    elf.finish()
}

/// Notes of compilers that all name one long text.
fn tool_notes(size: usize) -> Vec<u8> {
    let mut elf = Elf::cubin();
    elf.names(b"\0.note.nv.tkinfo\0");
    let text = vec![b't'; size / 2];
    let content = [[2u32, 0, 0, 0, 0, 0].map(u32::to_le_bytes).concat(), text, vec![0]].concat();
    let one = [[0, content.len() as u32, 2000].map(u32::to_le_bytes).concat(), content].concat();
    let at = elf.put(&one);
    for _ in 0..size / 128 {
        elf.section(1, 7, 0, (at, one.len()), 0, 0);
    }
    elf.finish()
}

fn entry(kind: u16, arch: u32, content: &[u8]) -> Vec<u8> {
    entry_of(kind, arch, content, 0, content.len() as u64, 64, 0x11)
}

fn entry_of(kind: u16, arch: u32, content: &[u8], packed: u32, unpacked: u64, header: u32, flags: u64) -> Vec<u8> {
    let payload = content.len().next_multiple_of(8);
    let mut bytes = [kind.to_le_bytes(), 0x0101u16.to_le_bytes()].concat();
    bytes.extend(header.to_le_bytes());
    bytes.extend((payload as u64).to_le_bytes());
    bytes.extend([packed, 0].map(u32::to_le_bytes).concat());
    bytes.extend([8u16, 1].map(u16::to_le_bytes).concat());
    bytes.extend([arch, 0, 0].map(u32::to_le_bytes).concat());
    bytes.extend([flags, 0, unpacked].map(u64::to_le_bytes).concat());
    bytes.resize(header as usize, 0);
    bytes.extend(content);
    bytes.resize(header as usize + payload, 0);
    bytes
}

fn container(entries: &[Vec<u8>]) -> Vec<u8> {
    let body = entries.concat();
    [&[0x50, 0xed, 0x55, 0xba, 1, 0, 16, 0], (body.len() as u64).to_le_bytes().as_slice(), &body].concat()
}

/// Each entry of some hundred bytes unpacks to a mebibyte.
fn bombs(size: usize) -> Vec<u8> {
    let packed = zstd::bulk::compress(&vec![0; 1 << 20], 19).unwrap();
    let one = entry_of(2, 80, &packed, packed.len() as u32, 1 << 20, 64, 0x8011);
    container(&vec![one.clone(); (size / one.len()).max(1)])
}

/// Members of a group, each with a name that reaches to the end of the header.
fn group_members(size: usize) -> Vec<u8> {
    let count = size / 128;
    let header = 72 + 64 * count + size / 2;
    let mut group = entry_of(0x100, 0, &[1; 64], 64, 64, header as u32, 0x11);
    group[64..68].copy_from_slice(&(count as u32).to_le_bytes());
    for index in 0..count {
        let at = 72 + 64 * index;
        let mut member = entry_of(2, 80, &[], 0, 0, 64, 0x11);
        member[4..8].copy_from_slice(&0u32.to_le_bytes());
        let name = ((72 + 64 * count - at) as u32, (size / 2) as u32);
        member[32..36].copy_from_slice(&name.0.to_le_bytes());
        member[36..40].copy_from_slice(&name.1.to_le_bytes());
        group[at..at + 64].copy_from_slice(&member);
    }
    group[72 + 64 * count..header].fill(b'n');
    container(&[group])
}

fn small_entries(size: usize) -> Vec<u8> {
    container(&vec![entry(2, 80, &[]); size / 64])
}

/// Containers that begin in the entries of others: each looks like one up to the end of the file.
fn chains(size: usize) -> Vec<u8> {
    let count = size / 64;
    let mut file = vec![b'x'; 16];
    for index in 0..count {
        let mut one = entry(2, 80, &[]);
        // The last sixteen bytes of an entry begin a container that holds all that follows.
        let follows = ((count - index - 1) * 64 + 64) as u64;
        one[48..56].copy_from_slice(&[0x50, 0xed, 0x55, 0xba, 1, 0, 16, 0]);
        one[56..64].copy_from_slice(&follows.to_le_bytes());
        file.extend(one);
    }
    // The last entry reaches past the end.
    let mut last = entry(2, 80, &[]);
    last[8..16].copy_from_slice(&u64::MAX.to_le_bytes());
    file.extend(last);
    file
}

/// Kernels of one name with `params` bytes of attributes.
fn kernels(size: usize, name: usize, params: usize) -> Vec<u8> {
    let mut elf = Elf::cubin();
    let kernel = vec![b'k'; name];
    elf.names(&[b"\0.symtab\0.nv.info.".as_slice(), &kernel, b"\0"].concat());
    let strings = [b"\0".as_slice(), &kernel, b"\0"].concat();
    let strings_at = elf.put(&strings);
    let count = size.saturating_sub(2 * name + params) / 24;
    let symbols: Vec<u8> = (0..count).flat_map(|_| symbol(1, 0x12, 0x10, 1, 0)).collect();
    let symbols_at = elf.put(&symbols);
    elf.section(0, 3, 0, (strings_at, strings.len()), 0, 0);
    elf.section(1, 2, 0, (symbols_at, symbols.len()), 2, 0);
    let one = |index: usize| {
        let head = [4, 0x17, 12, 0, 0, 0, 0, 0, index as u8, (index >> 8) as u8, 0, 0];
        [head.as_slice(), &[0, 0, 0x20, 0]].concat()
    };
    let info: Vec<u8> = (0..params / 16).flat_map(one).collect();
    let info_at = elf.put(&info);
    elf.section(9, 0x7000_0000, 0, (info_at, info.len()), 0, 0);
    elf.finish()
}

fn ptx(name: &str, count: usize) -> Vec<u8> {
    let kernel = format!(".entry {name}{{}}\n");
    format!(".version 8.0\n.target sm_90\n.address_size 64\n{}", kernel.repeat(count.max(1))).into_bytes()
}

/// A name of C++ of whose template arguments each names the one before twice.
pub fn exploding(depth: u32) -> String {
    let digit = |digit: u32| char::from_digit(digit, 36).unwrap().to_ascii_uppercase();
    let place = |index: u32| match index {
        0 => "S_".to_owned(),
        1..=36 => format!("S{}_", digit(index - 1)),
        _ => format!("S{}{}_", digit((index - 1) / 36), digit((index - 1) % 36)),
    };
    let mut name = "_Z1fI".to_owned();
    let mut last = "ii".to_owned();
    // `1aI..E` is two substitutions: the template, and the template with its arguments.
    for index in 0..depth {
        let template = if index == 0 { "1a".to_owned() } else { place(1) };
        name.push_str(&format!("{template}I{last}E"));
        let this = if index == 0 { 2 } else { 2 + index };
        last = place(this).repeat(2);
    }
    format!("{name}EvT_")
}

/// A name of Rust of whose types each names the one before twice.
pub fn exploding_rust(depth: usize) -> String {
    let base62 = |mut number: usize| {
        let digits = b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
        let mut text = Vec::new();
        if number > 0 {
            number -= 1;
            loop {
                text.push(digits[number % 62]);
                number /= 62;
                if number == 0 {
                    break;
                }
            }
        }
        text.reverse();
        format!("{}_", String::from_utf8(text).unwrap())
    };
    let mut name = "INvC1a1f".to_owned();
    let mut last = None;
    for _ in 0..depth {
        let here = name.len();
        let one = last.map_or_else(|| "m".to_owned(), |at| format!("B{}", base62(at)));
        name.push_str(&format!("T{one}{one}E"));
        last = Some(here);
    }
    format!("_R{name}E")
}

/// Bundles of which each unpacks to a table of a mebibyte.
fn packed_tables(size: usize) -> Vec<u8> {
    let table = offload_table((1 << 20) / 24);
    let packed = zstd::bulk::compress(&table, 19).unwrap();
    let mut one = b"CCOB".to_vec();
    one.extend([2u16, 1].map(u16::to_le_bytes).concat());
    one.extend([24 + packed.len() as u32, table.len() as u32].map(u32::to_le_bytes).concat());
    one.extend([0; 8]);
    one.extend(packed);
    one.repeat((size / one.len()).max(1))
}

fn offload_table(count: usize) -> Vec<u8> {
    let head = [b"__CLANG_OFFLOAD_BUNDLE__".as_slice(), &(count as u64).to_le_bytes()].concat();
    [head, vec![0; 24 * count]].concat()
}

fn pieces_share_a_name(size: usize) -> Vec<u8> {
    let mut elf = Elf { kind: 1, ..Elf::new() };
    elf.names(&[b"\0__CLANG_OFFLOAD_BUNDLE__hip-amdgcn--".as_slice(), &vec![b'g'; 4000], b"\0"].concat());
    for index in 0..size / 65 {
        let at = elf.put(b"") + index as u64;
        elf.section(1, 1, 0, (at, 1), 0, 0);
    }
    elf.put(&vec![0; size / 65]);
    elf.finish()
}

/// Members that name their long name by its position.
fn archive(size: usize, name: usize, content: &[u8]) -> Vec<u8> {
    let header =
        |name: &str, size: usize| format!("{name:<16}{:<12}{:<6}{:<6}{:<8}{size:<10}`\n", 0, 0, 0, 644).into_bytes();
    let names = [vec![b'n'; name], b"/\n".to_vec()].concat();
    let mut file = [b"!<arch>\n".to_vec(), header("//", names.len()), names].concat();
    while file.len() < size {
        file.resize(file.len().next_multiple_of(2), b'\n');
        file.extend(header("/0", content.len()));
        file.extend(content);
    }
    file
}

fn spirv(instructions: &[Vec<u32>]) -> Vec<u8> {
    let head = vec![0x0723_0203, 0x0001_0300, 0, 1 << 20, 0];
    [&[head], instructions].concat().concat().iter().flat_map(|word| word.to_le_bytes()).collect()
}

fn instruction(code: u32, operands: &[u32]) -> Vec<u32> {
    [&[(operands.len() as u32 + 1) << 16 | code], operands].concat()
}

fn variables_share_a_name(size: usize) -> Vec<u8> {
    let mut name = vec![7];
    name.extend(vec![u32::from_le_bytes(*b"name"); (size / 8).min(60_000)]);
    name.push(0);
    let mut all = vec![instruction(5, &name)];
    all.extend(vec![instruction(59, &[3, 7, 2]); size / 32]);
    spirv(&all)
}

/// Structures of which each holds the one before twice.
fn doubling_types(size: usize) -> Vec<u8> {
    let mut all = vec![instruction(21, &[1, 32, 0])];
    for index in 1..(size / 16).min(90) as u32 {
        all.push(instruction(30, &[index + 1, index, index]));
    }
    all.push(instruction(32, &[1000, 2, 90]));
    spirv(&all)
}

fn many_names(size: usize) -> Vec<u8> {
    let one = |index: usize| instruction(5, &[index as u32, u32::from_le_bytes(*b"abc\0")]);
    spirv(&(0..size / 12).map(one).collect::<Vec<_>>())
}
