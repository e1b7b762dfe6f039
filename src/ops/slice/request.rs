//! What is asked of the verb.

use std::path::PathBuf;

use crate::arch::Capability;
use crate::gpu::slice::{FreedSpace, PtxRule, SliceSpec};

/// What is asked of the verb.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SliceRequest {
    /// Files, packages and directories to slice.
    pub files: Vec<PathBuf>,
    /// What stays.
    pub ask: SliceSpec,
    /// One slice for each capability.
    pub per_capability: bool,
    /// Directory of the slices.
    pub output: PathBuf,
    /// What becomes of the room.
    pub room: FreedSpace,
    /// Write slices in which kernels have no code.
    pub allow_missing: bool,
    /// What permits to pass on a slice of a vendor's library.
    pub permission: Option<String>,
    /// Write nothing.
    pub dry_run: bool,
}

impl SliceRequest {
    /// One ask for each slice.
    pub(super) fn asks(&self) -> Vec<SliceSpec> {
        if !self.per_capability {
            return vec![self.ask.clone()];
        }
        let alone = |capability: &Capability| SliceSpec { capabilities: vec![*capability], ..self.ask.clone() };
        self.ask.capabilities.iter().map(alone).collect()
    }

    /// Where the slices for an ask go.
    pub(super) fn directory(&self, ask: &SliceSpec) -> PathBuf {
        match ask.capabilities.as_slice() {
            [capability] if self.per_capability => {
                let target = if ask.ptx == PtxRule::Only { capability.compute() } else { capability.sm() };
                self.output.join(target)
            }
            _ => self.output.clone(),
        }
    }
}
