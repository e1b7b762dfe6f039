//! How a build runs.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use super::step::headers::HeaderStore;
use super::step::sandbox::isolation::StepIsolation;
use crate::fs::Digest;
use crate::manifest::{MemoryModel, TimeModel, Vendor};

/// How to run.
#[derive(Debug, Clone)]
pub struct BuildOptions {
    /// Simulator's name.
    pub name: String,
    /// Directory with the source, as it was when the plan was made.
    pub source: PathBuf,
    /// Every file of the source with its digest, as the plan was made of them.
    pub sources: BTreeMap<String, Digest>,
    /// How steps are kept from what they do not declare.
    pub isolation: StepIsolation,
    /// Which headers earlier compilations read; this run's are added.
    pub headers: HeaderStore,
    /// Directory for logs and intermediate files.
    pub work: PathBuf,
    /// Steps at a time, at most; memory may allow fewer.
    pub jobs: usize,
    /// Go on after a failure with what does not need it.
    pub keep_going: bool,
    /// Time that one call of a compiler or build system may take; none for any.
    pub step_timeout: Option<Duration>,
    /// What steps are expected to take that were never measured.
    pub memory: MemoryModel,
    /// The same of their time.
    pub time: TimeModel,
    /// The vendor's libraries, for what is said of a link that failed.
    pub vendor: Vendor,
    /// Whether host steps may go on in build trees that earlier builds left.
    pub incremental: bool,
    /// Bytes that these trees may take; none for any.
    pub trees_limit: Option<u64>,
    /// File to which the ids of steps are added as they are made, one a line, for somebody who watches from elsewhere.
    pub made: Option<PathBuf>,
}
