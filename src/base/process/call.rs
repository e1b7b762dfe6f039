//! A program call and what it leaves, as values.

use std::collections::BTreeMap;
use std::os::fd::RawFd;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::time::Duration;

use super::interrupt::signal_name;
use super::sandbox::Sandbox;

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

/// Lets a program begin a session and a process group of its own: it has no terminal to read from or to type into.
pub(super) fn own_session(command: &mut Command) {
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

    /// `program` without any variable; what has a sandbox gets a session of its own, and with it no terminal.
    pub(super) fn start(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.env_clear();
        if self.sandbox.is_some() {
            own_session(&mut command);
        }
        command
    }

    /// Program, arguments, variables and working directory.
    pub(super) fn plain(&self) -> Command {
        let mut command = self.start(&self.program);
        command.args(&self.args).envs(&self.env);
        if let Some(dir) = &self.dir {
            command.current_dir(dir);
        }
        command
    }
}
