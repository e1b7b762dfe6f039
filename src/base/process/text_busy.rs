//! Programs that were just written: the kernel runs none that is open for writing.

use std::path::Path;
use std::time::{Duration, Instant};

/// Starts a program, again for up to two seconds while its file counts as being written: a thread
/// that forks between another one's writing and closing of the file keeps it open until its own
/// `exec`, and the kernel refuses to run what is open for writing (`ETXTBSY`).
///
/// # Errors
/// The program does not start, or its file is still being written after that time.
pub fn retry_text_busy<T>(mut start: impl FnMut() -> std::io::Result<T>) -> std::io::Result<T> {
    let first = Instant::now();
    loop {
        match start() {
            Err(error)
                if error.kind() == std::io::ErrorKind::ExecutableFileBusy
                    && first.elapsed() < Duration::from_secs(2) =>
            {
                std::thread::sleep(Duration::from_millis(5));
            }
            other => return other,
        }
    }
}

/// Waits, for up to two seconds, until no process has a program's file open for writing. What another program starts is
/// not tried again by [`retry_text_busy`]. The kernel gives a lease for reading only on a file that nobody writes to;
/// where it knows no leases there is no waiting.
pub fn await_closed(path: &Path) {
    use std::os::fd::AsRawFd;
    let Ok(file) = std::fs::File::open(path) else { return };
    let first = Instant::now();
    // SAFETY: a lease on a descriptor that is open, given back at once.
    while unsafe { libc::fcntl(file.as_raw_fd(), libc::F_SETLEASE, libc::F_RDLCK) } == -1 {
        let is_open = std::io::Error::last_os_error().raw_os_error() == Some(libc::EAGAIN);
        if !is_open || first.elapsed() > Duration::from_secs(2) {
            return;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    // SAFETY: as above.
    unsafe { libc::fcntl(file.as_raw_fd(), libc::F_SETLEASE, libc::F_UNLCK) };
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::await_closed;
    use crate::process::Call;

    /// A shell starts the program, and does not try again.
    #[test]
    fn what_another_program_starts_is_waited_for_before() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("tool");
        let mut file = std::fs::File::create(&path).unwrap();
        file.write_all(b"#!/bin/sh\necho ran\n").unwrap();
        crate::fs::set_mode(&path, 0o755).unwrap();
        let by_shell = || Call::new("/bin/sh").args(["-c", &format!("'{}'", path.display())]).run().unwrap();
        assert!(by_shell().stderr_text().contains("Text file busy"));
        let slow = std::thread::spawn(move || {
            std::thread::sleep(std::time::Duration::from_millis(200));
            drop(file);
        });
        await_closed(&path);
        assert_eq!(by_shell().stdout_text(), "ran\n");
        slow.join().unwrap();
    }

    #[test]
    fn a_program_that_is_still_open_for_writing_is_waited_for() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("tool");
        let mut file = std::fs::File::create(&path).unwrap();
        file.write_all(b"#!/bin/sh\necho ran\n").unwrap();
        crate::fs::set_mode(&path, 0o755).unwrap();
        let slow = std::thread::spawn(move || {
            std::thread::sleep(std::time::Duration::from_millis(200));
            drop(file);
        });
        assert_eq!(Call::new(&path).run().unwrap().stdout_text(), "ran\n");
        slow.join().unwrap();
    }
}
