//! What a host compiler is to those who call it.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::runtime::CxxRuntime;
use crate::bundle::ToolVersion;
use crate::error::Result;
use crate::lastrun::VersionCache;
use crate::toolchain::Store;
use crate::ui::Ui;

/// A host compiler that is known, and not fetched yet.
pub trait HostSource {
    /// What enters keys and provenance, by name: `c++` and what else decides its bytes.
    fn versions(&self, answers: &VersionCache) -> BTreeMap<String, ToolVersion>;

    /// The major version of the machine's compiler; none for one that brings all that its output needs.
    fn major(&self) -> Option<u32> {
        None
    }

    /// Files of the machine that decide what it is, beside the compilers that were asked.
    fn looked_at(&self) -> Vec<PathBuf> {
        Vec::new()
    }

    /// How steps call it, as absolute programs with their first arguments. What is pinned is fetched.
    ///
    /// # Errors
    /// It cannot be fetched.
    fn commands(&self, store: &Store, answers: &VersionCache, offline: bool, ui: &Ui) -> Result<HostCommands>;
}

/// How steps call a host compiler.
#[derive(Debug, Default)]
pub struct HostCommands {
    /// C compiler.
    pub cc: Vec<String>,
    /// C++ compiler.
    pub cxx: Vec<String>,
    /// Programs that these call in turn.
    pub behind: Vec<PathBuf>,
    /// What belongs to it, by name: `ar`, `ranlib`, `ld`, `nm`, `strip`.
    pub companions: BTreeMap<String, Vec<String>>,
    /// Directory in which it keeps what it builds for itself; it is there.
    pub cache: Option<PathBuf>,
    /// What it builds there before anything can be linked.
    pub runtime: Option<CxxRuntime>,
}
