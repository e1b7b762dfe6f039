//! Runs calls to their end, each by the means of its sandbox.

use std::collections::BTreeMap;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::Instant;

use super::text_busy::retry_text_busy;
use super::{Call, Isolation, Outcome, Sandbox, bubblewrap, landlock, namespaces};
use crate::error::{Error, Result};

/// The call as something that can be started inside a sandbox.
fn inside(sandbox: &Sandbox, call: &Call) -> Result<Command> {
    match &sandbox.by {
        Isolation::Bubblewrap(program) => Ok(bubblewrap::command(sandbox, program, call)),
        Isolation::Namespaces { user } => namespaces::command(sandbox, *user, call),
        Isolation::Landlock => landlock::command(sandbox, call),
    }
}

impl Call {
    /// The call as something that can be started, inside its sandbox if it has one.
    pub(super) fn command(&self) -> Result<Command> {
        let mut command = match &self.sandbox {
            Some(sandbox) => inside(sandbox, self)?,
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

    /// How the program itself ended: bubblewrap tells of a signal by its exit code.
    pub(super) fn how_it_ended(&self, status: ExitStatus) -> ExitStatus {
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

impl Sandbox {
    /// Tries whether this machine lets a program run like this, able to read the directory `see`.
    ///
    /// # Errors
    /// It does not, and why.
    pub fn probe(&self, see: &Path) -> Result<()> {
        let script = "test -r \"$SEE\" && test -w \"$TMPDIR\"";
        let call = Call {
            program: PathBuf::from("/bin/sh"),
            args: vec!["-c".to_owned(), script.to_owned()],
            dir: Some(PathBuf::from("/")),
            env: BTreeMap::from([
                ("PATH".to_owned(), "/usr/bin:/bin".to_owned()),
                ("SEE".to_owned(), see.to_string_lossy().into_owned()),
                ("TMPDIR".to_owned(), self.temporary.to_string_lossy().into_owned()),
            ]),
            sandbox: Some(self.clone()),
            handed_on: Vec::new(),
        };
        let outcome = call.run()?;
        if outcome.status.success() {
            return Ok(());
        }
        let text = outcome.all_text();
        let why = text.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("nothing said");
        Err(Error::toolchain(format!("{}: {why}, {}", self.by, outcome.how())))
    }
}
