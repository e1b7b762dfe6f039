//! Ctrl-C and its kin while programs run: noticed, so that they can be stopped and cleared away.
//!
//! Outside of a guard the signals do what they always do: they end the process. Everything that is
//! half done then has a temporary name.

use std::sync::Mutex;
use std::sync::atomic::{AtomicI32, AtomicUsize, Ordering};

/// Signals by which a user or a batch system ends a run.
const SIGNALS: [i32; 3] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP];

static GOT: AtomicI32 = AtomicI32::new(0);
/// Guards that are alive, and what the signals did before the first.
static BEFORE: Mutex<Option<[libc::sigaction; 3]>> = Mutex::new(None);
static GUARDS: AtomicUsize = AtomicUsize::new(0);

extern "C" fn remember(signal: i32) {
    GOT.store(signal, Ordering::SeqCst);
}

/// While it lives, an interruption is remembered instead of ending the process.
#[derive(Debug)]
pub struct InterruptGuard(());

impl InterruptGuard {
    /// Begins to remember. Signals that the caller of this process has switched off stay so.
    #[allow(clippy::new_without_default)]
    pub fn new() -> Self {
        let mut before = BEFORE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if GUARDS.fetch_add(1, Ordering::SeqCst) == 0 {
            // SAFETY: a zeroed `sigaction` is a valid one, and every pointer outlives its call.
            let mut old: [libc::sigaction; 3] = unsafe { std::mem::zeroed() };
            for (signal, old) in SIGNALS.iter().zip(&mut old) {
                // SAFETY: as above; the handler only stores to an atomic.
                unsafe {
                    libc::sigaction(*signal, std::ptr::null(), old);
                    if old.sa_sigaction != libc::SIG_IGN {
                        let mut new: libc::sigaction = std::mem::zeroed();
                        new.sa_sigaction = remember as *const () as usize;
                        libc::sigemptyset(&mut new.sa_mask);
                        libc::sigaction(*signal, &new, std::ptr::null_mut());
                    }
                }
            }
            *before = Some(old);
        }
        Self(())
    }
}

impl Drop for InterruptGuard {
    fn drop(&mut self) {
        let mut before = BEFORE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if GUARDS.fetch_sub(1, Ordering::SeqCst) == 1
            && let Some(old) = before.take()
        {
            for (signal, old) in SIGNALS.iter().zip(&old) {
                // SAFETY: what was in place before is put back.
                unsafe { libc::sigaction(*signal, old, std::ptr::null_mut()) };
            }
        }
    }
}

/// The signal that came since the first guard, by name.
pub fn interrupted() -> Option<&'static str> {
    match GOT.load(Ordering::SeqCst) {
        0 => None,
        signal => Some(signal_name(signal)),
    }
}

/// `SIGKILL`, `SIGSEGV` ...: those that end programs; others by a word.
pub fn signal_name(signal: i32) -> &'static str {
    match signal {
        libc::SIGHUP => "SIGHUP",
        libc::SIGINT => "SIGINT",
        libc::SIGQUIT => "SIGQUIT",
        libc::SIGILL => "SIGILL",
        libc::SIGTRAP => "SIGTRAP",
        libc::SIGABRT => "SIGABRT",
        libc::SIGBUS => "SIGBUS",
        libc::SIGFPE => "SIGFPE",
        libc::SIGKILL => "SIGKILL",
        libc::SIGSEGV => "SIGSEGV",
        libc::SIGPIPE => "SIGPIPE",
        libc::SIGTERM => "SIGTERM",
        libc::SIGXCPU => "SIGXCPU",
        libc::SIGXFSZ => "SIGXFSZ",
        libc::SIGSYS => "SIGSYS",
        _ => "another signal",
    }
}
