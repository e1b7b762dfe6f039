//! What the loader would do, as plain values.

use schemars::JsonSchema;
use serde::Serialize;

use super::object::NeedKind;
use super::tree::FileId;

/// The rule by which a file is looked at.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "rule")]
pub enum Rule {
    /// The name holds a slash: it is a path, and nothing is searched.
    Path,
    /// An object of that name is in the process already.
    Loaded,
    /// It is the loader itself, or something the kernel brings.
    Loader,
    /// `DT_RPATH` of the asking object, of one that brought it, or of the program.
    Rpath {
        /// Object that carries it.
        of: String,
        /// The entry as written.
        entry: String,
    },
    /// `LD_LIBRARY_PATH`.
    LibraryPath {
        /// The entry as written.
        entry: String,
    },
    /// `DT_RUNPATH` of the asking object.
    Runpath {
        /// Object that carries it.
        of: String,
        /// The entry as written.
        entry: String,
    },
    /// `ld.so.cache`.
    Cache,
    /// A directory that the loader searches by itself.
    Default {
        /// The directory.
        entry: String,
    },
}

impl std::fmt::Display for Rule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Path => f.write_str("path"),
            Self::Loaded => f.write_str("loaded already"),
            Self::Loader => f.write_str("the loader itself"),
            Self::Rpath { of, entry } => write!(f, "RPATH {entry} of {}", file_name(of)),
            Self::LibraryPath { entry } => write!(f, "LD_LIBRARY_PATH {entry}"),
            Self::Runpath { of, entry } => write!(f, "RUNPATH {entry} of {}", file_name(of)),
            Self::Cache => f.write_str("ld.so.cache"),
            Self::Default { entry } => write!(f, "default directory {entry}"),
        }
    }
}

/// The last part of a path.
pub fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// What became of a file that the search met.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "outcome", content = "reason")]
pub enum Outcome {
    /// Taken.
    Wins,
    /// Not reached: an earlier one wins.
    Shadowed,
    /// Not reached, and the same file as the winner.
    Same,
    /// Passed over: 32-bit among 64-bit.
    WrongClass,
    /// Passed over: for another processor.
    WrongMachine,
    /// Passed over: may not be read.
    Denied,
    /// Passed over: a process with raised rights preloads set-user-ID libraries only.
    NotSetuid,
    /// Passed over: `DF_1_NODEFLIB` forbids this directory.
    NoDefault,
    /// Passed over: it cannot be opened, and later entries of the same list are not tried.
    Unreadable(String),
    /// The process ends here.
    Fatal(String),
    /// What the loader would say, were this not shadowed.
    ShadowedFatal(String),
}

/// A file that the search met, in order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Candidate {
    /// Path as the loader opens it.
    pub path: String,
    /// Why it was looked at.
    #[serde(flatten)]
    pub rule: Rule,
    /// What became of it.
    #[serde(flatten)]
    pub outcome: Outcome,
    /// Device and inode.
    #[serde(skip)]
    pub id: Option<FileId>,
}

/// How one asking ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "end")]
pub enum End {
    /// An object answers.
    Found {
        /// Its index.
        object: usize,
        /// It came into the process by this.
        new: bool,
    },
    /// No file of that name.
    Missing,
    /// The process ends here.
    Fatal {
        /// What the loader says.
        reason: String,
    },
}

/// One object asking for another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Link {
    /// Index of the asking object.
    pub from: usize,
    /// The name as written.
    pub name: String,
    /// How it asks.
    pub kind: NeedKind,
    /// How it ended.
    #[serde(flatten)]
    pub end: End,
    /// The rule that decided.
    pub by: Option<Rule>,
    /// Files that the search met, in order.
    pub candidates: Vec<Candidate>,
}

/// An object in the process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LoadedObject {
    /// Path as the loader opened it.
    pub path: String,
    /// `DT_SONAME`.
    pub soname: Option<String>,
    /// Names under which the loader knows it.
    pub names: Vec<String>,
    /// Index of the object that brought it.
    pub by: Option<usize>,
    /// How it came; nothing for the program and the loader.
    pub kind: Option<NeedKind>,
    /// RPATH as written, unless RUNPATH makes the loader ignore it.
    pub rpath: Option<String>,
    /// RUNPATH as written.
    pub runpath: Option<String>,
    /// Directory that `$ORIGIN` stands for.
    pub origin: String,
    /// It may ask for libraries at run time.
    pub calls_dlopen: bool,
    /// Device and inode.
    #[serde(skip)]
    pub id: Option<FileId>,
}

/// A version that the winner lacks.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
pub struct MissingVersion {
    /// Index of the object that needs it.
    pub from: usize,
    /// Index of the object that lacks it.
    pub object: usize,
    /// Version node.
    pub version: String,
}

/// A directory of a search path, as the loader sees it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
pub struct PathEntry {
    /// Where it stands: `LD_LIBRARY_PATH`, or the object that carries it.
    pub of: String,
    /// `RPATH`, `RUNPATH` or `LD_LIBRARY_PATH`.
    pub tag: &'static str,
    /// As written.
    pub entry: String,
    /// After replacement of tokens.
    pub directory: String,
    /// A directory is there.
    pub exists: bool,
    /// It does not begin with a slash, so the current directory counts.
    pub relative: bool,
}

/// The whole answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Default, JsonSchema)]
pub struct Resolution {
    /// Objects in the order in which they come into the process: the program, the loader, the rest.
    pub objects: Vec<LoadedObject>,
    /// Every asking, in the order of the loader.
    pub links: Vec<Link>,
    /// Versions that a winner lacks.
    pub missing_versions: Vec<MissingVersion>,
    /// Every entry of a search path that was used.
    pub paths: Vec<PathEntry>,
}

impl Resolution {
    /// Askings that found nothing or ended the process, `dlopen` and preloading aside: these stop a program.
    pub fn failures(&self) -> impl Iterator<Item = &Link> {
        self.links.iter().filter(|link| {
            matches!(link.kind, NeedKind::Needed | NeedKind::Filter) && !matches!(link.end, End::Found { .. })
        })
    }

    /// The object that answers a name asked by `from`.
    pub fn winner(&self, from: usize, name: &str) -> Option<&LoadedObject> {
        let link = self.links.iter().find(|link| link.from == from && link.name == name)?;
        match link.end {
            End::Found { object, .. } => self.objects.get(object),
            _ => None,
        }
    }
}
