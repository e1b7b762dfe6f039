//! What simpack knows of a build system, and what can be wrong with a recipe about it.

use std::path::PathBuf;

use super::{Begun, HostBuild, HostTools};
use crate::error::Result;
use crate::process::Call;

/// What simpack knows of a build system.
pub trait BuildSystem {
    /// Tools whose versions belong to the key of a step, by the names of the plan; none of a system that runs nothing.
    fn tools(&self) -> &'static [&'static str];

    /// Those of the tools that simpack pins and fetches; the others are the machine's.
    fn pinned(&self) -> &'static [&'static str] {
        &[]
    }

    /// Names of the file that a project of it has at its top, by which one is known; none where no file tells.
    fn top_files(&self) -> &'static [&'static str] {
        &[]
    }

    /// The one of the machine that is asked for its version before anything is built; none of a system that needs none.
    fn of_machine(&self) -> Option<&'static MachineTool> {
        None
    }

    /// The tool that takes a token of the jobs for each of its processes, if its version can.
    fn jobserver(&self) -> Option<&'static str> {
        None
    }

    /// A switch of the recipe as its option.
    fn switch(&self, on: bool) -> &'static str {
        if on { "1" } else { "0" }
    }

    /// What stands before an option in its call.
    fn flag(&self) -> &'static str {
        ""
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

/// A program of the machine that a build system is, or runs on.
#[derive(Debug, PartialEq, Eq)]
pub struct MachineTool {
    /// Its name; `--version` prints its version.
    pub name: &'static str,
    /// What to do where it is not there.
    pub hint: &'static str,
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
