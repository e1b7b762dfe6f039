//! The one error type: what failed, on what, why, and what to do about it.
//!
//! An error means that simpack could not do its work. A statement about a subject that simpack
//! examined is a [`Finding`](crate::report::Finding), never an error.

use std::fmt;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Result with simpack's error.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Exit code of denied findings.
pub const DENIED: u8 = 1;
/// Exit code of an examination that could not see everything.
pub const INCOMPLETE: u8 = 7;

/// All exit codes of simpack with their meaning: `simpack --help` and the book repeat them.
pub const EXIT_CODES: [(u8, &str); 11] = [
    (0, "done, or nothing worse than warnings"),
    (DENIED, "denied findings"),
    (2, "the command line asks for something impossible"),
    (3, "the recipe is wrong"),
    (4, "a toolchain could not be fetched, found or used"),
    (5, "a build step failed"),
    (6, "a file could not be read, written or understood"),
    (INCOMPLETE, "something could not be examined"),
    (8, "a lock or generated file is stale (--check, --locked)"),
    (70, "internal error"),
    (130, "interrupted"),
];

/// Class of a failure. It decides the exit code and nothing else.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ErrorKind {
    /// The command line asks for something impossible (exit 2).
    Usage,
    /// The recipe or a data file that people write is wrong (exit 3).
    Recipe,
    /// A toolchain could not be fetched, found or used (exit 4).
    Toolchain,
    /// A build step failed (exit 5).
    Build,
    /// A file could not be read, written or understood (exit 6).
    File,
    /// What the work is about could not be examined: a damaged package, a manifest that nobody can read (exit 7).
    Incomplete,
    /// A lock or a generated file is not what the recipe asks for today (exit 8).
    Stale,
    /// The user interrupted the run (exit 130).
    Interrupted,
    /// A promise inside simpack does not hold: a bug (exit 70).
    Bug,
}

impl ErrorKind {
    /// Exit code of the process; [`EXIT_CODES`] says what each means.
    pub fn exit_code(self) -> u8 {
        match self {
            Self::Usage => 2,
            Self::Recipe => 3,
            Self::Toolchain => 4,
            Self::Build => 5,
            Self::File => 6,
            Self::Incomplete => INCOMPLETE,
            Self::Stale => 8,
            Self::Bug => 70,
            Self::Interrupted => 130,
        }
    }
}

/// What `--json` prints in the place of a result when a verb fails.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct ErrorJson {
    /// Always 1.
    pub schema: u32,
    /// The failure.
    pub error: ErrorRecord,
}

/// A failure as JSON.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct ErrorRecord {
    /// Class of the failure.
    pub kind: ErrorKind,
    /// Exit code of the process.
    pub exit_code: u8,
    /// What failed, on what.
    pub message: String,
    /// Why, nearest first.
    pub causes: Vec<String>,
    /// Lines that explain.
    pub details: Vec<String>,
    /// What to do.
    pub hints: Vec<String>,
}

/// A failure with its message, the lines that explain it, and hints.
///
/// `message` is a lowercase fragment without a full stop. `details` are whole lines printed below
/// it, `hints` say what the user can do next.
#[derive(Debug)]
pub struct Error {
    kind: ErrorKind,
    message: String,
    details: Vec<String>,
    hints: Vec<String>,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

impl Error {
    /// A new error of `kind`.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), details: Vec::new(), hints: Vec::new(), source: None }
    }

    /// The command line asks for something impossible.
    pub fn usage(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Usage, message)
    }

    /// The recipe is wrong.
    pub fn recipe(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Recipe, message)
    }

    /// A lock or a generated file is not what the recipe asks for today.
    pub fn stale(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Stale, message)
    }

    /// A toolchain could not be fetched, found or used.
    pub fn toolchain(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Toolchain, message)
    }

    /// A build step failed.
    pub fn build(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Build, message)
    }

    /// A file could not be read, written or understood.
    pub fn file(path: impl Into<PathBuf>, message: impl fmt::Display) -> Self {
        Self::new(ErrorKind::File, format!("{}: {message}", path.into().display()))
    }

    /// What the work is about could not be examined.
    pub fn incomplete(path: impl Into<PathBuf>, message: impl fmt::Display) -> Self {
        Self::new(ErrorKind::Incomplete, format!("{}: {message}", path.into().display()))
    }

    /// A promise inside simpack does not hold.
    pub fn bug(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Bug, message).hint("this is an internal error: please report it with the command")
    }

    /// Adds a line that says what to do.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// Adds a line that explains.
    #[must_use]
    pub fn detail(mut self, detail: impl Into<String>) -> Self {
        self.details.push(detail.into());
        self
    }

    /// Keeps the cause; its text is printed after the message.
    #[must_use]
    pub fn because(mut self, source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        let source = source.into();
        let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(source.as_ref());
        while let Some(error) = cause {
            let kind = error.downcast_ref::<std::io::Error>().map(std::io::Error::kind);
            if kind == Some(std::io::ErrorKind::StorageFull) {
                self.hints.push(FULL.to_owned());
                break;
            }
            cause = error.source();
        }
        self.source = Some(source);
        self
    }

    /// The failure as `--json` prints it.
    pub fn json(&self) -> ErrorJson {
        let mut causes = Vec::new();
        let mut cause = std::error::Error::source(self);
        while let Some(source) = cause {
            causes.push(source.to_string());
            cause = source.source();
        }
        let error = ErrorRecord {
            kind: self.kind,
            exit_code: self.kind.exit_code(),
            message: self.message.clone(),
            causes,
            details: self.details.clone(),
            hints: self.hints.clone(),
        };
        ErrorJson { schema: 1, error }
    }

    /// Class of the failure.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// Lines that explain, in order.
    pub fn details(&self) -> &[String] {
        &self.details
    }

    /// Lines that say what to do, in order.
    pub fn hints(&self) -> &[String] {
        &self.hints
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source.as_ref().map(|source| source.as_ref() as _)
    }
}

/// What to do when a file system is full.
const FULL: &str = "free some space or choose another directory";

/// fs-err's messages already name the file and the operation.
impl From<std::io::Error> for Error {
    fn from(error: std::io::Error) -> Self {
        let hint = match error.kind() {
            std::io::ErrorKind::StorageFull => Some(FULL),
            std::io::ErrorKind::PermissionDenied => Some("check the permissions of the file and its directory"),
            std::io::ErrorKind::ReadOnlyFilesystem => Some("choose a directory that can be written"),
            _ => None,
        };
        let mut result = Self::new(ErrorKind::File, error.to_string());
        if let Some(hint) = hint {
            result = result.hint(hint);
        }
        result
    }
}
