//! Directories of steps, which go when the steps have ended.

use std::path::Path;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::error::{Error, Result};

/// Beginning of the names of steps' own directories.
pub(in crate::engine) const SCRATCH: &str = "step-";

/// An empty directory in `work`, which goes with the value or, after a kill, with the next run.
///
/// # Errors
/// It cannot be made.
pub fn scratch(work: &Path) -> Result<TempDir> {
    let made = tempfile::Builder::new().prefix(SCRATCH).tempdir_in(work);
    made.map_err(|error| Error::file(work, "cannot make a directory for a step").because(error))
}

/// Removes the directories of steps that a killed run left in `work`, which must be locked.
///
/// # Errors
/// A directory cannot be read or removed.
pub fn remove_leftovers(work: &Path) -> Result<()> {
    for entry in fs_err::read_dir(work)? {
        let entry = entry?;
        if entry.file_name().to_string_lossy().starts_with(SCRATCH) {
            remove_while_it_is_written(&entry.path())?;
        }
    }
    Ok(())
}

/// Programs die with the run that started them, but what they had started in turn may live a moment
/// longer and write on.
fn remove_while_it_is_written(dir: &Path) -> Result<()> {
    let first = Instant::now();
    loop {
        match std::fs::remove_dir_all(dir) {
            Ok(()) => return Ok(()),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
            Err(error)
                if error.kind() == std::io::ErrorKind::DirectoryNotEmpty
                    && first.elapsed() < Duration::from_secs(10) =>
            {
                std::thread::sleep(Duration::from_millis(20));
            }
            Err(error) => return Err(Error::file(dir, "what a killed run left cannot be removed").because(error)),
        }
    }
}
