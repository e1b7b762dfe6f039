//! What is asked of the verb.

use std::path::PathBuf;

use crate::arch::Capability;
use crate::engine::SandboxMode;

/// What is asked.
#[derive(Debug, Clone, Default)]
pub struct CompileRequest {
    /// Directory with the user's files; the current one without.
    pub dir: Option<PathBuf>,
    /// Prefixes with packages; the active environments without.
    pub prefixes: Vec<PathBuf>,
    /// One simulator alone.
    pub simulator: Option<String>,
    /// GPUs to compile for; those of the machine without.
    pub capabilities: Vec<Capability>,
    /// A recorded machine, whose GPUs are compiled for.
    pub machine: Option<PathBuf>,
    /// Where results are kept, in the place of the user's directory.
    pub into: Option<PathBuf>,
    /// The pinned nvcc, in the place of the user's.
    pub pinned: bool,
    /// Fetch nothing.
    pub offline: bool,
    /// How programs are isolated.
    pub sandbox: SandboxMode,
    /// Processes at a time.
    pub jobs: usize,
    /// Say what would be compiled.
    pub dry_run: bool,
    /// Say what is there.
    pub list: bool,
    /// Remove it.
    pub clean: bool,
    /// simpack itself, which asks the driver in a process of its own.
    pub program: Option<PathBuf>,
}
