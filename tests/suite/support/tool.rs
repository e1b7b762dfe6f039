//! Programs of this machine that tests compare against.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::Ran;
use super::skip::skip;

/// A program of this machine, which `tests/run` installs on Debian; without it the test is skipped.
pub fn tool(name: &str) -> Option<PathBuf> {
    let found = which::which(name).ok();
    if found.is_none() {
        skip(&format!("{name} is not installed"));
    }
    found
}

/// What reviewers of packages hold shell scripts to.
pub fn shellcheck(script: &Path) {
    if let Some(linter) = tool("shellcheck") {
        Ran::of(Command::new(linter).arg(script)).exit(0);
    }
}
