//! A program that is watched: a time limit, its whole process group ended when it must end, the memory
//! it took.

use std::io::Read;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::process::{CommandExt as _, ExitStatusExt};
use std::process::{ExitStatus, Stdio};
use std::time::{Duration, Instant};

use super::call::own_session;
use super::interrupt::interrupted;
use super::lineage::{Taken, taken};
use super::text_busy::retry_text_busy;
use super::{Call, Isolation, Outcome, Sandbox};
use crate::error::{Error, Result};

/// How often an interruption is looked for.
const TICK: Duration = Duration::from_millis(50);

/// The shortest and the longest time between two looks at what a program's descendants take. Between them it is an
/// eighth of the time that the program has run: what lasts is seen, and a look costs a hundredth of that at most.
const LOOKS: [Duration; 2] = [Duration::from_millis(25), Duration::from_millis(500)];

/// How long a killed program may take to be gone: longer only when the kernel itself waits in a call of it.
const GRACE: Duration = Duration::from_secs(3);

/// Why a watched program ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// It came to its own end.
    Itself,
    /// It was stopped at the limit.
    TimeOut,
    /// It was stopped because the run was interrupted.
    Interrupted,
    /// It was to be stopped, and the kernel did not end it: it waits for a device, or for a server. It is left alone.
    Stuck,
}

/// What a watched program left.
#[derive(Debug)]
pub struct Watched {
    /// Output and exit status.
    pub outcome: Outcome,
    /// Why it ended.
    pub ended: Ended,
    /// Bytes of memory that the largest process among it and its children had at its peak. Never less
    /// than this process had itself when it started the program: the kernel counts from the fork. Below
    /// bubblewrap what was seen every few moments.
    pub peak: u64,
    /// Processor time of it and its children.
    pub cpu: Duration,
}

impl Call {
    /// Runs the program in a session of its own, for `limit` at most. When it ends, by itself or
    /// not, nothing of its group is left; when this process dies, so does the program.
    ///
    /// # Errors
    /// The program cannot be started.
    pub fn run_watched(&self, limit: Option<Duration>) -> Result<Watched> {
        let started = Instant::now();
        let mut command = self.command()?;
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        if self.sandbox.is_none() {
            own_session(&mut command);
        }
        let parent = std::process::id();
        // A program in namespaces of its own has another parent; it sees to its end itself.
        let has_namespaces = matches!(&self.sandbox, Some(Sandbox { by: Isolation::Namespaces { .. }, .. }));
        // SAFETY: only system calls that are safe between fork and exec; the thread that starts the
        // program waits for it, so that its death is that of the process.
        let arrange = |command: &mut std::process::Command| unsafe {
            command.pre_exec(move || {
                libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
                match libc::getppid() as u32 == parent {
                    true => Ok(()),
                    // It died before it could be watched.
                    false => Err(std::io::Error::from_raw_os_error(libc::ESRCH)),
                }
            });
        };
        if !has_namespaces {
            arrange(&mut command);
        }
        let mut child = retry_text_busy(|| command.spawn())
            .map_err(|error| Error::toolchain(format!("cannot start {}", self.program.display())).because(error))?;
        let cannot =
            |error: std::io::Error| Error::toolchain(format!("cannot watch {}", self.program.display())).because(error);
        let mut watch = Watch {
            pid: child.id() as i32,
            exit: pidfd(child.id()),
            started,
            looked: matches!(&self.sandbox, Some(Sandbox { by: Isolation::Bubblewrap(_), .. })).then_some(started),
            taken: Taken::default(),
            grace: GRACE,
            pipes: [
                child.stdout.take().map(|pipe| Pipe::new(pipe.into())),
                child.stderr.take().map(|pipe| Pipe::new(pipe.into())),
            ],
        };
        let ended = watch.wait(limit.map(|limit| started + limit)).map_err(cannot)?;
        let (status, usage) = match ended {
            // Nobody can wait for it. That it was killed is all that is known.
            // SAFETY: a zeroed `rusage` is a valid one.
            Ended::Stuck => (ExitStatus::from_raw(libc::SIGKILL), unsafe { std::mem::zeroed() }),
            _ => watch.reap().map_err(cannot)?,
        };
        let seen = watch.taken;
        let [stdout, stderr] = watch.pipes.map(|pipe| pipe.map(|pipe| pipe.bytes).unwrap_or_default());
        let seconds = |time: libc::timeval| Duration::new(time.tv_sec as u64, time.tv_usec as u32 * 1000);
        Ok(Watched {
            outcome: Outcome { status: self.how_it_ended(status), stdout, stderr, time: started.elapsed() },
            ended,
            // The kernel answers in units of 1024 bytes.
            peak: u64::try_from(usage.ru_maxrss).unwrap_or(0).saturating_mul(1024).max(seen.peak),
            cpu: (seconds(usage.ru_utime) + seconds(usage.ru_stime)).max(seen.cpu),
        })
    }
}

/// One end of a pipe, and what came through it.
struct Pipe {
    file: std::fs::File,
    bytes: Vec<u8>,
    open: bool,
}

impl Pipe {
    fn new(end: OwnedFd) -> Self {
        // SAFETY: flags of a descriptor that is open.
        unsafe {
            let flags = libc::fcntl(end.as_raw_fd(), libc::F_GETFL);
            libc::fcntl(end.as_raw_fd(), libc::F_SETFL, flags | libc::O_NONBLOCK);
        }
        Self { file: std::fs::File::from(end), bytes: Vec::new(), open: true }
    }

    /// Takes what is there.
    fn take(&mut self) {
        let mut buffer = [0; 1 << 14];
        while self.open {
            match self.file.read(&mut buffer) {
                Ok(0) => self.open = false,
                Ok(count) => self.bytes.extend_from_slice(&buffer[..count]),
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => return,
                Err(_) => self.open = false,
            }
        }
    }
}

/// A program that runs.
struct Watch {
    pid: i32,
    /// Readable when it has ended; none on kernels before 5.3.
    exit: Option<OwnedFd>,
    started: Instant,
    /// When was last looked at what it and its descendants take; none where the kernel tells that at its end.
    looked: Option<Instant>,
    /// What they took, as far as it was seen.
    taken: Taken,
    grace: Duration,
    pipes: [Option<Pipe>; 2],
}

impl Watch {
    /// Waits for its end, or ends it; then nothing of its group is left, and the program itself waits
    /// to be reaped.
    fn wait(&mut self, deadline: Option<Instant>) -> std::io::Result<Ended> {
        let mut ended = Ended::Itself;
        let mut killed: Option<Instant> = None;
        loop {
            if killed.is_some_and(|since| since.elapsed() > self.grace) {
                return Ok(Ended::Stuck);
            }
            if ended == Ended::Itself {
                if interrupted().is_some() {
                    ended = Ended::Interrupted;
                } else if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                    ended = Ended::TimeOut;
                }
                if ended != Ended::Itself {
                    self.kill();
                    killed = Some(Instant::now());
                }
            }
            self.poll();
            self.look();
            self.pipes.iter_mut().flatten().for_each(Pipe::take);
            if self.has_ended()? {
                // What it left in the background would go on writing into directories that are moved.
                // Its number cannot have been given away: it is not reaped yet.
                self.kill();
                self.pipes.iter_mut().flatten().for_each(Pipe::take);
                return Ok(ended);
            }
        }
    }

    /// Waits for output or the end, a tick at most.
    fn poll(&self) {
        let pipes = self.pipes.iter().flatten().filter(|pipe| pipe.open).map(|pipe| pipe.file.as_raw_fd());
        let mut polled: Vec<libc::pollfd> = pipes
            .chain(self.exit.iter().map(AsRawFd::as_raw_fd))
            .map(|fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 })
            .collect();
        let tick = if self.exit.is_some() { TICK } else { TICK / 10 };
        // SAFETY: the list lives through the call. A failure is a tick that was shorter.
        unsafe { libc::poll(polled.as_mut_ptr(), polled.len() as libc::nfds_t, tick.as_millis() as i32) };
    }

    /// Looks at what its descendants take, when it is time to.
    fn look(&mut self) {
        let pause = (self.started.elapsed() / 8).clamp(LOOKS[0], LOOKS[1]);
        if let Some(looked) = self.looked.as_mut().filter(|looked| looked.elapsed() >= pause) {
            *looked = Instant::now();
            self.taken = self.taken.max(taken(self.pid as u32, self.taken.peak));
        }
    }

    fn has_ended(&self) -> std::io::Result<bool> {
        // SAFETY: a zeroed `siginfo_t` is a valid one, and it lives through the call.
        unsafe {
            let mut info: libc::siginfo_t = std::mem::zeroed();
            let options = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
            match libc::waitid(libc::P_PID, self.pid as libc::id_t, &mut info, options) {
                0 => Ok(info.si_pid() != 0),
                _ => match std::io::Error::last_os_error() {
                    error if error.kind() == std::io::ErrorKind::Interrupted => Ok(false),
                    error => Err(error),
                },
            }
        }
    }

    fn kill(&self) {
        // SAFETY: a group that this process made.
        unsafe { libc::kill(-self.pid, libc::SIGKILL) };
    }

    fn reap(&self) -> std::io::Result<(ExitStatus, libc::rusage)> {
        loop {
            let mut status = 0;
            // SAFETY: a zeroed `rusage` is a valid one; both live through the call.
            let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
            // SAFETY: as above.
            match unsafe { libc::wait4(self.pid, &mut status, 0, &mut usage) } {
                -1 => match std::io::Error::last_os_error() {
                    error if error.kind() == std::io::ErrorKind::Interrupted => {}
                    error => return Err(error),
                },
                _ => return Ok((ExitStatus::from_raw(status), usage)),
            }
        }
    }
}

fn pidfd(pid: u32) -> Option<OwnedFd> {
    // SAFETY: no pointers; the answer is a new descriptor that nobody else owns.
    unsafe {
        match libc::syscall(libc::SYS_pidfd_open, pid, 0) {
            -1 => None,
            fd => Some(OwnedFd::from_raw_fd(fd as i32)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sh(script: &str) -> Call {
        Call::new("/bin/sh").args(["-c", script])
    }

    #[test]
    fn output_status_time_and_memory_are_those_of_the_program() {
        let ran = sh("echo out; echo err >&2; exit 3").run_watched(None).unwrap();
        assert_eq!((ran.outcome.stdout_text().as_str(), ran.outcome.status.code()), ("out\n", Some(3)));
        assert_eq!((ran.outcome.all_text().as_str(), ran.ended), ("err\nout\n", Ended::Itself));
        // 64 MiB in one string of a shell variable.
        let ran = sh("x=$(head -c 67108864 /dev/zero | tr '\\0' x); echo ${#x}").run_watched(None).unwrap();
        assert_eq!(ran.outcome.stdout_text(), "67108864\n");
        assert!(ran.peak > 64 << 20, "{}", ran.peak);
        let much = sh("head -c 3000000 /dev/zero; head -c 3000000 /dev/zero >&2").run_watched(None).unwrap();
        assert_eq!((much.outcome.stdout.len(), much.outcome.stderr.len()), (3_000_000, 3_000_000));
    }

    /// A program in the group of this process does not get the signal: like one that waits in the kernel.
    #[test]
    fn what_cannot_be_ended_is_not_waited_for() {
        let mut child = std::process::Command::new("/bin/sleep").arg("600").spawn().unwrap();
        let grace = Duration::from_millis(100);
        let mut watch = Watch {
            pid: child.id() as i32,
            exit: pidfd(child.id()),
            grace,
            started: Instant::now(),
            looked: None,
            taken: Taken::default(),
            pipes: [None, None],
        };
        let started = Instant::now();
        assert_eq!(watch.wait(Some(started + grace)).unwrap(), Ended::Stuck);
        assert!(started.elapsed() < Duration::from_secs(60));
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn at_the_limit_the_whole_group_ends() {
        let dir = tempfile::tempdir().unwrap();
        let alive = dir.path().join("alive");
        let script = format!("(sleep 2; touch '{}') & echo begun; sleep 600", alive.display());
        let started = Instant::now();
        let ran = sh(&script).run_watched(Some(Duration::from_millis(300))).unwrap();
        assert_eq!((ran.ended, ran.outcome.stdout_text().as_str()), (Ended::TimeOut, "begun\n"));
        assert!(started.elapsed() < Duration::from_secs(100));
        // Nor does one in the background outlive a program that comes to its end.
        let ran = sh(&script.replace("sleep 600", "exit 0")).run_watched(None).unwrap();
        assert_eq!((ran.ended, ran.outcome.status.code()), (Ended::Itself, Some(0)));
        std::thread::sleep(Duration::from_millis(2500));
        assert!(!alive.exists());
    }
}
