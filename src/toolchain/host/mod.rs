//! Host compilers: what each is, for keys and provenance, and how steps call it. One file each behind [`HostSource`]; the
//! table that says which there are is [`HostToolchain`].

mod ceiling;
mod compiler;
mod library;
mod runtime;
mod source;
mod system;
mod zig;

pub use ceiling::{Ceiling, HeldCompiler};
pub use compiler::{CompilerKind, HostCompiler, HostSearch, STEP_PATH, nvcc_host_compiler, system_host_compiler};
pub use library::SystemLibrary;
pub use runtime::CxxRuntime;
pub use source::{HostCommands, HostSource};

use super::Store;
use crate::error::Result;
use crate::lastrun::VersionCache;
use crate::manifest::GlibcLevels;
use crate::recipe::HostToolchain;

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
