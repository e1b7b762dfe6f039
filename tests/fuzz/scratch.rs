//! A directory for targets that read and write files.

use std::fs;
use std::path::Path;

use simpack::error::{ErrorKind, Result};

/// Runs `work` on a new directory. Whatever is wrong with the input is an error; that simpack contradicts itself fails.
pub fn scratch(work: impl FnOnce(&Path) -> Result<()>) {
    let dir = std::env::temp_dir().join(format!("simpack-fuzz-{}", std::process::id()));
    let _ = fs::remove_dir_all(&dir);
    fs::create_dir_all(&dir).expect("a directory for temporary files");
    let done = work(&dir);
    let _ = fs::remove_dir_all(&dir);
    if let Err(error) = done {
        assert!(error.kind() != ErrorKind::Bug, "{error}");
    }
}
