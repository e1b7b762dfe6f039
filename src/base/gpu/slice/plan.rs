//! The job of slicing one file, as a value.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::Serialize;

use super::pick::SliceSpec;
use crate::arch::Capability;
use crate::budget::Budget;
use crate::elf::ElfError;
use crate::elf::edit::Write;
use crate::gpu::CodeError;
use crate::manifest::Manifests;
use crate::parallel::threads;

/// What happens to the room of dropped code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FreedSpace {
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
    /// Asked capabilities that some code of the slice serves.
    pub served: BTreeSet<Capability>,
    /// Kernels without code for an asked capability.
    pub losses: Vec<Loss>,
    /// Gaps in the address space that were cut out: address, bytes.
    pub gaps: Vec<(u64, u64)>,
    /// Whether the kept containers stand together.
    pub together: bool,
    /// What the user should know.
    pub notes: Vec<String>,
    /// What may not work.
    pub warnings: Vec<String>,
}

impl SlicePlan {
    /// Whether kernels lose code that the fat file has. What it lacks, too, is no loss.
    pub fn loses(&self) -> bool {
        self.losses.iter().any(|loss| loss.in_fat)
    }

    /// Whether kernels lack code for a capability that nothing else in the slice serves, either: nor do `others`.
    pub fn leaves_out(&self, others: &BTreeSet<Capability>) -> bool {
        let is_out = |loss: &Loss| !self.served.contains(&loss.capability) && !others.contains(&loss.capability);
        self.losses.iter().any(is_out)
    }
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

/// What a plan is made for.
#[derive(Clone, Copy)]
pub(super) struct Order<'o> {
    pub(super) ask: &'o SliceSpec,
    pub(super) room: FreedSpace,
    pub(super) manifests: &'o Manifests,
    pub(super) budget: &'o Budget,
    /// Whether to look into the code for the names of kernels that would be lost.
    pub(super) names: bool,
    /// Threads that may work on one file.
    pub(super) threads: usize,
}

/// More threads would only hold more memory: each has a piece of its own.
const MOST_THREADS: usize = 8;
/// Work over fewer bytes is done before a thread has started.
const WORTH_A_THREAD: u64 = 1 << 19;

impl<'o> Order<'o> {
    pub(super) fn new(ask: &'o SliceSpec, room: FreedSpace, manifests: &'o Manifests, budget: &'o Budget) -> Self {
        Self { ask, room, manifests, budget, names: true, threads: threads().min(MOST_THREADS) }
    }

    /// Threads for work over so many bytes.
    pub(super) fn threads_for(&self, bytes: u64) -> usize {
        usize::try_from(bytes / WORTH_A_THREAD).unwrap_or(MOST_THREADS).clamp(1, self.threads.max(1))
    }
}

/// What becomes of a range of the old file.
pub(super) enum Disposition {
    /// Replaced by parts of the same size in all.
    Parts(Vec<Part>),
    /// Free room that stays in the file: zeros.
    Free,
    /// Leaves the file.
    Gap,
}

/// The whole new file: the old one, ranges with another fate, and writes in positions of the old one.
pub(super) fn assemble(length: u64, mut fates: Vec<(u64, u64, Disposition)>, mut writes: Vec<Write>) -> Vec<Part> {
    fates.sort_by_key(|(from, _, _)| *from);
    writes.sort_by_key(|write| write.at);
    let mut parts = Parts { parts: Vec::new(), writes };
    let mut at = 0;
    for (from, to, fate) in fates {
        parts.plain(at, from, false);
        match fate {
            Disposition::Parts(new) => new.into_iter().for_each(|part| parts.push(part)),
            Disposition::Free => parts.plain(from, to, true),
            Disposition::Gap => {}
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
