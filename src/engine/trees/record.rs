//! What is known of a build tree: a file beside it, out of reach of what runs in it.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::fs::{self, Digest};

/// Raised when trees are laid out otherwise.
const SCHEMA: u32 = 1;
/// Bytes of a record, at most.
const MOST: u64 = 256 << 20;

/// How a build system left a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(in crate::engine) enum Left {
    /// It was still running: it was killed, or is.
    Running,
    /// It came to its end by itself, whether it failed or not.
    Ended,
}

/// What is known of a tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Record {
    schema: u32,
    /// Id of its step.
    pub step: String,
    /// What has to be equal for a build to go on in it.
    pub configuration: Digest,
    /// The sources that were copied into it, by their paths in the copy.
    pub sources: BTreeMap<String, Digest>,
    /// How it was left.
    pub left: Left,
    /// The boot of the machine that it was last written in: what was written shortly before the power failed may be half.
    pub boot: String,
    /// The key of what was made in it incrementally.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub made: Option<Digest>,
}

impl Record {
    /// Of an empty tree.
    pub(super) fn new(step: &str, configuration: Digest) -> Self {
        let (schema, sources, left, made) = (SCHEMA, BTreeMap::new(), Left::Running, None);
        Self { schema, step: step.to_owned(), configuration, sources, left, boot: boot(), made }
    }

    /// The one of the tree called `name`; none that can be understood is as good as none.
    pub(super) fn read(name: &Path) -> Option<Self> {
        let mut text = Vec::new();
        fs::open(&path(name)).ok()?.take(MOST).read_to_end(&mut text).ok()?;
        let record: Self = serde_json::from_slice(&text).ok()?;
        (record.schema == SCHEMA).then_some(record)
    }

    /// Writes it beside the tree called `name`.
    pub(super) fn write(&self, name: &Path) -> Result<()> {
        let text = serde_json::to_vec(self)
            .map_err(|error| Error::bug("the record of a build tree does not print as JSON").because(error))?;
        fs::write_renamed(&path(name), &text)
    }

    /// Whether all that was written into the tree is there as it was written.
    pub(super) fn is_whole(&self) -> bool {
        self.left == Left::Ended || self.boot == boot()
    }
}

/// The file of the record of the tree called `name`.
pub(super) fn path(name: &Path) -> PathBuf {
    name.with_extension("json")
}

/// What the kernel calls this boot; empty where it does not say.
pub(super) fn boot() -> String {
    let text = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    text.trim().to_owned()
}
