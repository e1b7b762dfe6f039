//! Bundles of clang, in which HIP keeps its device code: which targets they hold.
//!
//! Forms: "Clang Offload Bundler" in clang's documentation, and for compressed ones LLVM's
//! `OffloadBundle.cpp`. The code inside is AMD's and is listed, not read.

use std::io::Read;

use serde::{Deserialize, Serialize};

use crate::budget::Budget;
use crate::elf::bytes::Bytes;
use crate::gpu::CodeError;

/// First bytes of a bundle, and beginning of section names that hold one piece each (`-fgpu-rdc`).
pub(in crate::gpu) const MAGIC: &[u8] = b"__CLANG_OFFLOAD_BUNDLE__";
/// First bytes of a compressed bundle.
const COMPRESSED: &[u8] = b"CCOB";
/// Of a compressed bundle, so much is unpacked: its table comes first.
const MOST_TABLE: u64 = 1 << 20;
/// Bundles whose stated size is more than this many times that of their bytes, and more than a mebibyte, are bombs.
const MOST_EXPANSION: u64 = 512;

/// One bundle.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OffloadBundle {
    /// Position in the bytes that were read.
    pub at: u64,
    /// Bytes in the file.
    pub size: u64,
    /// Whether it is stored compressed.
    pub compressed: bool,
    /// Entries in the order of the bundle, that of the host among them.
    pub entries: Vec<OffloadEntry>,
}

/// One entry of a bundle.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OffloadEntry {
    /// Kind and target: `hipv4-amdgcn-amd-amdhsa--gfx90a:xnack-`, `host-x86_64-unknown-linux-gnu-`.
    pub id: String,
    /// Position in the bundle, unpacked.
    pub offset: u64,
    /// Bytes, unpacked.
    pub size: u64,
}

impl OffloadEntry {
    /// Whether it stands for the host; such an entry is empty.
    pub fn is_host(&self) -> bool {
        self.id.starts_with("host")
    }

    /// The device: `gfx90a:xnack-`; the whole id where it names none.
    pub fn device(&self) -> &str {
        device(&self.id)
    }
}

/// The device that an entry's id names.
pub(in crate::gpu) fn device(id: &str) -> &str {
    match id.rsplit_once("--") {
        Some((_, device)) if !device.is_empty() => device,
        _ => id,
    }
}

/// Whether the bytes begin with a bundle.
pub fn is_offload_bundle(bytes: &[u8]) -> bool {
    bytes.starts_with(MAGIC) || bytes.starts_with(COMPRESSED)
}

/// Reads the bundles that stand one after another, with padding between them.
///
/// # Errors
/// Something else stands between them, a table reaches past the end, or an unknown compression.
pub fn offload_bundles(bytes: &[u8]) -> Result<Vec<OffloadBundle>, CodeError> {
    offload_bundles_within(bytes, &Budget::of(bytes))
}

/// As [`offload_bundles`], within a budget that others share.
pub(in crate::gpu) fn offload_bundles_within(bytes: &[u8], budget: &Budget) -> Result<Vec<OffloadBundle>, CodeError> {
    let mut bundles = Vec::new();
    let mut at = 0;
    while let Some(padding) = bytes[at..].iter().position(|byte| *byte != 0) {
        at += padding;
        let rest = &bytes[at..];
        let mut bundle = if rest.starts_with(MAGIC) {
            plain(rest, budget)?
        } else if rest.starts_with(COMPRESSED) {
            compressed(rest, budget)?
        } else {
            return Err(CodeError::damaged(format!("no offload bundle at {at:#x}")));
        };
        bundle.at = at as u64;
        at += bundle.size as usize;
        bundles.push(bundle);
    }
    Ok(bundles)
}

fn cut() -> CodeError {
    CodeError::damaged("an offload bundle reaches past the end")
}

/// A bundle as it is: ends where its last entry does.
fn plain(bytes: &[u8], budget: &Budget) -> Result<OffloadBundle, CodeError> {
    let (entries, table) = table(bytes, bytes.len() as u64, budget)?;
    let end = entries.iter().map(|entry| entry.offset + entry.size).max().unwrap_or(0);
    Ok(OffloadBundle { at: 0, size: end.max(table), compressed: false, entries })
}

/// The table at the start of a bundle of `size` bytes, and where it ends.
fn table(bytes: &[u8], size: u64, budget: &Budget) -> Result<(Vec<OffloadEntry>, u64), CodeError> {
    let file = Bytes(bytes);
    let mut at = MAGIC.len() as u64;
    let count = file.u64(at).ok_or_else(cut)?;
    at += 8;
    let mut entries = Vec::new();
    for _ in 0..count {
        let field = |index: u64| file.u64(at + 8 * index).ok_or_else(cut);
        let (offset, length, id_size) = (field(0)?, field(1)?, field(2)?);
        let id = file.get(at + 24, id_size).ok_or_else(cut)?;
        offset.checked_add(length).filter(|end| *end <= size).ok_or_else(cut)?;
        budget.keep_text(96 + id.len()).ok_or_else(|| CodeError::stopped(budget, cut))?;
        entries.push(OffloadEntry { id: String::from_utf8_lossy(id).into_owned(), offset, size: length });
        at += 24 + id_size;
    }
    Ok((entries, at))
}

/// Behind `CCOB`: version, method (0 zlib, 1 zstd), from version 2 on the size of all, the size when unpacked, a
/// hash. Version 3 has wider sizes.
fn compressed(bytes: &[u8], budget: &Budget) -> Result<OffloadBundle, CodeError> {
    let file = Bytes(bytes);
    let version = file.u16(4).ok_or_else(cut)?;
    let method = file.u16(6).ok_or_else(cut)?;
    let narrow = |at: u64| file.u32(at).map(u64::from).ok_or_else(cut);
    let wide = |at: u64| file.u64(at).ok_or_else(cut);
    let (size, unpacked, header) = match version {
        1 => (file.len(), narrow(8)?, 20),
        2 => (narrow(8)?, narrow(12)?, 24),
        3 => (wide(8)?, wide(16)?, 32),
        _ => return Err(CodeError::Unsupported("a compressed offload bundle of this version")),
    };
    let packed = size.checked_sub(header).and_then(|packed| file.get(header, packed)).ok_or_else(cut)?;
    if unpacked > (1 << 20) + MOST_EXPANSION * packed.len() as u64 {
        return Err(CodeError::damaged(format!("an offload bundle that unpacks to {unpacked} bytes")));
    }
    let broken = |error: std::io::Error| CodeError::damaged(format!("a compressed offload bundle: {error}"));
    let wanted = unpacked.min(MOST_TABLE);
    // The reader itself needs some room, whatever it reads.
    budget.work(100_000 + 2 * wanted).ok_or_else(|| CodeError::stopped(budget, cut))?;
    let mut head = Vec::new();
    match method {
        0 => flate2::read::ZlibDecoder::new(packed).take(wanted).read_to_end(&mut head).map_err(broken)?,
        1 => {
            let reader = zstd::stream::read::Decoder::with_buffer(packed).map_err(broken)?;
            reader.take(wanted).read_to_end(&mut head).map_err(broken)?
        }
        _ => return Err(CodeError::Unsupported("an offload bundle in an unknown compression")),
    };
    if !head.starts_with(MAGIC) {
        return Err(CodeError::damaged("a compressed offload bundle that holds none"));
    }
    let (entries, _) = table(&head, unpacked, budget)?;
    Ok(OffloadBundle { at: 0, size, compressed: true, entries })
}

#[cfg(test)]
#[path = "offload_tests.rs"]
mod tests;
