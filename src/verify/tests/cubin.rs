//! Cubins, fatbins and PTX for tests, as the readers know them: nothing here runs on a device.

use crate::arch::Capability;
use crate::gpu::{KernelSignature, Param};

/// A kernel with parameters of (offset, bytes).
pub(super) fn kernel(name: &str, params: &[(u32, u32)]) -> KernelSignature {
    let params = params.iter().map(|&(offset, size)| Param { offset, size }).collect();
    KernelSignature::new(name, params)
}

struct Section {
    name: String,
    kind: u32,
    link: u32,
    info: u32,
    entry: u64,
    bytes: Vec<u8>,
}

fn section(name: &str, kind: u32, bytes: Vec<u8>) -> Section {
    Section { name: name.to_owned(), kind, link: 0, info: 0, entry: 0, bytes }
}

/// A cubin of ABI 7 (CUDA 12 and before): number in the low byte of `e_flags`, `a` as 0x800. A
/// kernel is a global function with the entry bit, and its parameters stand in `.nv.info.<name>`.
pub(super) fn cubin(capability: Capability, kernels: &[KernelSignature], relocatable: bool) -> Vec<u8> {
    // Where parameters begin in the constant bank, as nvcc 13.0 lays them out.
    let begin: u32 = match capability.major {
        ..9 => 0x160,
        9 => 0x210,
        _ => 0x380,
    };
    let exact = if capability.plain() == capability { 0 } else { 0x800 };
    let mut names = vec![0];
    let mut symbols = vec![0; 24];
    let mut sections = vec![section("", 0, Vec::new())];
    for (index, kernel) in kernels.iter().enumerate() {
        symbols.extend(u32::try_from(names.len()).unwrap().to_le_bytes());
        // STB_GLOBAL and STT_FUNC, then STO_CUDA_ENTRY, then the section.
        symbols.extend([0x12, 0x10]);
        symbols.extend(u16::try_from(2 * index + 1).unwrap().to_le_bytes());
        symbols.extend([0; 16]);
        names.extend(kernel.name.bytes().chain([0]));
        sections.push(section(&format!(".text.{}", kernel.name), 1, vec![0; 16]));
        let mut info = vec![4, 0x0a, 8, 0, 0, 0, 0, 0];
        info.extend(begin.to_le_bytes());
        for (ordinal, param) in kernel.params.iter().enumerate() {
            info.extend([4, 0x17, 12, 0]);
            info.extend(0u32.to_le_bytes());
            info.extend(u16::try_from(ordinal).unwrap().to_le_bytes());
            info.extend(u16::try_from(param.offset).unwrap().to_le_bytes());
            info.extend((param.size << 18).to_le_bytes());
        }
        sections.push(section(&format!(".nv.info.{}", kernel.name), 0x7000_0000, info));
    }
    let strings = u32::try_from(sections.len()).unwrap();
    sections.push(section(".strtab", 3, names));
    sections.push(Section { link: strings, info: 1, entry: 24, ..section(".symtab", 2, symbols) });
    elf(exact | capability.number(), if relocatable { 1 } else { 2 }, sections)
}

fn elf(flags: u32, kind: u16, mut sections: Vec<Section>) -> Vec<u8> {
    let mut names = Vec::new();
    let mut positions = Vec::new();
    sections.push(section(".shstrtab", 3, Vec::new()));
    for section in &sections {
        positions.push(u32::try_from(names.len()).unwrap());
        names.extend(section.name.bytes().chain([0]));
    }
    sections.last_mut().unwrap().bytes = names;
    let mut file = vec![0; 64];
    let mut headers = Vec::new();
    for (section, name) in sections.iter().zip(positions) {
        file.resize(file.len().next_multiple_of(8), 0);
        headers.extend(name.to_le_bytes());
        headers.extend(section.kind.to_le_bytes());
        headers.extend([0; 16]);
        headers.extend((file.len() as u64).to_le_bytes());
        headers.extend((section.bytes.len() as u64).to_le_bytes());
        headers.extend(section.link.to_le_bytes());
        headers.extend(section.info.to_le_bytes());
        headers.extend(8u64.to_le_bytes());
        headers.extend(section.entry.to_le_bytes());
        file.extend(&section.bytes);
    }
    file.resize(file.len().next_multiple_of(8), 0);
    let table = file.len() as u64;
    file.extend(headers);
    file[..9].copy_from_slice(b"\x7fELF\x02\x01\x01\x33\x07");
    file[16..18].copy_from_slice(&kind.to_le_bytes());
    file[18..20].copy_from_slice(&190u16.to_le_bytes());
    file[20] = 1;
    file[40..48].copy_from_slice(&table.to_le_bytes());
    file[48..52].copy_from_slice(&flags.to_le_bytes());
    let count = u16::try_from(sections.len()).unwrap();
    for (at, value) in [(52, 64), (54, 56), (58, 64), (60, count), (62, count - 1)] {
        file[at..at + 2].copy_from_slice(&u16::to_le_bytes(value));
    }
    file
}

/// PTX text. Parameters are bytes with the alignment of their size, so offsets follow from sizes.
pub(super) fn ptx(capability: Capability, kernels: &[KernelSignature]) -> String {
    let mut text = format!(".version 9.0\n.target {}\n.address_size 64\n", capability.sm());
    for kernel in kernels {
        let params =
            kernel.params.iter().enumerate().map(|(index, param)| {
                format!("\n\t.param .align {0} .b8 {1}_param_{index}[{0}]", param.size, kernel.name)
            });
        let params = params.collect::<Vec<_>>().join(",");
        text.push_str(&format!("\n.visible .entry {}({params}\n)\n{{\n\tret;\n}}\n", kernel.name));
    }
    text
}

/// A fatbin with one raw entry for a cubin.
pub(super) fn fatbin(capability: Capability, cubin: &[u8]) -> Vec<u8> {
    let size = cubin.len().next_multiple_of(8);
    let mut entry = vec![0; 64];
    entry[0..2].copy_from_slice(&2u16.to_le_bytes());
    entry[2..4].copy_from_slice(&0x0101u16.to_le_bytes());
    entry[4..8].copy_from_slice(&64u32.to_le_bytes());
    entry[8..16].copy_from_slice(&(size as u64).to_le_bytes());
    entry[24..26].copy_from_slice(&7u16.to_le_bytes());
    entry[26..28].copy_from_slice(&1u16.to_le_bytes());
    entry[28..32].copy_from_slice(&capability.number().to_le_bytes());
    entry[40..48].copy_from_slice(&0x11u64.to_le_bytes());
    entry.extend(cubin);
    entry.resize(64 + size, 0);
    let mut container = vec![0x50, 0xed, 0x55, 0xba, 1, 0, 16, 0];
    container.extend((entry.len() as u64).to_le_bytes());
    container.extend(entry);
    container
}
