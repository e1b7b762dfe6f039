//! Waits for the tasks of a run: says what they say, sees which of them were lost, gives one more try where that may help.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;
use std::time::{Duration, Instant};

use super::kind::ClusterKind;
use super::orders::{Orders, RunDir, TaskState, failure};
use super::scheduler::{Scheduler, Seen, State};
use crate::amount::count;
use crate::error::{Error, ErrorKind, Result};
use crate::printable;
use crate::process::{check_interrupted, interrupted};
use crate::ui::{RunningSteps, Ui, size};

/// How often the files of tasks are looked at.
const LOOK: Duration = Duration::from_millis(250);
/// How often the scheduler is asked: at first, and when nothing happens. It serves a whole cluster.
const ASK: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(15));
/// How long a scheduler may say nothing, or the shared directory be away.
const PATIENCE: Duration = Duration::from_secs(600);
/// How long the shared directory may be away before anybody is told.
const BLINK: Duration = Duration::from_secs(5);
/// How long files of a task that ended may be on their way: what network file systems remember of directories.
const ON_THE_WAY: Duration = Duration::from_secs(15);

/// Submits some tasks, with so many bytes if they are given.
pub(super) type Submit<'a> = &'a dyn Fn(RangeInclusive<usize>, Option<u64>) -> Result<()>;

/// What is done about tasks.
pub(super) struct Watch<'a> {
    pub kind: ClusterKind,
    pub client: &'a dyn Scheduler,
    pub dir: &'a RunDir,
    pub orders: &'a Orders,
    pub ui: &'a Ui,
    pub shown: RunningSteps,
    /// Gives a task one more try.
    pub submit: Submit<'a>,
}

/// What is known of a task.
#[derive(Debug, Default)]
struct Task {
    /// Steps that it has told of.
    made: usize,
    is_done: bool,
    /// It runs as far as anybody knows.
    runs_on: Option<String>,
    /// A second try was given because of memory, or because its node was lost.
    again: bool,
    /// The job that it was last seen in.
    job: Option<u64>,
    /// Since when the scheduler has it as ended, while nothing came from it.
    over: Option<Instant>,
    failed: Option<Error>,
}

impl Task {
    fn has_ended(&self) -> bool {
        self.is_done || self.failed.is_some()
    }
}

impl Watch<'_> {
    /// Waits until all tasks have ended. Jobs are cancelled when one failed, unless the build is to go on, and when the run
    /// is interrupted.
    pub(super) fn until_all_ended(&self) -> Result<()> {
        let mut tasks: Vec<Task> = self.orders.tasks.iter().map(|_| Task::default()).collect();
        let total: usize = self.orders.tasks.iter().map(Vec::len).sum();
        let mut made: BTreeSet<String> = BTreeSet::new();
        let began = Instant::now();
        let (mut asked, mut every, mut answered, mut mounted) = (began, ASK.0, began, began);
        let (mut why_waiting, mut is_missed) = (String::new(), false);
        loop {
            if interrupted().is_some() {
                self.cancel()?;
                check_interrupted()?;
            }
            if self.dir.path().is_dir() {
                (mounted, is_missed) = (Instant::now(), false);
            } else if mounted.elapsed() > PATIENCE {
                return Err(Error::file(self.dir.path(), "is not there any more")
                    .detail("jobs may still run")
                    .hint("mount it again and build again: jobs that run are adopted, finished steps are kept"));
            } else if mounted.elapsed() > BLINK && !std::mem::replace(&mut is_missed, true) {
                let (path, most) = (self.dir.path().display(), PATIENCE.as_secs() / 60);
                self.note(&format!("{path} is not there: waiting for it, {most} minutes at most"));
            }
            for (place, task) in tasks.iter_mut().enumerate().filter(|(_, task)| !task.has_ended()) {
                if self.hear(place + 1, task, (&mut made, total)) {
                    every = ASK.0;
                }
            }
            if asked.elapsed() >= every {
                asked = Instant::now();
                every = (every * 3 / 2).min(ASK.1);
                match self.client.seen() {
                    Ok(seen) => {
                        answered = asked;
                        self.say_waiting(&seen, &mut why_waiting);
                        for (place, task) in tasks.iter_mut().enumerate().filter(|(_, task)| !task.has_ended()) {
                            self.look(place + 1, task, seen.get(&(place + 1)))?;
                        }
                    }
                    Err(error) if answered.elapsed() > PATIENCE => {
                        return Err(error.detail("jobs may still run").hint(format!(
                            "build again when {} answers: jobs that run are adopted, finished steps are kept",
                            self.kind.title()
                        )));
                    }
                    Err(error) => self.note(&format!("no answer, asking again: {error}")),
                }
            }
            let is_over = !self.orders.keep_going && tasks.iter().any(|task| task.failed.is_some());
            if is_over || tasks.iter().all(Task::has_ended) {
                // Others of a failed build, and those that were started once more and are not needed.
                self.cancel()?;
                return first_failure(tasks);
            }
            std::thread::sleep(LOOK);
        }
    }

    /// Says why nothing runs, once.
    fn say_waiting(&self, seen: &BTreeMap<usize, Seen>, said: &mut String) {
        let alive: Vec<&Seen> = seen.values().filter(|seen| seen.is_alive()).collect();
        if !alive.iter().all(|seen| seen.is_pending()) {
            return;
        }
        let why: BTreeSet<&str> = alive.iter().map(|seen| &*seen.reason).filter(|why| !why.is_empty()).collect();
        let why = why.into_iter().collect::<Vec<_>>().join(", ");
        if !why.is_empty() && why != *said {
            let what = count(alive.len(), "task");
            self.note(&format!("no task runs, {what} to come: {}", printable::text(&why)));
            *said = why;
        }
    }

    /// Takes in what a task says of itself; answers whether that is new.
    fn hear(&self, number: usize, task: &mut Task, (made, total): (&mut BTreeSet<String>, usize)) -> bool {
        let index = total + number;
        let state = self.dir.read_state(number);
        let told = self.dir.read_made(number);
        let mut is_new = false;
        let node = state.as_ref().map(|state| state.node.clone()).unwrap_or_default();
        let own = &self.orders.tasks[number - 1];
        for id in told.iter().skip(task.made).filter(|id| own.contains(id)) {
            is_new = true;
            if made.insert(id.clone()) {
                self.shown.done(made.len() - 1, made.len());
                if !self.ui.is_interactive() {
                    self.ui.note(format!("  build      {}/{total}  {id}  ({node})", made.len()));
                }
            }
        }
        task.made = task.made.max(told.len());
        match state {
            Some(TaskState { ended: false, node, .. }) if task.runs_on.as_ref() != Some(&node) => {
                is_new = true;
                if let Some(lost) = &task.runs_on {
                    self.note(&format!("task {number} runs on {lost} no more, but on {node}"));
                }
                self.shown.started(index, &format!("task {number} on {node}"));
                self.ui.detail(self.kind.line(&format!("task {number} runs on {node}")).trim_start());
                task.runs_on = Some(node);
            }
            // Schedulers end tasks by a signal, and say why they did.
            Some(TaskState { error: Some(error), .. }) if error.kind == ErrorKind::Interrupted => {}
            Some(TaskState { ended: true, error, .. }) => {
                is_new = true;
                self.shown.ended(index);
                match error {
                    None => task.is_done = true,
                    Some(error) => {
                        // What failed before any step: the node, not the source.
                        let is_node = error.kind == ErrorKind::Toolchain;
                        let error = self.left(number, failure(error));
                        let error = if is_node { error.hint(self.without_node()) } else { error };
                        task.failed = Some(self.at(number, &node, error));
                    }
                }
            }
            _ => {}
        }
        is_new
    }

    /// What the scheduler says of a task that has said nothing of its end.
    fn look(&self, number: usize, task: &mut Task, seen: Option<&Seen>) -> Result<()> {
        if let Some(seen) = seen.filter(|seen| seen.is_alive()) {
            (task.over, task.job) = (None, Some(seen.job));
            if let Some(lost) = task.runs_on.take_if(|_| seen.is_pending()) {
                self.dir.forget_state(number);
                let why = format!("task {number} runs on {lost} no more and waits for another node");
                self.note(&format!("{why} ({})", printable::text(&seen.reason)));
            }
            return Ok(());
        }
        let since = *task.over.get_or_insert_with(Instant::now);
        let is_long_over = since.elapsed() > ON_THE_WAY;
        let asked = || task.job.filter(|_| is_long_over).and_then(|job| self.client.ended(job, number));
        let seen = seen.cloned().or_else(asked);
        let (state, word, node) = match &seen {
            Some(seen) => (seen.state, seen.word.as_str(), seen.node.as_deref()),
            None => (State::Ended, "unknown", None),
        };
        let node = node.or(task.runs_on.as_deref()).unwrap_or("no node").to_owned();
        let lines = self.dir.last_lines(number);
        let says = |words: &[&str]| lines.iter().any(|line| words.iter().any(|word| line.contains(word)));
        let is_memory = state == State::OutOfMemory || says(&["memory limit", "oom-kill", "oom_kill", "OOM Killed"]);
        if is_memory || state == State::LostNode {
            let had = seen.as_ref().and_then(|seen| seen.memory).filter(|_| is_memory);
            let words = if is_memory { "had not enough memory" } else { "lost its node" };
            let given = had.map(|bytes| format!(" ({})", size(bytes))).unwrap_or_default();
            if !task.again {
                let more = had.map(|bytes| bytes.saturating_mul(2));
                let with = more.map(|bytes| format!(" with {}", size(bytes))).unwrap_or_default();
                self.note(&format!("task {number} {words} on {node}{given}: once more{with}"));
                // Whatever is left of it must not be taken for the second.
                self.dir.forget_state(number);
                let _ = std::fs::rename(self.dir.log(number), self.dir.log(format!("{number}.first")));
                (task.again, task.runs_on, task.over) = (true, None, None);
                return (self.submit)(number..=number, more);
            }
            let error = Error::build(format!("task {number} {words}{given}, twice"));
            let hint = match is_memory {
                true => format!(
                    "give tasks more, `{}`, or let them run fewer steps at a time, `--jobs`",
                    self.client.arguments().memory
                ),
                false => self.without_node(),
            };
            task.failed = Some(self.at(number, &node, self.left(number, error).hint(hint)));
            return Ok(());
        }
        if state == State::OutOfTime {
            let error = Error::build(format!("task {number} was ended at its time limit"));
            let time = self.client.arguments().time;
            let error = self
                .left(number, error)
                .hint(format!("give tasks more time, `{time}`, or less to do, `--tasks`; a build goes on from here"));
            task.failed = Some(self.at(number, &node, error));
        } else if state == State::Cancelled {
            let error = self.left(number, Error::build(format!("task {number} was cancelled by somebody")));
            task.failed = Some(self.at(number, &node, error.hint("a build goes on from here")));
        } else if is_long_over {
            let reason = seen
                .as_ref()
                .map(|seen| printable::text(&seen.reason).into_owned())
                .filter(|reason| !reason.is_empty());
            let lines: Vec<String> = reason.into_iter().chain(lines).collect();
            task.failed = Some(self.lost(number, task, (word, &node), &lines));
        }
        Ok(())
    }

    /// A task that ended without a word.
    fn lost(&self, number: usize, task: &Task, (word, node): (&str, &str), lines: &[String]) -> Error {
        let says = |word: &str| lines.iter().any(|line| line.contains(word));
        let by = format!("{} says {}", self.kind.title(), printable::text(word));
        let what = match task.runs_on {
            None => format!("task {number} could not start ({by})"),
            Some(_) => format!("task {number} ended without a result ({by})"),
        };
        let error = lines.iter().fold(Error::build(what), |error, line| error.detail(line.clone()));
        let error = self.left(number, error);
        let hint = if says("GLIBC_") {
            let others = self.without_node();
            let why = "the node has an older glibc than this simpack was built for";
            return self.at(number, node, error.hint(format!("{why}: build simpack on the oldest node, or {others}")));
        } else if task.runs_on.is_none() {
            "the node must see this directory, the recipe, the cache and `--shared-dir` under the same paths"
        } else {
            "look into its log, and build again: finished steps are kept"
        };
        self.at(number, node, error.hint(hint))
    }

    /// Adds which of a task's steps are not done.
    fn left(&self, number: usize, error: Error) -> Error {
        let made: BTreeSet<String> = self.dir.read_made(number).into_iter().collect();
        let left: Vec<&String> = self.orders.tasks[number - 1].iter().filter(|id| !made.contains(*id)).collect();
        match left.as_slice() {
            [] => error,
            [one] => error.detail(format!("not done: {one}")),
            [first, others @ ..] => error.detail(format!("not done: {first} and {} more", others.len())),
        }
    }

    fn at(&self, number: usize, node: &str, error: Error) -> Error {
        let of = self.orders.tasks.len();
        error.detail(format!("task {number} of {of} on {node}; its log: {}", self.dir.log(number).display()))
    }

    /// What to do about a node that cannot do the work.
    fn without_node(&self) -> String {
        format!("leave the node out by `{}`", self.client.arguments().without_node)
    }

    fn note(&self, line: &str) {
        self.ui.note(self.kind.line(line));
    }

    /// Ends what still runs.
    fn cancel(&self) -> Result<()> {
        let alive: BTreeSet<u64> = self
            .client
            .seen()?
            .into_values()
            .filter(|seen| seen.is_alive() || seen.state == State::Broken)
            .map(|seen| seen.job)
            .collect();
        self.client.cancel(&alive.into_iter().collect::<Vec<_>>())
    }
}

fn first_failure(tasks: Vec<Task>) -> Result<()> {
    let mut failures = tasks.into_iter().filter_map(|task| task.failed);
    let Some(first) = failures.next() else { return Ok(()) };
    Err(match failures.count() {
        0 => first,
        others => first.detail(format!("{} failed, too", count(others, "other task"))),
    })
}
