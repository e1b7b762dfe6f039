//! Ctrl-C and its kin while work is done: noticed, so that programs are stopped, what is half done is cleared
//! away, and the user is told.
//!
//! Outside of a guard the signals do what they always do: they end the process. Everything that is
//! half done then has a temporary name.

use std::sync::Mutex;
use std::sync::atomic::{AtomicI32, AtomicUsize, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use crate::error::{Error, ErrorKind, Result};

/// How long interrupted work may take to clear up: longer only when it waits for somebody, such as a server
/// that says nothing.
const PATIENCE: Duration = Duration::from_secs(5);
/// How often an interruption is looked for.
const TICK: Duration = Duration::from_millis(50);
/// Stack of the thread that works: what the main thread usually has.
const STACK: usize = 8 << 20;

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

/// An error once the run was interrupted: to be called between pieces of work.
///
/// # Errors
/// It was.
pub fn check_interrupted() -> Result<()> {
    interrupted().map_or(Ok(()), |signal| Err(by(signal)))
}

fn by(signal: &str) -> Error {
    Error::new(ErrorKind::Interrupted, format!("interrupted by {signal}"))
}

/// Does work that may be interrupted: in a thread, so that it need not be waited for when it hears of the
/// interruption too late. Whatever fails after one failed because of it. `kept` says what stays.
///
/// # Errors
/// Those of the work, or it was interrupted.
pub fn run_interruptible<T: Send + 'static>(
    kept: &str,
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    let _guard = InterruptGuard::new();
    let (done, result) = mpsc::channel();
    let worker = std::thread::Builder::new().name("main".to_owned()).stack_size(STACK);
    let worker = worker.spawn(move || done.send(work()))?;
    let mut since = None;
    loop {
        match result.recv_timeout(TICK) {
            Ok(Err(error)) if error.kind() != ErrorKind::Interrupted => {
                return Err(interrupted().map_or(error, |signal| by(signal).detail(kept)));
            }
            Ok(Err(error)) if error.details().is_empty() => return Err(error.detail(kept)),
            Ok(result) => return result,
            // It did not end well: as if it had been this thread.
            Err(mpsc::RecvTimeoutError::Disconnected) => match worker.join() {
                Err(panic) => std::panic::resume_unwind(panic),
                Ok(_) => return Err(Error::bug("work ended without a result")),
            },
            Err(mpsc::RecvTimeoutError::Timeout) => {}
        }
        if let Some(signal) = interrupted()
            && since.get_or_insert_with(Instant::now).elapsed() > PATIENCE
        {
            return Err(by(signal).detail(kept));
        }
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
