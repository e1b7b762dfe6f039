//! Programs of this machine that tests compare against.

use std::path::PathBuf;

use super::skip::skip;

/// A program of this machine, which `tests/run` installs on Debian; without it the test is skipped.
pub fn tool(name: &str) -> Option<PathBuf> {
    let found = which::which(name).ok();
    if found.is_none() {
        skip(&format!("{name} is not installed"));
    }
    found
}
