//! The build systems that make host components, a file each: what recipes may say of one, which tools it needs, and how
//! it is called. Another one is a file and its line in the table.

mod cmake;
mod copy;
mod make;
mod resume;
mod script;
mod wheel;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use resume::{Begun, SourceChanges};

use crate::error::Result;
use crate::process::Call;

/// A build system.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum BuildDriver {
    /// CMake with ninja: configure, build, install.
    Cmake,
    /// GNU make with `install` and `PREFIX`/`DESTDIR`.
    Make,
    /// A shell script that installs into `$PREFIX`.
    Script,
    /// Nothing is run: what it reads is what it installs, below `share/<name>`.
    Copy,
    /// Nothing is run: a wheel's files are installed as pip installs them, below `lib/pythonX.Y/site-packages` and `bin`.
    Wheel,
}

impl BuildDriver {
    /// As recipes name them.
    pub const NAMES: [(&str, Self); 5] = [
        ("cmake", Self::Cmake),
        ("make", Self::Make),
        ("script", Self::Script),
        ("copy", Self::Copy),
        ("wheel", Self::Wheel),
    ];

    /// What it does.
    pub fn system(self) -> &'static dyn BuildSystem {
        match self {
            Self::Cmake => &cmake::Cmake,
            Self::Make => &make::Make,
            Self::Script => &script::Script,
            Self::Copy => &copy::Copy,
            Self::Wheel => &wheel::Wheel,
        }
    }

    /// As a recipe names it.
    pub fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(_, driver)| *driver == self).map_or("", |(name, _)| name)
    }
}

/// What simpack knows of a build system.
pub trait BuildSystem {
    /// Tools whose versions belong to the key of a step, by the names of the plan; none of a system that runs nothing.
    fn tools(&self) -> &'static [&'static str];

    /// Those of the tools that simpack pins and fetches; the others are the machine's.
    fn pinned(&self) -> &'static [&'static str] {
        &[]
    }

    /// The tool that takes a token of the jobs for each of its processes, if its version can.
    fn jobserver(&self) -> Option<&'static str> {
        None
    }

    /// A switch of the recipe as its option.
    fn switch(&self, on: bool) -> &'static str {
        if on { "1" } else { "0" }
    }

    /// Whether options become variables of its environment.
    fn sets_variables(&self) -> bool {
        true
    }

    /// Whether its files say that they compile device code. Of another one this is not known.
    fn says_languages(&self) -> bool {
        false
    }

    /// What is wrong with a recipe that has so many targets and these options.
    fn mistakes(&self, _targets: usize, _options: &[&str]) -> Vec<DriverMistake> {
        Vec::new()
    }

    /// Options that the build was given and did not use, as far as its output `said` names them.
    fn unused(&self, _said: &str) -> Vec<String> {
        Vec::new()
    }

    /// Whether it installs by a call of its own, which a build with a list of what to install leaves out.
    fn has_install_target(&self) -> bool {
        false
    }

    /// Where a build leaves what it makes, until it is installed.
    fn built(&self, step: &HostBuild<'_>) -> PathBuf {
        step.source.to_owned()
    }

    /// Whether what it makes lies among its sources.
    fn builds_in_source(&self) -> bool {
        true
    }

    /// Whether there are build trees in which it can go on.
    fn resumes(&self) -> bool {
        false
    }

    /// Prepares a build tree that an earlier build left, so that what is made in it next is what an empty one would give.
    /// Answers false where that cannot be had: then the tree has to be emptied.
    ///
    /// # Errors
    /// A file of the tree cannot be read or removed.
    fn resume(&self, _begun: &Begun<'_>) -> Result<bool> {
        Ok(false)
    }

    /// The calls that install into `step.dest`, in order; where `step.installs` they only build.
    ///
    /// # Errors
    /// A tool is missing, or a file cannot be read or written.
    fn calls(&self, step: &HostBuild<'_>, tools: &dyn HostTools) -> Result<Vec<Call>>;
}

/// A mistake of a recipe about its build system.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DriverMistake {
    /// Where it stands.
    pub at: DriverWord,
    /// What is wrong.
    pub message: &'static str,
    /// What to do.
    pub hint: &'static str,
}

/// A place in the table of a component's build.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DriverWord {
    /// `driver` itself.
    Driver,
    /// A target, by its place in the list.
    Target(usize),
    /// An option, by its place in the order of their names.
    Option(usize),
}

/// Prefix that the build systems believe in; the real tree is below `DESTDIR`. A fixed one keeps
/// the name of this machine's directories out of generated files.
pub const PREFIX: &str = "/opt/simpack";

/// What is built: a component, from a copy of its declared sources, into an empty tree.
#[derive(Debug, Clone, Copy)]
pub struct HostBuild<'a> {
    /// Simulator's name.
    pub name: &'a str,
    /// Copy of the declared sources, with the top file. Build systems may write into it.
    pub source: &'a Path,
    /// Options; `{prefix}`, `{dependencies}`, `{jobs}` and those of [`OF_STEP`] are still to be replaced.
    pub options: &'a BTreeMap<String, String>,
    /// Make targets, or the script's file name.
    pub targets: &'a [String],
    /// Whether simpack installs what is built, by the recipe's list.
    pub installs: bool,
    /// Directory of this step.
    pub work: &'a Path,
    /// What `DESTDIR` says.
    pub dest: &'a Path,
    /// [`PREFIX`] below it.
    pub tree: &'a Path,
    /// The prefix of the packages that it is given; none for a build that needs none.
    pub dependencies: Option<&'a str>,
    /// Processes at a time.
    pub jobs: usize,
}

/// Placeholders of options that stand for places of a step, beside the prefix and the packages that it is given.
pub const OF_STEP: [&str; 6] = ["source", "work", "cxx", "cuda-root", "nvcc", "nvcc-ccbin"];
/// Those of them that a build knows alone which compiles device code.
pub const OF_CUDA: [&str; 3] = ["cuda-root", "nvcc", "nvcc-ccbin"];

impl HostBuild<'_> {
    /// Options with their placeholders replaced, for a build system that knows `prefix`.
    fn options(&self, prefix: &str, tools: &dyn HostTools) -> Result<Vec<(&String, String)>> {
        let text = |path: &Path| crate::fs::utf8(path).map(str::to_owned);
        let mut words = vec![
            ("prefix", prefix.to_owned()),
            ("dependencies", self.dependencies.unwrap_or_default().to_owned()),
            ("jobs", self.jobs.to_string()),
            ("source", text(self.source)?),
            ("work", text(self.work)?),
            ("cxx", text(&tools.cxx()?)?),
        ];
        if let Some((nvcc, cxx)) = tools.cuda() {
            let root = nvcc.parent().and_then(Path::parent).unwrap_or(nvcc);
            words.extend([("nvcc", text(nvcc)?), ("nvcc-ccbin", text(cxx)?), ("cuda-root", text(root)?)]);
        }
        let fill = |value: &String| {
            words.iter().fold(value.clone(), |value, (word, text)| value.replace(&format!("{{{word}}}"), text))
        };
        Ok(self.options.iter().map(|(name, value)| (name, fill(value))).collect())
    }
}

/// The tools of a build, as the engine arranges them.
pub trait HostTools {
    /// A call in a clean environment with the compilers.
    ///
    /// # Errors
    /// A script that stands for a compiler cannot be written.
    fn call(&self, program: &Path) -> Result<Call>;

    /// A pinned tool.
    ///
    /// # Errors
    /// The plan does not name it.
    fn pinned(&self, name: &str) -> Result<&Path>;

    /// The host compiler for C++, as one program.
    ///
    /// # Errors
    /// A script that stands for it cannot be written.
    fn cxx(&self) -> Result<PathBuf>;

    /// What belongs to the compiler, by name (`ar`).
    ///
    /// # Errors
    /// A script that stands for a program cannot be written.
    fn companions(&self) -> Result<BTreeMap<&'static str, PathBuf>>;

    /// nvcc and its host compiler, for a component that compiles device code.
    fn cuda(&self) -> Option<(&Path, &Path)>;

    /// The call with its part in the tokens of the jobs; none where there are no tokens.
    ///
    /// # Errors
    /// The tokens cannot be handed on.
    fn share(&self, call: &Call) -> Result<Option<Call>>;
}
