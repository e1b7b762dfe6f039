//! One container without some of its entries.

use super::pick::Picked;
use super::plan::Part;
use crate::budget::Budget;
use crate::elf::bytes::Bytes;
use crate::gpu::containers::fatbin::{Fatbin, Unpacker};
use crate::gpu::{CodeError, CodeKind, FatbinEntry};

/// Bytes of an entry's own header in its shortest form.
const ENTRY_SIZE: usize = 64;
const FLAG_LZ4: u64 = 0x2000;
const FLAG_ZSTD: u64 = 0x8000;

/// What remains of a container: parts in order, with the container's own header first.
pub(super) struct Remains {
    pub(super) parts: Vec<Part>,
    pub(super) size: u64,
}

/// The container at `container.at` of `bytes` with the picked entries only; `base` is the file offset of `bytes`.
///
/// # Errors
/// A group of entries cannot be taken apart.
pub(super) fn remains(
    bytes: &[u8],
    base: u64,
    container: &Fatbin<'_>,
    picked: &Picked,
    budget: &Budget,
) -> Result<Remains, CodeError> {
    let file = Bytes(bytes);
    let damaged = || CodeError::damaged(format!("the fatbin container at {:#x} changed", base + container.at));
    let header_size = u64::from(file.u16(container.at + 6).ok_or_else(damaged)?);
    let mut parts = Vec::new();
    let mut size = 0;
    let mut index = 0;
    while let Some(entry) = container.entries.get(index) {
        // Members of a group have the position of their group.
        let members = container.entries[index..].iter().take_while(|other| other.at == entry.at).count().max(1);
        let range = index..index + members;
        index = range.end;
        let stays = &picked.stays[range.clone()];
        if !stays.contains(&true) {
            continue;
        }
        let whole = entry_size(file, entry.at).ok_or_else(damaged)?;
        if stays.contains(&false) {
            let mut unpacker = Unpacker::new(budget);
            for (member, _) in container.entries[range].iter().zip(stays).filter(|(_, stays)| **stays) {
                let bytes = alone(member, &mut unpacker)?;
                let damaged = || CodeError::damaged("a group without an end");
                budget.keep_text(bytes.len()).ok_or_else(|| CodeError::stopped(budget, damaged))?;
                size += bytes.len() as u64;
                parts.push(Part::Bytes(bytes));
            }
        } else {
            match parts.last_mut() {
                Some(Part::Copy { from, size: length }) if *from + *length == base + entry.at => *length += whole,
                _ => parts.push(Part::Copy { from: base + entry.at, size: whole }),
            }
            size += whole;
        }
    }
    let mut header = file.get(container.at, header_size).ok_or_else(damaged)?.to_vec();
    header[8..16].copy_from_slice(&size.to_le_bytes());
    parts.insert(0, Part::Bytes(header));
    Ok(Remains { parts, size: size + header_size })
}

fn entry_size(file: Bytes<'_>, at: u64) -> Option<u64> {
    u64::from(file.u32(at.checked_add(4)?)?).checked_add(file.u64(at + 8)?)
}

/// A member of a group as an entry of its own, compressed as groups are.
fn alone<'a>(member: &FatbinEntry<'a>, unpacker: &mut Unpacker<'a>) -> Result<Vec<u8>, CodeError> {
    let content = unpacker.unpack(member)?;
    let packed = zstd::bulk::compress(content, zstd::DEFAULT_COMPRESSION_LEVEL)
        .map_err(|error| CodeError::damaged(format!("a member of a group: {error}")))?;
    let (stored, compressed) = if packed.len() < content.len() {
        let size = u32::try_from(packed.len()).map_err(|_| CodeError::Unsupported("a member of more than 4 GiB"))?;
        (packed, size)
    } else {
        (content.to_vec(), 0)
    };
    let kind: u16 = match member.kind {
        CodeKind::Ptx => 1,
        CodeKind::Sass => 2,
        CodeKind::LtoIr => 8,
        CodeKind::Other(number) => number,
        CodeKind::Spirv | CodeKind::Wgsl | CodeKind::Offload => {
            return Err(CodeError::Unsupported("an entry that no fatbin holds"));
        }
    };
    let flags = member.flags & !(FLAG_LZ4 | FLAG_ZSTD) | if compressed > 0 { FLAG_ZSTD } else { 0 };
    let payload = stored.len().next_multiple_of(8);
    // The name and the options of the compiler stand behind the fixed header.
    let text = member.name.as_deref().unwrap_or_default();
    let head = (ENTRY_SIZE + if text.is_empty() { 0 } else { text.len() + 1 }).next_multiple_of(8);
    let mut bytes = vec![0; head];
    let arch = member.capability.map_or(0, |capability| capability.number());
    bytes[0..2].copy_from_slice(&kind.to_le_bytes());
    bytes[2..4].copy_from_slice(&0x0101u16.to_le_bytes());
    bytes[4..8].copy_from_slice(&(head as u32).to_le_bytes());
    bytes[8..16].copy_from_slice(&(payload as u64).to_le_bytes());
    bytes[16..20].copy_from_slice(&compressed.to_le_bytes());
    bytes[24..26].copy_from_slice(&member.version.1.to_le_bytes());
    bytes[26..28].copy_from_slice(&member.version.0.to_le_bytes());
    bytes[28..32].copy_from_slice(&arch.to_le_bytes());
    if !text.is_empty() {
        bytes[32..36].copy_from_slice(&(ENTRY_SIZE as u32).to_le_bytes());
        bytes[36..40].copy_from_slice(&(text.len() as u32).to_le_bytes());
        bytes[ENTRY_SIZE..ENTRY_SIZE + text.len()].copy_from_slice(text.as_bytes());
    }
    bytes[40..48].copy_from_slice(&flags.to_le_bytes());
    if compressed > 0 {
        bytes[56..64].copy_from_slice(&(content.len() as u64).to_le_bytes());
    }
    bytes.extend_from_slice(&stored);
    bytes.resize(head + payload, 0);
    Ok(bytes)
}
