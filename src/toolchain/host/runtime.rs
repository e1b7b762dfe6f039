//! What a compiler builds for itself before it can link anything: zig compiles its C++ library and the beginnings of glibc,
//! once for each glibc, and keeps them. It is done before the first step: within one, nobody could tell why that takes
//! minutes.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Instant;

use super::compiler::HostCompiler;
use crate::amount::in_words;
use crate::arch::GlibcVersion;
use crate::error::{Error, Result};
use crate::fs;
use crate::process::check_interrupted;
use crate::ui::Ui;

/// A program that needs all of it.
const PROGRAM: &str = "#include <string>\nint main() { return static_cast<int>(std::string().size()); }\n";

/// The runtime of a compiler that builds it itself.
#[derive(Debug, Clone)]
pub struct CxxRuntime {
    pub(super) compiler: HostCompiler,
    pub(super) glibc: GlibcVersion,
    /// Directory in which the compiler keeps it.
    pub(super) cache: PathBuf,
}

impl CxxRuntime {
    /// Makes it, unless that was done before.
    ///
    /// # Errors
    /// The compiler cannot make it, or the run was interrupted.
    pub fn make(&self, ui: &Ui) -> Result<()> {
        let Self { compiler, glibc, cache } = self;
        let mark = cache.join(format!("simpack-runtime-2-{}-{glibc}", compiler.version));
        if mark.exists() {
            return Ok(());
        }
        let what = format!("C++ runtime for glibc {glibc}");
        ui.note(format!("toolchain  {what}: compiled once, which takes some minutes, then kept"));
        let started = Instant::now();
        let dir =
            tempfile::tempdir_in(cache).map_err(|error| Error::file(cache, "cannot be written").because(error))?;
        let (source, program) = (dir.path().join("runtime.cc"), dir.path().join("runtime"));
        fs_err::write(&source, PROGRAM)?;
        let shown = ui.running("toolchain", (0, 1), 1, BTreeMap::new());
        shown.started(0, &what);
        // As builds link it: with debug information or another optimization it is another one.
        let call = compiler.call().args(["-O2", "-s", "-o", fs::utf8(&program)?, fs::utf8(&source)?]);
        let ran = call.run_watched(None)?;
        check_interrupted()?;
        if !ran.outcome.status.success() {
            let error = Error::toolchain(format!("zig cannot make its {what}, {}", ran.outcome.how()));
            let error = ran.outcome.all_text().lines().fold(error, Error::detail);
            return Err(error.hint(format!("remove {} and build again", cache.display())));
        }
        drop(shown);
        ui.note(format!("toolchain  {what} ready in {}", in_words(started.elapsed())));
        fs::write_atomic(&mark, b"")
    }
}
