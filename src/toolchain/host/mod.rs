//! Host compilers: what each is, for keys and provenance, and how steps call it. One file each behind [`HostSource`]; the
//! table that says which there are is [`HostToolchain`].

mod ceiling;
mod compiler;
mod library;
mod runtime;
mod system;
mod zig;

pub use ceiling::{Ceiling, HeldCompiler};
pub use compiler::{CompilerKind, HostCompiler, HostSearch, STEP_PATH, nvcc_host_compiler, system_host_compiler};
pub use library::SystemLibrary;
pub use runtime::CxxRuntime;

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::Store;
use crate::bundle::ToolVersion;
use crate::error::Result;
use crate::lastrun::VersionCache;
use crate::manifest::GlibcLevels;
use crate::recipe::HostToolchain;
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

/// The host compiler that a recipe asks for.
///
/// # Errors
/// It is not here, is older than the recipe asks for, or cannot be held to its glibc; or it is not pinned.
pub fn host_source(
    host: &HostToolchain,
    levels: &GlibcLevels,
    store: &Store,
    answers: &VersionCache,
) -> Result<Box<dyn HostSource>> {
    Ok(match host {
        HostToolchain::System { min_cxx, glibc } => {
            let found = system::System::find(*min_cxx, answers)?;
            Box::new(found.held_to(*glibc, levels, store, answers)?)
        }
        HostToolchain::Zig { glibc } => Box::new(zig::Zig::find(*glibc, store)?),
    })
}
