//! A test that could not run says so; on CI it fails.

use std::io::Write;
use std::path::PathBuf;

/// Says on standard error that the running test is skipped and why; panics when `CI` is set.
pub fn skip(reason: &str) {
    let thread = std::thread::current();
    let test = thread.name().unwrap_or("a test");
    if std::env::var_os("CI").is_some_and(|value| !value.is_empty()) {
        panic!("{test} cannot run, and on CI nothing is skipped: {reason}");
    }
    // Not `eprintln!`: the test harness shows that of failed tests only.
    let _ = writeln!(std::io::stderr(), "skipped: {test}: {reason}");
}

/// A path that `tests/run` sets up and names in a variable; without it the test is skipped.
pub fn set_up(variable: &str) -> Option<PathBuf> {
    let path = std::env::var_os(variable).filter(|value| !value.is_empty()).map(PathBuf::from);
    if path.is_none() {
        skip(&format!("{variable} is not set; `bash tests/run` sets it"));
    }
    path
}
