//! Runs the program under test as a user would, without this machine's settings.

use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use simpack::process::retry_text_busy;
use tempfile::TempDir;

/// The commit of a repository that generated workflows install.
const INSTALL_FROM: &str = "https://git.example/simpack.git#0123456789abcdef0123456789abcdef01234567";

/// Variables that would change what a run does.
const SETTINGS: [&str; 12] = [
    "SOURCE_DATE_EPOCH",
    "CUDA_HOME",
    "CUDA_PATH",
    "CXX",
    "CC",
    "CXXFLAGS",
    "CFLAGS",
    "LDFLAGS",
    "NVCC_APPEND_FLAGS",
    "NVCC_PREPEND_FLAGS",
    "COLUMNS",
    "LD_LIBRARY_PATH",
];

/// How a program ended.
#[derive(Debug)]
pub struct Ran {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Ran {
    pub fn of(command: &mut Command) -> Self {
        let output = retry_text_busy(|| command.output()).unwrap_or_else(|error| panic!("{command:?}: {error}"));
        Self { code: output.status.code(), stdout: text(&output.stdout), stderr: text(&output.stderr) }
    }

    /// The run, which must have ended with this exit code.
    #[track_caller]
    pub fn exit(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "stdout:\n{}\nstderr:\n{}", self.stdout, self.stderr);
        self
    }

    #[track_caller]
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}:\n{}", self.stdout))
    }
}

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        Self { code: output.status.code(), stdout: text(&output.stdout), stderr: text(&output.stderr) }
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The program under test.
pub fn program() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_simpack"))
}

/// A call of the program under test in `dir`.
pub fn simpack(dir: &Path, args: &[&str]) -> Command {
    simpack_with(program(), dir, args)
}

/// A call of a copy of the program in `dir`.
pub fn simpack_with(program: &Path, dir: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.current_dir(dir).args(args);
    for name in SETTINGS {
        command.env_remove(name);
    }
    // Wherever tests run, builds are clean but where a test asks for others.
    command.env("CI", "true");
    if args.first() == Some(&"generate") {
        command.env("SIMPACK_INSTALL_FROM", INSTALL_FROM);
    }
    // A shell starts what it runs in the background with SIGINT ignored, and tests interrupt programs.
    // SAFETY: a system call without arguments that refer to memory, safe between fork and exec.
    unsafe {
        command.pre_exec(|| match libc::signal(libc::SIGINT, libc::SIG_DFL) {
            libc::SIG_ERR => Err(std::io::Error::last_os_error()),
            _ => Ok(()),
        });
    }
    command
}

/// A new directory below `target/`, where hard links to the other test directories work.
pub fn scratch() -> TempDir {
    let parent = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    tempfile::Builder::new().prefix("suite-").tempdir_in(parent).unwrap()
}
