//! The other side of a question to a process of its own: one answer on standard output, and nothing else.

use std::io::Write;
use std::os::fd::{FromRawFd, OwnedFd};

/// Standard output, kept for one answer. Whatever else is printed meanwhile, by libraries that know no better, goes to
/// standard error.
#[derive(Debug)]
pub struct Answering(std::fs::File);

impl Answering {
    /// Takes standard output away. A crash from here on leaves no core file: it is expected.
    ///
    /// # Errors
    /// The process has no standard output.
    pub fn begin() -> std::io::Result<Self> {
        // SAFETY: numbers only; the new descriptor belongs to nobody else.
        let kept = unsafe {
            let none = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
            libc::setrlimit(libc::RLIMIT_CORE, &none);
            match libc::fcntl(libc::STDOUT_FILENO, libc::F_DUPFD_CLOEXEC, 3) {
                -1 => return Err(std::io::Error::last_os_error()),
                descriptor => OwnedFd::from_raw_fd(descriptor),
            }
        };
        // SAFETY: as above.
        match unsafe { libc::dup2(libc::STDERR_FILENO, libc::STDOUT_FILENO) } {
            -1 => Err(std::io::Error::last_os_error()),
            _ => Ok(Self(std::fs::File::from(kept))),
        }
    }

    /// Gives the answer and ends the process at once: what libraries would do at its end may hang, and nobody needs it.
    ///
    /// # Errors
    /// The answer cannot be written; then the process goes on.
    pub fn end(mut self, answer: &[u8]) -> std::io::Result<()> {
        self.0.write_all(answer)?;
        // SAFETY: ends the process without running what was registered for its end.
        unsafe { libc::_exit(0) }
    }
}
