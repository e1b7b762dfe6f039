//! A test that could not run says so; on CI it fails.

use std::io::Write;

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
