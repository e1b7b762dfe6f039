//! Why a program failed, from how it ended and what it said.

use std::os::unix::process::ExitStatusExt;

use crate::manifest::MemoryModel;
use crate::process::{Outcome, signal_name};

/// Why a program failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::engine) enum Cause {
    /// It says so itself: a mistake in the source, a missing file.
    Told,
    /// It crashed; by which signal.
    Crashed(&'static str),
    /// Memory was not enough; by what that is known.
    Memory(String),
    /// A file system is full.
    Full,
}

/// Signals by which programs end that have mistakes in them.
const CRASHES: [i32; 5] = [libc::SIGSEGV, libc::SIGABRT, libc::SIGBUS, libc::SIGILL, libc::SIGFPE];

/// Why a program failed that nobody stopped.
pub(in crate::engine) fn cause(outcome: &Outcome, model: &MemoryModel) -> Cause {
    let text = outcome.all_text();
    // Shells, make and drivers answer 128 + N for a child that signal N ended.
    let signal = outcome.status.signal().or_else(|| outcome.status.code().and_then(|code| code.checked_sub(128)));
    if signal == Some(libc::SIGKILL) {
        return Cause::Memory(format!("{}, as the kernel does when memory runs out", outcome.how()));
    }
    if let Some(line) = model.complaint(&text) {
        return Cause::Memory(line.trim().to_owned());
    }
    if text.contains("No space left on device") {
        return Cause::Full;
    }
    if let Some(signal) = signal.filter(|signal| CRASHES.contains(signal)) {
        return Cause::Crashed(signal_name(signal));
    }
    // nvcc's words about its own programs.
    let crashed = CRASHES.into_iter().find(|signal| text.contains(&format!("died due to signal {signal} ")));
    crashed.map_or(Cause::Told, |signal| Cause::Crashed(signal_name(signal)))
}

#[cfg(test)]
mod tests {
    use std::process::ExitStatus;
    use std::time::Duration;

    use super::*;
    use crate::data::Data;

    #[test]
    fn causes_are_told_apart() {
        let model = MemoryModel::load(&Data::at("/nowhere")).unwrap();
        let of = |status: i32, said: &str| {
            let status = ExitStatus::from_raw(status);
            let stderr = said.as_bytes().to_vec();
            cause(&Outcome { status, stdout: Vec::new(), stderr, time: Duration::ZERO }, &model)
        };
        let exit = |code: i32| code << 8;
        assert_eq!(of(exit(1), "a.cu(3): error: expected a `;`"), Cause::Told);
        assert_eq!(of(exit(2), "error: memory is undefined"), Cause::Told);
        assert_eq!(of(11, ""), Cause::Crashed("SIGSEGV"));
        assert_eq!(of(exit(139), ""), Cause::Crashed("SIGSEGV"));
        let ptxas = "nvcc error   : 'ptxas' died due to signal 11 (Invalid memory reference)";
        assert_eq!(of(exit(255), ptxas), Cause::Crashed("SIGSEGV"));
        assert!(matches!(of(9, ""), Cause::Memory(_)));
        assert!(matches!(of(exit(137), ""), Cause::Memory(_)));
        let gcc = "g++: fatal error: Killed signal terminated program cc1plus\ncompilation terminated.";
        assert_eq!(of(exit(1), gcc), Cause::Memory(gcc.lines().next().unwrap().to_owned()));
        assert_eq!(of(exit(1), "fatal error: error writing to /tmp/x.s: No space left on device"), Cause::Full);
    }
}
