//! Runs a program within limits; `tests/bench/hostile.rs` uses it, too.

use std::mem::MaybeUninit;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::time::Duration;

/// How a program ended.
pub struct Ended {
    /// As `wait4` gives it.
    pub status: i32,
    /// Most memory that was resident, in bytes.
    pub peak: u64,
    /// Processor time of all its threads.
    pub time: Duration,
}

/// Runs a program to its end, with at most so many seconds of processor time and bytes of address space; tells what the
/// kernel says of this one child.
#[allow(clippy::zombie_processes)] // `wait4` waits for it, because it tells the memory.
pub fn within(seconds: u64, memory: u64, command: &mut Command) -> Ended {
    let limit = |what, most| {
        let limit = libc::rlimit { rlim_cur: most, rlim_max: most };
        // SAFETY: the limit lives through the call.
        unsafe { libc::setrlimit(what, &limit) };
    };
    // SAFETY: only system calls between fork and exec.
    unsafe {
        command.pre_exec(move || {
            limit(libc::RLIMIT_CPU, seconds);
            limit(libc::RLIMIT_AS, memory);
            Ok(())
        });
    }
    let child = command.spawn().unwrap();
    let (mut status, mut usage) = (0, MaybeUninit::<libc::rusage>::zeroed());
    // SAFETY: the child is ours and waited for once; both places live through the call.
    let waited = unsafe { libc::wait4(child.id().cast_signed(), &mut status, 0, usage.as_mut_ptr()) };
    assert!(waited > 0);
    // SAFETY: zeroed, and filled by the call.
    let usage = unsafe { usage.assume_init() };
    let of = |time: libc::timeval| Duration::from_micros((time.tv_sec * 1_000_000 + time.tv_usec).cast_unsigned());
    Ended { status, peak: usage.ru_maxrss.cast_unsigned() << 10, time: of(usage.ru_utime) + of(usage.ru_stime) }
}
