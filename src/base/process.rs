//! The one door to external tools: clean environment, captured output, measured time.

mod answering;
mod bubblewrap;
mod interrupt;
mod landlock;
mod lineage;
mod namespaces;
mod sandbox;
#[cfg(test)]
#[path = "process/tests.rs"]
mod sandbox_tests;
mod watched;

use std::collections::BTreeMap;
use std::os::fd::RawFd;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

pub use answering::Answering;
pub use interrupt::{InterruptGuard, check_interrupted, interrupted, run_interruptible, signal_name};
pub use sandbox::{Isolation, IsolationKind, Sandbox, candidates};
pub use watched::{Ended, Watched};

use crate::error::{Error, Result};

/// A program call as a value. The environment is exactly `env`: nothing is inherited.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// Program, an absolute path or a name that `PATH` of `env` finds.
    pub program: PathBuf,
    /// Arguments.
    pub args: Vec<String>,
    /// Working directory; the caller's when absent.
    pub dir: Option<PathBuf>,
    /// The whole environment of the program.
    pub env: BTreeMap<String, String>,
    /// What the program may see and write; everything when absent.
    pub sandbox: Option<Sandbox>,
    /// Descriptors that the program inherits besides its standard ones.
    pub handed_on: Vec<RawFd>,
}

/// What a finished program left.
#[derive(Debug)]
pub struct Outcome {
    /// How it ended.
    pub status: ExitStatus,
    /// Standard output.
    pub stdout: Vec<u8>,
    /// Standard error.
    pub stderr: Vec<u8>,
    /// Wall time.
    pub time: Duration,
}

impl Outcome {
    /// Standard output as text; bytes that are not UTF-8 are replaced.
    pub fn stdout_text(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }

    /// Standard error as text; bytes that are not UTF-8 are replaced.
    pub fn stderr_text(&self) -> String {
        String::from_utf8_lossy(&self.stderr).into_owned()
    }

    /// Standard error, then standard output, as text: where compilers put their complaints.
    pub fn all_text(&self) -> String {
        let mut text = String::from_utf8_lossy(&self.stderr).into_owned();
        text.push_str(&String::from_utf8_lossy(&self.stdout));
        text
    }

    /// "exit 2" or "killed by SIGKILL".
    pub fn how(&self) -> String {
        use std::os::unix::process::ExitStatusExt;
        match (self.status.code(), self.status.signal()) {
            (Some(code), _) => format!("exit {code}"),
            (None, Some(signal)) => format!("killed by {}", signal_name(signal)),
            (None, None) => "ended in an unknown way".to_owned(),
        }
    }
}

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

/// Lets a program begin a session and a process group of its own: it has no terminal to read from or to type into.
fn own_session(command: &mut Command) {
    // SAFETY: a system call without arguments that is safe between fork and exec.
    unsafe {
        command.pre_exec(|| match libc::setsid() {
            -1 => Err(std::io::Error::last_os_error()),
            _ => Ok(()),
        });
    }
}

impl Call {
    /// A call of `program` with an empty environment but for `PATH` of this process and `LC_ALL=C`.
    pub fn new(program: impl Into<PathBuf>) -> Self {
        let mut env = BTreeMap::from([("LC_ALL".to_owned(), "C".to_owned())]);
        if let Ok(path) = std::env::var("PATH") {
            env.insert("PATH".to_owned(), path);
        }
        Self { program: program.into(), args: Vec::new(), dir: None, env, sandbox: None, handed_on: Vec::new() }
    }

    /// Adds one argument.
    #[must_use]
    pub fn arg(mut self, arg: impl Into<String>) -> Self {
        self.args.push(arg.into());
        self
    }

    /// Adds arguments.
    #[must_use]
    pub fn args<A: Into<String>>(mut self, args: impl IntoIterator<Item = A>) -> Self {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }

    /// Sets the working directory.
    #[must_use]
    pub fn dir(mut self, dir: impl AsRef<Path>) -> Self {
        self.dir = Some(dir.as_ref().to_owned());
        self
    }

    /// Sets one variable.
    #[must_use]
    pub fn env(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.env.insert(name.into(), value.into());
        self
    }

    /// Passes variables of this process through, those that are set.
    #[must_use]
    pub fn pass<'a>(mut self, names: impl IntoIterator<Item = &'a str>) -> Self {
        for name in names {
            if let Ok(value) = std::env::var(name) {
                self.env.insert(name.to_owned(), value);
            }
        }
        self
    }

    /// Passes all variables of this process through: for what would else run in it.
    #[must_use]
    pub fn pass_all(mut self) -> Self {
        let all =
            std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
        self.env.extend(all);
        self
    }

    /// Holds the program to what it may see and write.
    #[must_use]
    pub fn within(mut self, sandbox: Option<Sandbox>) -> Self {
        self.sandbox = sandbox;
        self
    }

    /// Lets the program inherit descriptors, which must stay open until it has started.
    #[must_use]
    pub fn hand_on(mut self, descriptors: impl IntoIterator<Item = RawFd>) -> Self {
        self.handed_on.extend(descriptors);
        self
    }

    /// The command as a line for a shell.
    pub fn line(&self) -> String {
        let quote = |word: &str| {
            let plain = |c: char| c.is_ascii_alphanumeric() || "-_=+./:,@%".contains(c);
            if !word.is_empty() && word.chars().all(plain) {
                word.to_owned()
            } else {
                format!("'{}'", word.replace('\'', "'\\''"))
            }
        };
        let words = std::iter::once(self.program.to_string_lossy().into_owned()).chain(self.args.iter().cloned());
        words.map(|word| quote(&word)).collect::<Vec<_>>().join(" ")
    }

    /// The call as something that can be started, inside its sandbox if it has one.
    fn command(&self) -> Result<Command> {
        let mut command = match &self.sandbox {
            Some(sandbox) => sandbox.command(self)?,
            None => self.plain(),
        };
        command.stdin(Stdio::null());
        if !self.handed_on.is_empty() {
            let descriptors = self.handed_on.clone();
            // SAFETY: a system call that is safe between fork and exec, on memory that the closure owns.
            unsafe {
                command.pre_exec(move || {
                    for descriptor in &descriptors {
                        if libc::fcntl(*descriptor, libc::F_SETFD, 0) == -1 {
                            return Err(std::io::Error::last_os_error());
                        }
                    }
                    Ok(())
                });
            }
        }
        Ok(command)
    }

    /// `program` without any variable; what has a sandbox gets a session of its own, and with it no terminal.
    fn start(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.env_clear();
        if self.sandbox.is_some() {
            own_session(&mut command);
        }
        command
    }

    /// Program, arguments, variables and working directory.
    fn plain(&self) -> Command {
        let mut command = self.start(&self.program);
        command.args(&self.args).envs(&self.env);
        if let Some(dir) = &self.dir {
            command.current_dir(dir);
        }
        command
    }

    /// How the program itself ended: bubblewrap tells of a signal by its exit code.
    fn how_it_ended(&self, status: ExitStatus) -> ExitStatus {
        use std::os::unix::process::ExitStatusExt;
        let by_bubblewrap = matches!(&self.sandbox, Some(Sandbox { by: Isolation::Bubblewrap(_), .. }));
        match status.code().and_then(bubblewrap::signal_of) {
            Some(signal) if by_bubblewrap => ExitStatus::from_raw(signal),
            _ => status,
        }
    }

    /// Runs the program to its end, whatever it answers.
    ///
    /// # Errors
    /// The program cannot be started.
    pub fn run(&self) -> Result<Outcome> {
        let started = Instant::now();
        let mut command = self.command()?;
        let output = retry_text_busy(|| command.output())
            .map_err(|error| Error::toolchain(format!("cannot start {}", self.program.display())).because(error))?;
        let status = self.how_it_ended(output.status);
        Ok(Outcome { status, stdout: output.stdout, stderr: output.stderr, time: started.elapsed() })
    }

    /// Runs the program and answers its standard output; anything but exit 0 is an error that
    /// carries the end of what it printed.
    ///
    /// # Errors
    /// The program does not start, or ends with another code than 0.
    pub fn read(&self) -> Result<String> {
        let outcome = self.run()?;
        if outcome.status.success() {
            return Ok(outcome.stdout_text());
        }
        let mut error = Error::toolchain(format!("{} failed, {}", self.program.display(), outcome.how()))
            .detail(format!("command: {}", self.line()));
        let text = outcome.all_text();
        let lines: Vec<&str> = text.lines().collect();
        for line in &lines[lines.len().saturating_sub(12)..] {
            error = error.detail(*line);
        }
        Err(error)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::{Call, await_closed};

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
