//! Who uses the cache: a locked file per running build, from whose age follows what may go.

use std::path::Path;
use std::time::SystemTime;

use tempfile::NamedTempFile;

use super::dirs::make_dir;
use crate::error::{Error, Result};

/// Directory of the locked files.
const RUNS: &str = ".runs";

/// A running build; the kernel drops its lock when the process dies.
#[derive(Debug)]
pub(super) struct Run {
    file: NamedTempFile,
    began: SystemTime,
}

impl Run {
    /// Registers this process. From here on nothing that it uses is removed.
    pub(super) fn begin(root: &Path, mode: u32) -> Result<Self> {
        let runs = root.join(RUNS);
        make_dir(&runs, mode)?;
        // Somebody who looks between creation and lock takes the file for a dead run's: once more then.
        for _ in 0..100 {
            let file = tempfile::Builder::new()
                .prefix("run-")
                .tempfile_in(&runs)
                .map_err(|error| Error::file(&runs, "cannot write to the cache").because(error))?;
            // Other users of the cache must be able to see whether it is locked.
            crate::fs::set_mode(file.path(), mode & 0o666)?;
            if file.as_file().lock().is_ok() && file.path().exists() {
                let began = file.as_file().metadata()?.modified()?;
                return Ok(Self { file, began });
            }
        }
        Err(Error::file(&runs, "a lock cannot be taken"))
    }

    /// To be called when something is used: a clock that was set back makes this run older too, so
    /// that what it uses never looks older than itself.
    pub(super) fn used(&self) {
        if SystemTime::now() < self.began {
            // Without this the run is as safe as its clock.
            let _ = touch(self.file.as_file());
        }
    }
}

/// Sets a file's time stamps to the file system's idea of now. Unlike a time of one's own choice,
/// that needs no ownership, only write permission: what a shared cache grants.
pub(super) fn touch(file: &std::fs::File) -> std::io::Result<()> {
    use std::os::fd::AsRawFd;
    let now = libc::timespec { tv_sec: 0, tv_nsec: libc::UTIME_NOW };
    // SAFETY: the descriptor is open, and the two times live through the call.
    match unsafe { libc::futimens(file.as_raw_fd(), [now, now].as_ptr()) } {
        0 => Ok(()),
        _ => Err(std::io::Error::last_os_error()),
    }
}

/// How many builds are running, and when the oldest began: what was used since then stays. With none
/// it is now, by the clock of the file system, which is the one that last uses are stamped by.
pub(super) fn living(root: &Path, mode: u32) -> Result<(usize, SystemTime)> {
    let runs = root.join(RUNS);
    make_dir(&runs, mode)?;
    let clock = tempfile::Builder::new()
        .prefix("clock-")
        .tempfile_in(&runs)
        .map_err(|error| Error::file(&runs, "cannot write to the cache").because(error))?;
    let mut oldest = clock.as_file().metadata()?.modified()?;
    let mut count = 0;
    for entry in fs_err::read_dir(&runs)? {
        let entry = entry?;
        if !entry.file_name().to_string_lossy().starts_with("run-") {
            continue;
        }
        let is_dead = match crate::fs::open_lock(&entry.path()) {
            Ok(file) => file.try_lock().is_ok(),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
            // What cannot be looked into is taken for alive.
            Err(_) => false,
        };
        if is_dead {
            let _ = std::fs::remove_file(entry.path());
        } else if let Ok(data) = std::fs::metadata(entry.path()) {
            count += 1;
            oldest = oldest.min(data.modified()?);
        }
    }
    Ok((count, oldest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_running_build_is_seen_and_a_dead_one_forgotten() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(living(dir.path(), 0o755).unwrap().0, 0);
        let run = Run::begin(dir.path(), 0o755).unwrap();
        let (count, horizon) = living(dir.path(), 0o755).unwrap();
        assert_eq!((count, horizon), (1, run.began));
        std::fs::write(dir.path().join(RUNS).join("run-dead"), "").unwrap();
        assert_eq!(living(dir.path(), 0o755).unwrap().0, 1);
        assert!(!dir.path().join(RUNS).join("run-dead").exists());
        drop(run);
        assert_eq!(living(dir.path(), 0o755).unwrap().0, 0);
    }
}
