//! Fatbins: containers of device code, one entry per target. Listing touches only the headers.
//!
//! The format is not documented by NVIDIA; the fields were established on the output of CUDA 11.8 to
//! 13.5 and on vendor libraries, with `cuobjdump` as the second reader.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::arch::{Capability, Suffix};
use crate::budget::Budget;
use crate::elf::bytes::{Bytes, round_up};
use crate::gpu::CodeError;

/// First four bytes of a container, little-endian.
pub const CONTAINER_MAGIC: u32 = 0xba55_ed50;
/// Sections that hold containers: linked and relocatable ones.
pub(in crate::gpu) const SECTIONS: [&str; 2] = [".nv_fatbin", "__nv_relfatbin"];
/// First eight bytes of a container: magic, version 1, header size 16.
pub(super) const CONTAINER_START: [u8; 8] = [0x50, 0xed, 0x55, 0xba, 1, 0, 16, 0];

const ENTRY_SIZE: u64 = 64;
const FLAG_DEBUG: u64 = 0x2;
const FLAG_LZ4: u64 = 0x2000;
const FLAG_ZSTD: u64 = 0x8000;
const FLAG_EXACT: u64 = 0x10_0000;
const FLAG_FAMILY: u64 = 0x20_0000;
/// Code that unpacks to more than this many times its size, and to more than a mebibyte, is a bomb:
/// compilers reach about 20, and groups of many capabilities about 30.
const MOST_EXPANSION: u64 = 512;

/// What an entry holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CodeKind {
    /// PTX text, compiled by the driver.
    Ptx,
    /// Machine code: a cubin.
    Sass,
    /// Input of the link-time optimiser.
    LtoIr,
    /// A SPIR-V module: a file of its own, never an entry of a fatbin.
    Spirv,
    /// A shader for WebGPU in WGSL: a file of its own.
    Wgsl,
    /// Code for devices of another vendor, in a bundle of clang (HIP).
    Offload,
    /// A kind that simpack does not know, by its number.
    Other(u16),
}

impl From<u16> for CodeKind {
    fn from(kind: u16) -> Self {
        match kind {
            1 => Self::Ptx,
            2 => Self::Sass,
            8 => Self::LtoIr,
            other => Self::Other(other),
        }
    }
}

/// One entry of a container.
#[derive(Debug, Clone)]
pub struct FatbinEntry<'a> {
    /// What it holds.
    pub kind: CodeKind,
    /// For which capability; `None` if the number makes no sense.
    pub capability: Option<Capability>,
    /// PTX: version of the instruction set. SASS: version of the cubin's ABI (1.7, 1.8).
    pub version: (u16, u16),
    /// Made with device debug information.
    pub debug: bool,
    /// All flags.
    pub flags: u64,
    /// Name of the source, where the compiler left it.
    pub name: Option<String>,
    /// Position of the entry in the bytes that were read.
    pub at: u64,
    /// Bytes that it takes in the file; of a member of a group, its unpacked bytes.
    pub stored_size: u64,
    /// Bytes when unpacked.
    pub unpacked_size: u64,
    content: Content<'a>,
}

#[derive(Debug, Clone)]
enum Content<'a> {
    Raw(&'a [u8]),
    Packed(Packed<'a>),
    /// A member of a concatenated group: a part of what the group unpacks to.
    Member {
        group: Packed<'a>,
        offset: u64,
        size: u64,
    },
}

#[derive(Debug, Clone, Copy)]
struct Packed<'a> {
    bytes: &'a [u8],
    flags: u64,
    unpacked: u64,
}

impl<'a> FatbinEntry<'a> {
    /// Whether it is stored compressed.
    pub fn is_compressed(&self) -> bool {
        !matches!(self.content, Content::Raw(_))
    }

    /// Its bytes as they are stored: those of its group for a member.
    pub(in crate::gpu) fn stored(&self) -> &'a [u8] {
        match &self.content {
            Content::Raw(bytes) => bytes,
            Content::Packed(packed) | Content::Member { group: packed, .. } => packed.bytes,
        }
    }

    /// Whether both are members of one group, which is unpacked once for all of them.
    pub(in crate::gpu) fn shares_group(&self, other: &Self) -> bool {
        match (&self.content, &other.content) {
            (Content::Member { group: one, .. }, Content::Member { group: other, .. }) => {
                std::ptr::eq(one.bytes, other.bytes)
            }
            _ => false,
        }
    }

    /// The code itself, unpacked where needed.
    ///
    /// # Errors
    /// An unknown compression, damaged data, or an announced size that no compiler makes.
    pub fn unpack(&self) -> Result<Vec<u8>, CodeError> {
        let budget = Budget::for_size(self.stored_size);
        Unpacker::new(&budget).unpack(self).map(<[u8]>::to_vec)
    }
}

/// Unpacks one entry after another in the same room, and a group once for all of its members.
pub(in crate::gpu) struct Unpacker<'a> {
    budget: Budget,
    room: FreedSpace,
    /// The packed bytes of the group that was unpacked last.
    group: Option<&'a [u8]>,
    group_room: FreedSpace,
}

/// Unpacked bytes, and what unpacking takes.
#[derive(Default)]
struct FreedSpace {
    bytes: Vec<u8>,
    zstd: Option<zstd::bulk::Decompressor<'static>>,
}

impl<'a> Unpacker<'a> {
    /// Unpacks what the budget allows.
    pub(in crate::gpu) fn new(budget: &Budget) -> Self {
        let room = FreedSpace::default;
        Self { budget: budget.clone(), room: room(), group: None, group_room: room() }
    }

    /// As [`FatbinEntry::unpack`].
    pub(in crate::gpu) fn unpack(&mut self, entry: &FatbinEntry<'a>) -> Result<&[u8], CodeError> {
        match &entry.content {
            Content::Raw(bytes) => Ok(bytes),
            Content::Packed(packed) => packed.unpack(&mut self.room, &self.budget),
            Content::Member { group, offset, size } => {
                if !self.group.is_some_and(|known| std::ptr::eq(known, group.bytes)) {
                    self.group = None;
                    group.unpack(&mut self.group_room, &self.budget)?;
                    self.group = Some(group.bytes);
                }
                let member = Bytes(&self.group_room.bytes).get(*offset, *size);
                member.ok_or_else(|| CodeError::damaged("a member of a group reaches past its end"))
            }
        }
    }
}

impl Packed<'_> {
    fn unpack<'r>(&self, room: &'r mut FreedSpace, budget: &Budget) -> Result<&'r [u8], CodeError> {
        if self.unpacked > (1 << 20) + MOST_EXPANSION * self.bytes.len() as u64 {
            return Err(CodeError::damaged(format!("device code that unpacks to {} bytes", self.unpacked)));
        }
        // The room is used again and again: only what it grows by is new.
        let grown = self.unpacked.saturating_sub(room.bytes.capacity() as u64);
        let damaged = || CodeError::damaged("device code without an end");
        budget.work(self.unpacked).ok_or_else(|| CodeError::stopped(budget, damaged))?;
        budget.keep(grown).ok_or_else(|| CodeError::stopped(budget, damaged))?;
        let size = self.unpacked as usize;
        if self.flags & FLAG_ZSTD != 0 {
            self.unpack_zstd(size, room)?;
        } else if self.flags & FLAG_LZ4 != 0 {
            self.unpack_lz4(size, room)?;
        } else if self.bytes.len() == size {
            // Groups are packed as a whole only if that helps.
            self.bytes.clone_into(&mut room.bytes);
        } else {
            return Err(CodeError::Unsupported("device code in an unknown compression"));
        }
        Ok(&room.bytes)
    }

    fn unpack_lz4(&self, size: usize, room: &mut FreedSpace) -> Result<(), CodeError> {
        // A block of LZ4 unpacks to at most 255 times its size.
        if size / 255 > self.bytes.len() {
            return Err(CodeError::damaged("LZ4 device code with an impossible size"));
        }
        match room.bytes.len() < size {
            // Fresh zeros cost nothing until they are written over.
            true => room.bytes = vec![0; size],
            false => room.bytes.truncate(size),
        }
        let count = lz4_flex::block::decompress_into(self.bytes, &mut room.bytes)
            .map_err(|error| CodeError::damaged(format!("LZ4 device code: {error}")))?;
        if count == size { Ok(()) } else { Err(CodeError::damaged("LZ4 device code of another size")) }
    }

    fn unpack_zstd(&self, size: usize, room: &mut FreedSpace) -> Result<(), CodeError> {
        let broken = |error: std::io::Error| CodeError::damaged(format!("zstd device code: {error}"));
        // Padding may follow the frame.
        let frame = zstd::zstd_safe::find_frame_compressed_size(self.bytes).ok();
        let frame = frame.and_then(|size| self.bytes.get(..size));
        let frame = frame.ok_or_else(|| CodeError::damaged("zstd device code without a whole frame"))?;
        room.bytes.clear();
        room.bytes
            .try_reserve_exact(size)
            .map_err(|_| CodeError::damaged(format!("device code that unpacks to {size} bytes")))?;
        let zstd = match &mut room.zstd {
            Some(zstd) => zstd,
            none => none.insert(zstd::bulk::Decompressor::new().map_err(broken)?),
        };
        zstd.decompress_to_buffer(frame, &mut room.bytes).map_err(broken)?;
        if room.bytes.len() == size { Ok(()) } else { Err(CodeError::damaged("zstd device code of another size")) }
    }
}

/// One container.
#[derive(Debug, Clone)]
pub struct Fatbin<'a> {
    /// Position in the bytes that were read.
    pub at: u64,
    /// Bytes with its header.
    pub size: u64,
    /// Entries, members of groups in the place of their group.
    pub entries: Vec<FatbinEntry<'a>>,
}

/// Whether the bytes begin with a container.
pub fn is_fatbin(bytes: &[u8]) -> bool {
    bytes.starts_with(&CONTAINER_MAGIC.to_le_bytes())
}

/// Reads the containers that stand one after another, with padding between them.
///
/// # Errors
/// A container or an entry reaches past the end.
pub fn fatbins(bytes: &[u8]) -> Result<Vec<Fatbin<'_>>, CodeError> {
    fatbins_within(bytes, &Budget::of(bytes))
}

/// As [`fatbins`], within a budget that others share.
pub(in crate::gpu) fn fatbins_within<'a>(bytes: &'a [u8], budget: &Budget) -> Result<Vec<Fatbin<'a>>, CodeError> {
    Fatbins::new(bytes, budget).collect()
}

/// Containers that stand one after another, with padding between them, each read when it is asked for. Nothing
/// follows an error.
pub(in crate::gpu) struct Fatbins<'a, 'b> {
    bytes: &'a [u8],
    at: u64,
    budget: &'b Budget,
}

impl<'a, 'b> Fatbins<'a, 'b> {
    pub(in crate::gpu) fn new(bytes: &'a [u8], budget: &'b Budget) -> Self {
        Self { bytes, at: 0, budget }
    }
}

impl<'a> Iterator for Fatbins<'a, '_> {
    type Item = Result<Fatbin<'a>, CodeError>;

    fn next(&mut self) -> Option<Self::Item> {
        let file = Bytes(self.bytes);
        while self.at.checked_add(16).is_some_and(|end| end <= file.len()) && file.u64(self.at) == Some(0) {
            self.at += 8;
        }
        if self.at.checked_add(16).is_none_or(|end| end > file.len()) {
            return None;
        }
        let at = std::mem::replace(&mut self.at, u64::MAX);
        if file.u32(at) != Some(CONTAINER_MAGIC) {
            return Some(Err(CodeError::damaged(format!("no fatbin container at {at:#x}"))));
        }
        let container = fatbin_within(self.bytes, at, self.budget);
        if let Ok(container) = &container {
            self.at = round_up(at + container.size, 8).unwrap_or(u64::MAX);
        }
        Some(container)
    }
}

/// Reads the container at `at`.
///
/// # Errors
/// As [`fatbins`].
pub fn fatbin(bytes: &[u8], at: u64) -> Result<Fatbin<'_>, CodeError> {
    fatbin_within(bytes, at, &Budget::of(bytes))
}

/// As [`fatbin`], within a budget that others share.
pub(super) fn fatbin_within<'a>(bytes: &'a [u8], at: u64, budget: &Budget) -> Result<Fatbin<'a>, CodeError> {
    let file = Bytes(bytes);
    let cut = || CodeError::damaged(format!("the fatbin container at {at:#x} reaches past the end"));
    let header = u64::from(at.checked_add(6).and_then(|at| file.u16(at)).ok_or_else(cut)?);
    let follows = file.u64(at + 8).ok_or_else(cut)?;
    let size = header.checked_add(follows).ok_or_else(cut)?;
    let all = file.get(at, size).map(Bytes).filter(|_| header >= 16).ok_or_else(cut)?;
    let mut entries = Vec::new();
    let mut inside = header;
    // Less than an entry's header is padding.
    while inside + ENTRY_SIZE <= size {
        let size = read_entry(all, inside, at, budget, &mut entries).ok_or_else(|| {
            let past = || CodeError::damaged(format!("the fatbin entry at {:#x} reaches past the end", at + inside));
            CodeError::stopped(budget, past)
        })?;
        inside += size;
    }
    Ok(Fatbin { at, size, entries })
}

/// Fields of an entry that groups' members have too.
struct Head {
    kind: u16,
    version: (u16, u16),
    arch: u32,
    name: (u32, u32),
    flags: u64,
}

fn head(entry: Bytes<'_>) -> Option<Head> {
    Some(Head {
        kind: entry.u16(0)?,
        version: (entry.u16(26)?, entry.u16(24)?),
        arch: entry.u32(28)?,
        name: (entry.u32(32)?, entry.u32(36)?),
        flags: entry.u64(40)?,
    })
}

fn capability(arch: u32, flags: u64) -> Option<Capability> {
    let suffix = match (flags & FLAG_EXACT != 0, flags & FLAG_FAMILY != 0) {
        (true, _) => Suffix::Exact,
        (false, true) => Suffix::Family,
        (false, false) => Suffix::Plain,
    };
    Capability::from_number(arch, suffix).filter(|capability| capability.major > 0)
}

/// The name of an entry, if it has one; `None` when the budget is spent.
fn name(entry: Bytes<'_>, (at, size): (u32, u32), budget: &Budget) -> Option<Option<String>> {
    let Some(text) = entry.get(u64::from(at), u64::from(size)) else { return Some(None) };
    let text = text.split(|byte| *byte == 0).next().unwrap_or_default();
    budget.work(text.len() as u64)?;
    budget.keep_text(text.len())?;
    Some((!text.is_empty()).then(|| String::from_utf8_lossy(text).into_owned()))
}

/// Reads the entry at `at` of a container; gives its whole size.
fn read_entry<'a>(
    container: Bytes<'a>,
    at: u64,
    container_at: u64,
    budget: &Budget,
    entries: &mut Vec<FatbinEntry<'a>>,
) -> Option<u64> {
    budget.work(64)?;
    let header_size = u64::from(container.u32(at + 4)?);
    let payload_size = container.u64(at + 8)?;
    let whole = header_size.checked_add(payload_size).filter(|_| header_size >= ENTRY_SIZE)?;
    let entry = Bytes(container.get(at, whole)?);
    let head = head(entry)?;
    let payload = entry.get(header_size, payload_size)?;
    let compressed = u64::from(entry.u32(16)?);
    let unpacked = entry.u64(56)?;
    let packed =
        |size: u64| Some(Packed { bytes: payload.get(..usize::try_from(size).ok()?)?, flags: head.flags, unpacked });
    if head.kind == GROUP
        && read_group(entry, header_size, packed(compressed), container_at + at, budget, entries).is_some()
    {
        return Some(whole);
    }
    budget.finish().ok()?;
    budget.keep_many::<FatbinEntry<'_>>(2)?;
    let content = match compressed {
        0 => Content::Raw(payload),
        size => Content::Packed(packed(size)?),
    };
    entries.push(FatbinEntry {
        kind: head.kind.into(),
        capability: capability(head.arch, head.flags),
        version: head.version,
        debug: head.flags & FLAG_DEBUG != 0,
        flags: head.flags,
        name: name(entry, head.name, budget)?,
        at: container_at + at,
        stored_size: payload_size,
        unpacked_size: if compressed == 0 { payload_size } else { unpacked },
        content,
    });
    Some(whole)
}

/// Kind of a concatenated group (CUDA 13.5, `-concat`).
const GROUP: u16 = 0x100;

/// Members stand behind the group's own header: their number, their bytes, then their headers, each
/// of 64 bytes and, if an options offset is set, the options behind them.
fn read_group<'a>(
    entry: Bytes<'a>,
    header_size: u64,
    group: Option<Packed<'a>>,
    at: u64,
    budget: &Budget,
    entries: &mut Vec<FatbinEntry<'a>>,
) -> Option<()> {
    let group = group.filter(|group| !group.bytes.is_empty())?;
    let header = Bytes(entry.get(0, header_size)?);
    let count = header.u32(ENTRY_SIZE)?;
    let mut members = Vec::new();
    let mut member_at = ENTRY_SIZE + 8;
    for _ in 0..count {
        budget.work(64)?;
        budget.keep_many::<FatbinEntry<'_>>(2)?;
        let member = Bytes(header.get(member_at, header_size.checked_sub(member_at)?)?);
        let head = head(member)?;
        let (offset, size) = (u64::from(member.u32(4)?), member.u64(8)?);
        if offset.checked_add(size)? > group.unpacked {
            return None;
        }
        let options = u64::from(member.u32(20)?);
        let member_size = match options {
            0 => ENTRY_SIZE,
            at => {
                let text = u64::from(member.u32(at)?).checked_add(u64::from(member.u32(at + 4)?) + 1)?;
                round_up(text, 8)?
            }
        };
        members.push(FatbinEntry {
            kind: head.kind.into(),
            capability: capability(head.arch, head.flags),
            version: head.version,
            debug: head.flags & FLAG_DEBUG != 0,
            flags: head.flags,
            name: name(member, head.name, budget)?,
            at,
            stored_size: size,
            unpacked_size: size,
            content: Content::Member { group, offset, size },
        });
        member_at = member_at.checked_add(member_size.max(ENTRY_SIZE))?;
        if member_at > header_size {
            return None;
        }
    }
    entries.extend(members);
    Some(())
}

#[cfg(test)]
#[path = "fatbin_tests.rs"]
mod tests;
