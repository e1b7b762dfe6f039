//! Device code for tests, built field by field: containers and a small cubin.

/// A PTX module with the kernel `k(u32, u64)`.
pub(crate) const PTX: &str =
    ".version 8.7\n.target sm_75\n.address_size 64\n.visible .entry k(.param .u32 a, .param .u64 b)\n{ ret; }\n";

/// How an entry is stored.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Store {
    Raw,
    Lz4,
    Zstd,
}

/// One entry of a container.
pub(crate) fn entry(kind: u16, arch: u32, flags: u64, content: &[u8], store: Store) -> Vec<u8> {
    let (packed, flag) = match store {
        Store::Raw => (content.to_vec(), 0),
        Store::Lz4 => (lz4_flex::block::compress(content), 0x2000),
        Store::Zstd => (zstd::bulk::compress(content, 3).unwrap(), 0x8000),
    };
    let compressed = if store == Store::Raw { 0 } else { packed.len() as u32 };
    let size = packed.len().next_multiple_of(8);
    let mut bytes = head(kind, 64, size as u64, compressed, 0, arch, flags | flag, content.len() as u64);
    bytes.extend(packed);
    bytes.resize(64 + size, 0);
    bytes
}

#[allow(clippy::too_many_arguments, reason = "the fields of the format in their order")]
fn head(
    kind: u16,
    second: u32,
    size: u64,
    compressed: u32,
    options: u32,
    arch: u32,
    flags: u64,
    unpacked: u64,
) -> Vec<u8> {
    let mut bytes = Vec::new();
    bytes.extend(kind.to_le_bytes());
    bytes.extend(0x0101u16.to_le_bytes());
    bytes.extend(second.to_le_bytes());
    bytes.extend(size.to_le_bytes());
    bytes.extend(compressed.to_le_bytes());
    bytes.extend(options.to_le_bytes());
    bytes.extend([8, 0, 1, 0]);
    bytes.extend(arch.to_le_bytes());
    bytes.extend([0; 8]);
    bytes.extend(flags.to_le_bytes());
    bytes.extend([0; 8]);
    bytes.extend(unpacked.to_le_bytes());
    bytes
}

/// Kind, arch, flags, options, content.
type Member<'a> = (u16, u32, u64, &'a [u8], &'a [u8]);

/// A concatenated group.
pub(crate) fn group(members: &[Member<'_>]) -> Vec<u8> {
    let mut all = Vec::new();
    let mut heads = Vec::new();
    for (kind, arch, flags, options, content) in members {
        let at = if options.is_empty() { 0 } else { 64 };
        heads.extend(head(*kind, all.len() as u32, content.len() as u64, 0, at, *arch, *flags, 0));
        if !options.is_empty() {
            heads.extend(72u32.to_le_bytes());
            heads.extend((options.len() as u32).to_le_bytes());
            heads.push(0);
            heads.extend(*options);
            heads.resize(heads.len().next_multiple_of(8), 0);
        }
        all.extend(*content);
    }
    let packed = zstd::bulk::compress(&all, 3).unwrap();
    let size = packed.len().next_multiple_of(8);
    let header_size = (64 + 8 + heads.len()) as u32;
    let mut bytes = head(0x100, header_size, size as u64, packed.len() as u32, 64, 0, 0x8011, all.len() as u64);
    bytes.extend((members.len() as u32).to_le_bytes());
    bytes.extend((8 + heads.len() as u32).to_le_bytes());
    bytes.extend(heads);
    bytes.extend(packed);
    bytes.resize(header_size as usize + size, 0);
    bytes
}

/// A container of entries.
pub(crate) fn container(entries: &[Vec<u8>]) -> Vec<u8> {
    let body = entries.concat();
    let mut bytes = vec![0x50, 0xed, 0x55, 0xba, 1, 0, 16, 0];
    bytes.extend((body.len() as u64).to_le_bytes());
    bytes.extend(body);
    bytes
}

/// A cubin with the kernel `k(u32, u64)`: ABI version, flags of the header, the `.nv.compat` bytes, and
/// the arguments that its note gives, if it has one.
pub(crate) fn cubin(abi: u8, flags: u32, compat: &[u8], arguments: Option<&str>) -> Vec<u8> {
    let mut sections: Vec<(&str, u32, Vec<u8>, u32, u32)> = vec![
        ("", 0, Vec::new(), 0, 0),
        (".shstrtab", 3, Vec::new(), 0, 0),
        (".strtab", 3, b"\0k\0device\0".to_vec(), 0, 0),
        (".symtab", 2, symbols(), 2, 0),
        (".nv.info", 0x7000_0000, [attribute(0x2f, &[1, 24]), attribute(0x12, &[1, 16])].concat(), 3, 0),
        (".nv.info.k", 0x7000_0000, kernel_info(), 3, 6),
        (".text.k", 1, vec![0; 128], 3, 24 << 24),
        (".nv.shared.k", 8, vec![0; 512], 0, 6),
        (".nv.constant0.k", 1, vec![0; 368], 0, 6),
    ];
    if !compat.is_empty() {
        sections.push((".nv.compat", 0x7000_0086, compat.to_vec(), 0, 0));
    }
    if let Some(arguments) = arguments {
        sections.push((".note.nv.tkinfo", 7, note(arguments), 0, 0));
    }
    assemble(abi, flags, sections)
}

fn assemble(abi: u8, flags: u32, mut sections: Vec<(&str, u32, Vec<u8>, u32, u32)>) -> Vec<u8> {
    let mut names = vec![0];
    let mut name_at = Vec::new();
    for (name, ..) in &sections {
        name_at.push(if name.is_empty() { 0 } else { names.len() as u32 });
        names.extend(name.as_bytes());
        names.push(0);
    }
    sections[1].2 = names;
    let mut bytes = vec![0; 64];
    let mut headers = Vec::new();
    for ((_, kind, content, link, info), name) in sections.iter().zip(&name_at) {
        bytes.resize(bytes.len().next_multiple_of(8), 0);
        for value in [*name, *kind] {
            headers.extend(value.to_le_bytes());
        }
        for value in [0, 0, bytes.len() as u64, content.len() as u64] {
            headers.extend(value.to_le_bytes());
        }
        headers.extend(link.to_le_bytes());
        headers.extend(info.to_le_bytes());
        headers.extend([8u64, 24].map(u64::to_le_bytes).concat());
        if *kind != 8 {
            bytes.extend(content);
        }
    }
    bytes.resize(bytes.len().next_multiple_of(8), 0);
    let at = bytes.len() as u64;
    bytes.extend(headers);
    bytes[..9].copy_from_slice(&[0x7f, b'E', b'L', b'F', 2, 1, 1, 0x41, abi]);
    bytes[16..20].copy_from_slice(&[2, 0, 190, 0]);
    bytes[40..48].copy_from_slice(&at.to_le_bytes());
    bytes[48..52].copy_from_slice(&flags.to_le_bytes());
    bytes[58..64].copy_from_slice(&[64, 0, sections.len() as u8, 0, 1, 0]);
    bytes
}

fn symbols() -> Vec<u8> {
    let mut bytes = vec![0; 24];
    // A kernel (the entry bit is set) and a device function.
    for (name, other) in [(1u32, 0x10), (3, 0)] {
        bytes.extend(name.to_le_bytes());
        bytes.extend([0x12, other, 6, 0]);
        bytes.extend([0; 8]);
        bytes.extend(128u64.to_le_bytes());
    }
    bytes
}

fn attribute(number: u8, words: &[u32]) -> Vec<u8> {
    let mut bytes = vec![4, number];
    bytes.extend((words.len() as u16 * 4).to_le_bytes());
    words.iter().for_each(|word| bytes.extend(word.to_le_bytes()));
    bytes
}

fn kernel_info() -> Vec<u8> {
    [
        attribute(0x17, &[0, 1 | 8 << 16, 8 << 18 | 0x1f000]),
        attribute(0x17, &[0, 0, 4 << 18 | 0x1f000]),
        vec![3, 0x1b, 0xff, 0, 2, 0x4c, 1, 0],
        attribute(0x0a, &[1, 16 << 16 | 0x160]),
        attribute(0x05, &[256, 2, 1]),
    ]
    .concat()
}

fn note(arguments: &str) -> Vec<u8> {
    let texts = format!("\0ptxas\0Cuda compilation tools, release 13.0, V13.0.88\0build\0{arguments}\0");
    let at = |text: &str| texts.find(text).unwrap() as u32;
    let mut content = Vec::new();
    for value in [2, 0, at("ptxas"), at("Cuda"), at("build"), at(arguments)] {
        content.extend(value.to_le_bytes());
    }
    content.extend(texts.as_bytes());
    content.resize(content.len().next_multiple_of(4), 0);
    let mut bytes = Vec::new();
    for value in [12, content.len() as u32, 2000] {
        bytes.extend(value.to_le_bytes());
    }
    bytes.extend(b"NVIDIA Corp\0");
    bytes.extend(content);
    bytes
}

/// A bundle of clang with an empty entry for the host and some bytes for each other id.
pub(crate) fn offload_bundle(ids: &[&str]) -> Vec<u8> {
    let table: usize = 32 + ids.iter().map(|id| 24 + id.len()).sum::<usize>();
    let mut bytes = b"__CLANG_OFFLOAD_BUNDLE__".to_vec();
    bytes.extend((ids.len() as u64).to_le_bytes());
    let mut content = Vec::new();
    for id in ids {
        let size = if id.starts_with("host") { 0 } else { 100 };
        for value in [table + content.len(), size, id.len()] {
            bytes.extend((value as u64).to_le_bytes());
        }
        bytes.extend(id.as_bytes());
        content.extend(vec![1; size]);
    }
    bytes.extend(content);
    bytes
}
