//! What schedules the jobs of a cluster, to those who submit them.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::process::Call;

/// A cluster's own programs: what is submitted, and what they answer, as values. Jobs of one run share a name, by which a later run
/// finds them.
pub(super) trait Scheduler {
    /// Nodes that take jobs; none when nothing is known of any.
    ///
    /// # Errors
    /// It does not answer.
    fn nodes(&self) -> Result<Option<Nodes>>;

    /// Submits an array; answers its job.
    ///
    /// # Errors
    /// It does not take the job.
    fn submit(&self, asked: &Submission<'_>) -> Result<u64>;

    /// What it knows of the tasks of this run, by their numbers: the last job of each.
    ///
    /// # Errors
    /// It does not answer.
    fn seen(&self) -> Result<BTreeMap<usize, Seen>>;

    /// What became of a task that [`Scheduler::seen`] tells of no more, where that is asked in another way.
    fn ended(&self, _job: u64, _task: usize) -> Option<Seen> {
        None
    }

    /// Ends jobs.
    ///
    /// # Errors
    /// It does not answer.
    fn cancel(&self, jobs: &[u64]) -> Result<()>;

    /// How its user asks for more.
    fn arguments(&self) -> &'static Arguments;
}

/// Whose jobs those of a run are, and what they are submitted with.
#[derive(Debug)]
pub(super) struct Run {
    /// Their name.
    pub name: String,
    /// Partition or queue; the cluster's default when absent.
    pub partition: Option<String>,
    /// Arguments of the user for the program that submits.
    pub args: Vec<String>,
}

/// What is submitted.
pub(super) struct Submission<'a> {
    /// Numbers of the tasks, from 1.
    pub tasks: RangeInclusive<usize>,
    /// How many of them run at a time; all when absent.
    pub at_a_time: Option<usize>,
    /// Processors of each.
    pub processors: usize,
    /// Bytes of each; what the cluster gives when absent.
    pub memory: Option<u64>,
    /// What a task calls, before its number and the name of its node.
    pub call: &'a Call,
    /// Directory that the tasks start in.
    pub dir: &'a Path,
    /// Where a task's output goes, by what stands for its number.
    pub output: &'a dyn Fn(&str) -> PathBuf,
    /// A file that may be written for the one that submits.
    pub script: &'a Path,
}

/// What is known of a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Seen {
    /// Job of the array.
    pub job: u64,
    /// What it does, or how it ended.
    pub state: State,
    /// That in the scheduler's own word: `PENDING`, `TIMEOUT`, `qw`.
    pub word: String,
    /// Node that it runs or ran on.
    pub node: Option<String>,
    /// Why it waits or failed; empty when nothing is said.
    pub reason: String,
    /// Bytes that it was given, where that is known.
    pub memory: Option<u64>,
}

/// What a task does, or how it ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// It waits for a node.
    Waits,
    /// It runs, or will without anybody's help.
    Runs,
    /// It is on its way out.
    Leaves,
    /// Its memory was not enough.
    OutOfMemory,
    /// Its node was lost, or taken from it.
    LostNode,
    /// Its time was up.
    OutOfTime,
    /// Somebody cancelled it.
    Cancelled,
    /// It cannot begin until somebody has mended something.
    Broken,
    /// It ended, well or not.
    Ended,
}

impl Seen {
    /// Whether it runs, or will without anybody's help.
    pub(super) fn is_alive(&self) -> bool {
        matches!(self.state, State::Waits | State::Runs | State::Leaves)
    }

    /// Whether it waits for a node.
    pub(super) fn is_pending(&self) -> bool {
        self.state == State::Waits
    }
}

/// What a partition has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Nodes {
    /// Nodes that take jobs.
    pub count: usize,
    /// Processors of the smallest.
    pub processors: usize,
}

/// How its user asks for what tasks lack: options of the build.
#[derive(Debug)]
pub(super) struct Arguments {
    /// Leaves a node out.
    pub without_node: &'static str,
    /// Gives more memory.
    pub memory: &'static str,
    /// Gives more time.
    pub time: &'static str,
    /// How its user ends jobs, before their numbers.
    pub cancel: &'static str,
}

/// What a program of the cluster prints.
///
/// # Errors
/// It is not there, or fails.
pub(super) fn read(executor: &str, program: &str, args: Vec<String>) -> Result<String> {
    let call = Call::new(program).pass_all().args(args);
    call.read().map_err(|error| match which::which(program) {
        Ok(_) => error,
        Err(_) => Error::toolchain(format!("`--executor {executor}` needs `{program}`, which is not on PATH"))
            .hint("run it on a login node of the cluster, or load its module"),
    })
}
