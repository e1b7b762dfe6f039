//! One entry: the files that a step made, their list, and whether the two agree.

use std::io::Read;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::bundle::{Artifact, ArtifactKind};
use crate::error::Result;
use crate::fs::{self, Digest, EntryKind};
use crate::process::IsolationKind;

/// Name of the list in an entry.
pub(super) const LIST: &str = "entry.json";
/// Name of the tree in an entry.
pub(super) const FILES: &str = "files";

/// What kind of step made an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum StepKind {
    /// Configured, built and installed a host component.
    Host,
    /// Compiled one translation unit for one target.
    Kernel,
    /// Made by a simpack that did not say.
    #[default]
    Unknown,
}

impl std::fmt::Display for StepKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            Self::Host => "host",
            Self::Kernel => "kernel",
            Self::Unknown => "unknown",
        })
    }
}

/// How an entry was made.
#[derive(Debug, Clone, PartialEq)]
pub struct Made {
    /// Id of the step.
    pub step: String,
    /// Its kind.
    pub kind: StepKind,
    /// Seconds that it took.
    pub seconds: f64,
    /// Seconds of processors that its processes took; 0 when nobody knows.
    pub cpu: f64,
    /// Bytes of memory that its largest process had at its peak; 0 when nobody knows.
    pub peak: u64,
    /// How it was isolated.
    pub isolation: IsolationKind,
    /// Options that a host step was given and did not use.
    pub unused: Vec<String>,
    /// Whether it was made in a build tree that an earlier build had left. The cache of artifacts holds no such thing.
    pub incremental: bool,
}

/// What one step made, found in the cache and checked.
#[derive(Debug, Clone)]
pub struct CacheEntry {
    /// Key of the step that made it.
    pub key: Digest,
    /// Root of the files.
    pub root: PathBuf,
    /// Files and links, sorted by path.
    pub artifacts: Vec<Artifact>,
    /// How it was made.
    pub made: Made,
}

impl CacheEntry {
    /// Whether it still lies where it was found.
    pub fn is_here(&self) -> bool {
        self.root.is_dir()
    }

    /// Bytes of all files.
    pub fn bytes(&self) -> u64 {
        bytes_of(&self.artifacts)
    }

    /// Paths of files and links that the other does not have, or has otherwise; sorted.
    pub(in crate::engine) fn differing(&self, other: &Self) -> Vec<String> {
        let only = |one: &Self, two: &Self| {
            let artifacts = one.artifacts.iter().filter(|artifact| !two.artifacts.contains(artifact));
            artifacts.map(|artifact| artifact.path.clone()).collect::<Vec<_>>()
        };
        let mut paths = [only(self, other), only(other, self)].concat();
        paths.sort();
        paths.dedup();
        paths
    }
}

/// `entry.json`.
#[derive(Debug, Serialize, Deserialize)]
pub(in crate::engine) struct List {
    pub key: Digest,
    pub step: String,
    #[serde(default)]
    pub kind: StepKind,
    pub seconds: f64,
    #[serde(default)]
    pub cpu: f64,
    #[serde(default)]
    pub peak: u64,
    #[serde(default)]
    pub isolation: IsolationKind,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unused: Vec<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub incremental: bool,
    pub artifacts: Vec<Artifact>,
}

impl List {
    pub(in crate::engine) fn new(key: Digest, made: &Made, artifacts: Vec<Artifact>) -> Self {
        let Made { step, kind, seconds, cpu, peak, isolation, unused, incremental } = made.clone();
        Self { key, step, kind, seconds, cpu, peak, isolation, unused, incremental, artifacts }
    }

    /// Reads the list of an entry; none if it is damaged.
    pub(super) fn read(mut file: impl Read) -> Option<Self> {
        let mut text = Vec::new();
        file.read_to_end(&mut text).ok()?;
        serde_json::from_slice(&text).ok()
    }

    /// Bytes of all files.
    pub(super) fn bytes(&self) -> u64 {
        bytes_of(&self.artifacts)
    }

    /// What is wrong with the entry at `place`, whose name says `key`.
    pub(super) fn damage(&self, place: &Path, key: Digest) -> Option<String> {
        if self.key != key {
            return Some(format!("its list is that of {}", self.key.short(12)));
        }
        let found = match artifacts_of(&place.join(FILES)) {
            Ok(found) => found,
            Err(error) => return Some(error.to_string()),
        };
        if found == self.artifacts {
            return None;
        }
        let listed = self.artifacts.iter().find(|artifact| !found.contains(artifact));
        let extra = found.iter().find(|artifact| !self.artifacts.iter().any(|listed| listed.path == artifact.path));
        Some(match (listed, extra) {
            (Some(listed), _) if found.iter().any(|artifact| artifact.path == listed.path) => {
                format!("{} is not what was put there", listed.path)
            }
            (Some(listed), _) => format!("{} is missing", listed.path),
            (None, Some(extra)) => format!("{} was never put there", extra.path),
            (None, None) => "its list is out of order".to_owned(),
        })
    }

    /// How it was made.
    pub(in crate::engine) fn made(&self) -> Made {
        let Self { step, kind, seconds, cpu, peak, isolation, unused, incremental, .. } = self;
        Made {
            step: step.clone(),
            kind: *kind,
            seconds: *seconds,
            cpu: *cpu,
            peak: *peak,
            isolation: *isolation,
            unused: unused.clone(),
            incremental: *incremental,
        }
    }

    pub(super) fn entry(self, place: &Path) -> CacheEntry {
        CacheEntry { key: self.key, root: place.join(FILES), made: self.made(), artifacts: self.artifacts }
    }
}

/// Bytes of all files of a list.
pub(super) fn bytes_of(artifacts: &[Artifact]) -> u64 {
    let sizes = artifacts.iter().map(|artifact| match &artifact.kind {
        ArtifactKind::File { size, .. } => *size,
        ArtifactKind::Link { .. } => 0,
    });
    sizes.fold(0, u64::saturating_add)
}

/// All files and links below `root` with digests, sorted by path.
pub(super) fn artifacts_of(root: &Path) -> Result<Vec<Artifact>> {
    artifacts_with(root, |path| Digest::of_file(&root.join(path)))
}

/// The same, with the digests that `digest` knows of paths below `root`.
pub(in crate::engine) fn artifacts_with(root: &Path, digest: impl Fn(&str) -> Result<Digest>) -> Result<Vec<Artifact>> {
    let mut artifacts = Vec::new();
    for entry in fs::walk(root)? {
        let kind = match entry.kind {
            EntryKind::Directory => continue,
            EntryKind::Link(to) => ArtifactKind::Link { to },
            EntryKind::File { size, executable } => {
                ArtifactKind::File { sha256: digest(&entry.path)?, size, executable }
            }
        };
        artifacts.push(Artifact { path: entry.path, kind });
    }
    Ok(artifacts)
}
