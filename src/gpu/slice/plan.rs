//! The job of slicing one file, as a value.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::container::{Remains, remains};
use super::pick::{Picked, SliceAsk, pick};
use super::{archive, linked, object};
use crate::elf::edit::Write;
use crate::elf::{ElfError, Image};
use crate::gpu::fatbin::{Fatbin, GroupCache};
use crate::gpu::{CodeError, CodeKind, FatbinEntry, cubin, ptx};
use crate::manifest::Manifests;
use crate::target::Capability;

/// What happens to the room of dropped code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Room {
    /// It leaves the file.
    #[default]
    Cut,
    /// It is filled with zeros.
    Zero,
    /// It becomes holes, which take no room on the disk.
    Sparse,
}

/// A piece of the new file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    /// Bytes of the old file.
    Copy {
        /// File offset in the old file.
        from: u64,
        /// Bytes.
        size: u64,
    },
    /// New bytes.
    Bytes(Vec<u8>),
    /// So many zeros.
    Zeros(u64),
}

impl Part {
    /// Bytes.
    pub fn size(&self) -> u64 {
        match self {
            Self::Copy { size, .. } | Self::Zeros(size) => *size,
            Self::Bytes(bytes) => bytes.len() as u64,
        }
    }
}

/// Code of one kind and capability, in all containers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct TargetBytes {
    /// `sm_90`, `compute_90`, `lto_90`, or what is known of it.
    pub target: String,
    /// Entries that stay.
    pub kept: u64,
    /// Their bytes in the file.
    pub kept_bytes: u64,
    /// Entries that go.
    pub dropped: u64,
    /// Their bytes in the file.
    pub dropped_bytes: u64,
}

/// One container.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct ContainerSlice {
    /// Section, or `data` for a hidden one.
    pub place: String,
    /// File offset in the old file.
    pub at: u64,
    /// Bytes before.
    pub size: u64,
    /// Bytes after.
    pub new_size: u64,
    /// What stays, per entry.
    #[serde(skip)]
    pub stays: Vec<bool>,
}

/// Kernels of a container that would have no code for an asked capability.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Loss {
    /// The capability.
    pub capability: Capability,
    /// Whether the fat file has code for it: then the slice takes it away.
    pub in_fat: bool,
    /// Section, or `data` for a hidden one.
    pub place: String,
    /// File offset of the container.
    pub at: u64,
    /// Kernels, sorted.
    pub kernels: Vec<String>,
}

/// Everything that slicing does to a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SlicePlan {
    /// Bytes of the file it was made for.
    pub length: u64,
    /// Bytes afterwards.
    pub new_length: u64,
    /// The new file, piece by piece.
    pub parts: Vec<Part>,
    /// Containers in the order of the file.
    pub containers: Vec<ContainerSlice>,
    /// Code by target.
    pub targets: Vec<TargetBytes>,
    /// Kernels without code for an asked capability.
    pub losses: Vec<Loss>,
    /// Gaps in the address space that were cut out: address, bytes.
    pub gaps: Vec<(u64, u64)>,
    /// Whether the kept containers stand together.
    pub together: bool,
    /// What the user should know.
    pub notes: Vec<String>,
}

/// Why a file is not sliced.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SliceError {
    /// It cannot be read or changed.
    #[error(transparent)]
    Elf(#[from] ElfError),
    /// Its device code cannot be read.
    #[error(transparent)]
    Code(#[from] CodeError),
    /// It holds no device code that is sliced.
    #[error("no device code to slice")]
    Nothing,
}

impl SlicePlan {
    /// Whether anything goes.
    pub fn is_empty(&self) -> bool {
        self.targets.iter().all(|target| target.dropped == 0)
    }

    /// Bytes of device code that stay.
    pub fn kept_bytes(&self) -> u64 {
        self.targets.iter().map(|target| target.kept_bytes).sum()
    }

    /// Bytes of device code that go.
    pub fn dropped_bytes(&self) -> u64 {
        self.targets.iter().map(|target| target.dropped_bytes).sum()
    }

    /// The new bytes of the file.
    ///
    /// # Errors
    /// `file` is not the one that the plan was made for.
    pub fn apply(&self, file: &[u8]) -> Result<Vec<u8>, SliceError> {
        let other = || SliceError::Code(CodeError::damaged("the plan was made for another file"));
        if file.len() as u64 != self.length {
            return Err(other());
        }
        let mut bytes = Vec::with_capacity(usize::try_from(self.new_length.min(self.length)).unwrap_or(0));
        for part in &self.parts {
            match part {
                Part::Copy { from, size } => {
                    bytes.extend_from_slice(crate::elf::bytes::Bytes(file).get(*from, *size).ok_or_else(other)?);
                }
                Part::Bytes(new) => bytes.extend_from_slice(new),
                Part::Zeros(size) => bytes.resize(bytes.len() + *size as usize, 0),
            }
        }
        Ok(bytes)
    }
}

/// Plans to slice the file with these bytes: a linked file, an object or a static archive.
///
/// # Errors
/// The file or its device code cannot be read or changed, or it has none.
pub fn plan(bytes: &[u8], ask: &SliceAsk, room: Room, manifests: &Manifests) -> Result<SlicePlan, SliceError> {
    if archive::is_archive(bytes) {
        return archive::slice(bytes, ask, room, manifests);
    }
    let image = Image::parse(bytes)?;
    match image.header.kind {
        ::object::elf::ET_REL => object::plan(&image, ask, room, manifests),
        _ => linked::plan(&image, ask, room, manifests),
    }
}

/// Containers with what remains of each, and the sums.
#[derive(Default)]
pub(super) struct Survey {
    pub(super) containers: Vec<ContainerSlice>,
    pub(super) losses: Vec<Loss>,
    targets: BTreeMap<(u16, Option<Capability>), TargetBytes>,
    unknown: u64,
}

impl Survey {
    /// Decides about one container of `bytes`, which stand at `base` of the file.
    pub(super) fn container(
        &mut self,
        bytes: &[u8],
        base: u64,
        container: &Fatbin<'_>,
        place: &str,
        ask: &SliceAsk,
        manifests: &Manifests,
    ) -> Result<Remains, CodeError> {
        let mut picked = pick(&container.entries, ask, manifests);
        let mut remains = remains(bytes, base, container, &picked)?;
        if remains.size > container.size {
            // Members of a group, each compressed by itself, may be larger than the group.
            picked.stays.fill(true);
            let all = Part::Copy { from: base + container.at, size: container.size };
            remains = Remains { parts: vec![all], size: container.size };
        }
        for (entry, stays) in container.entries.iter().zip(&picked.stays) {
            self.count(entry, *stays);
        }
        self.lose(container, base, place, &picked);
        self.containers.push(ContainerSlice {
            place: place.to_owned(),
            at: base + container.at,
            size: container.size,
            new_size: remains.size,
            stays: picked.stays,
        });
        Ok(remains)
    }

    fn count(&mut self, entry: &FatbinEntry<'_>, stays: bool) {
        let (kind, name) = match entry.kind {
            CodeKind::Sass => (2, "sm"),
            CodeKind::Ptx => (1, "compute"),
            CodeKind::LtoIr => (8, "lto"),
            CodeKind::Other(number) => (number, "kind"),
            // Files of their own, never entries of a fatbin.
            CodeKind::Spirv | CodeKind::Offload => return,
        };
        self.unknown += u64::from(!matches!(name, "sm" | "compute" | "lto"));
        let target = match (entry.capability, name) {
            (Some(capability), "sm" | "compute" | "lto") => format!("{name}_{}", &capability.sm()[3..]),
            _ => format!("unknown kind {kind:#x}"),
        };
        let sum = self.targets.entry((kind, entry.capability)).or_insert(TargetBytes {
            target,
            kept: 0,
            kept_bytes: 0,
            dropped: 0,
            dropped_bytes: 0,
        });
        let (count, size) =
            if stays { (&mut sum.kept, &mut sum.kept_bytes) } else { (&mut sum.dropped, &mut sum.dropped_bytes) };
        *count += 1;
        *size += entry.stored_size;
    }

    fn lose(&mut self, container: &Fatbin<'_>, base: u64, place: &str, picked: &Picked) {
        if picked.missing.is_empty() {
            return;
        }
        let kernels = kernels(&container.entries, place.ends_with("__nv_relfatbin"));
        if kernels.is_empty() {
            return;
        }
        self.losses.extend(picked.missing.iter().map(|(capability, in_fat)| Loss {
            capability: *capability,
            in_fat: *in_fat,
            place: place.to_owned(),
            at: base + container.at,
            kernels: kernels.clone(),
        }));
    }

    /// The sums, machine code first, and a note about what nobody knows.
    pub(super) fn finish(self, notes: &mut Vec<String>) -> (Vec<ContainerSlice>, Vec<TargetBytes>, Vec<Loss>) {
        if self.unknown > 0 {
            notes.push(format!("{} entries of unknown kinds stay", self.unknown));
        }
        let order = |kind: u16| match kind {
            2 => 0,
            1 => 1,
            other => other,
        };
        let mut targets: Vec<_> = self.targets.into_iter().collect();
        targets.sort_by_key(|((kind, capability), _)| (order(*kind), *capability));
        (self.containers, targets.into_iter().map(|(_, sum)| sum).collect(), self.losses)
    }
}

/// Names of the kernels in a container, from the first entry that tells them.
fn kernels(entries: &[FatbinEntry<'_>], relocatable: bool) -> Vec<String> {
    let mut cache = GroupCache::default();
    let mut unread = relocatable;
    for kind in [CodeKind::Sass, CodeKind::Ptx] {
        for entry in entries.iter().filter(|entry| entry.kind == kind) {
            let Ok(code) = entry.unpack_with(&mut cache) else {
                unread = true;
                continue;
            };
            let names: Result<Vec<String>, CodeError> = match kind {
                CodeKind::Sass => {
                    cubin(&code).map(|it| it.kernels.into_iter().map(|kernel| kernel.signature.name).collect())
                }
                _ => ptx(&code).map(|it| it.kernels.into_iter().map(|kernel| kernel.signature.name).collect()),
            };
            match names {
                Ok(mut names) if !names.is_empty() => {
                    names.sort();
                    names.dedup();
                    return names;
                }
                Ok(_) => {}
                Err(_) => unread = true,
            }
        }
    }
    unread |= entries.iter().any(|entry| entry.kind == CodeKind::LtoIr);
    if unread { vec!["(device functions without a readable list)".to_owned()] } else { Vec::new() }
}

/// What becomes of a range of the old file.
pub(super) enum Fate {
    /// Replaced by parts of the same size in all.
    Parts(Vec<Part>),
    /// Free room that stays in the file: zeros.
    Free,
    /// Leaves the file.
    Gap,
}

/// The whole new file: the old one, ranges with another fate, and writes in positions of the old one.
pub(super) fn assemble(length: u64, mut fates: Vec<(u64, u64, Fate)>, mut writes: Vec<Write>) -> Vec<Part> {
    fates.sort_by_key(|(from, _, _)| *from);
    writes.sort_by_key(|write| write.at);
    let mut parts = Parts { parts: Vec::new(), writes };
    let mut at = 0;
    for (from, to, fate) in fates {
        parts.plain(at, from, false);
        match fate {
            Fate::Parts(new) => new.into_iter().for_each(|part| parts.push(part)),
            Fate::Free => parts.plain(from, to, true),
            Fate::Gap => {}
        }
        at = to;
    }
    parts.plain(at, length, false);
    parts.parts
}

struct Parts {
    parts: Vec<Part>,
    writes: Vec<Write>,
}

impl Parts {
    fn push(&mut self, part: Part) {
        match (self.parts.last_mut(), part) {
            (_, part) if part.size() == 0 => {}
            (Some(Part::Copy { from, size }), Part::Copy { from: next, size: more }) if *from + *size == next => {
                *size += more;
            }
            (Some(Part::Bytes(bytes)), Part::Bytes(more)) => bytes.extend(more),
            (Some(Part::Zeros(size)), Part::Zeros(more)) => *size += more,
            (_, part) => self.parts.push(part),
        }
    }

    /// A range as it is, or zeros, with the writes over it.
    fn plain(&mut self, from: u64, to: u64, zeros: bool) {
        let first = self.writes.partition_point(|write| write.at + write.bytes.len() as u64 <= from);
        let last = self.writes.partition_point(|write| write.at < to);
        let mut at = from;
        let base = |from: u64, to: u64| {
            if zeros { Part::Zeros(to - from) } else { Part::Copy { from, size: to - from } }
        };
        for index in first..last.max(first) {
            let write = self.writes[index].clone();
            let start = write.at.max(at);
            let end = (write.at + write.bytes.len() as u64).min(to);
            if start >= end {
                continue;
            }
            self.push(base(at, start));
            self.push(Part::Bytes(write.bytes[(start - write.at) as usize..(end - write.at) as usize].to_vec()));
            at = end;
        }
        if at < to {
            self.push(base(at, to));
        }
    }
}
