//! What is asked of the verb, and how the answer is shown.

use std::path::PathBuf;

use crate::report::Level;

/// What is asked, and how the answer is shown.
#[derive(Debug, Clone, Default)]
pub struct ResolveRequest {
    /// Programs and libraries.
    pub files: Vec<String>,
    /// Kind of machine, by name; without, this machine or the one below `root`.
    pub profile: Option<String>,
    /// C library whose rules hold: `glibc` or `musl`; without, the one of the file's interpreter.
    pub libc: Option<String>,
    /// Root of the machine's files.
    pub root: Option<PathBuf>,
    /// `LD_LIBRARY_PATH`.
    pub library_path: Option<String>,
    /// `LD_PRELOAD`.
    pub preload: Option<String>,
    /// Current directory.
    pub directory: String,
    /// The program runs with raised rights.
    pub secure: bool,
    /// Level of the x86-64 processor, instead of this one's.
    pub cpu_level: Option<u32>,
    /// Names that the file opens.
    pub dlopen: Vec<String>,
    /// Look for names that files open among their constants.
    pub find_opened: bool,
    /// Levels of lints, by id: the defaults are the lints' own.
    pub levels: Vec<(String, Level)>,
    /// Print a tree.
    pub tree: bool,
    /// Print the graph.
    pub dot: bool,
    /// Write a picture of the graph.
    pub svg: Option<PathBuf>,
}
