//! One task of an array, on its node.

use std::path::Path;

use super::orders::{Orders, RunDir, TaskState};
use crate::engine::{self, LauncherUse};
use crate::error::{Error, Result};
use crate::pipeline::job::Job;
use crate::pipeline::machines::parts::identity;
use crate::pipeline::request::BuildRequest;
use crate::pipeline::run::{compile, found, in_work, open_cache, options, say_what, tools};
use crate::ui::Ui;

/// Makes the steps of this task of an array: they go into the cache, and what became of them into the directory of the run.
///
/// # Errors
/// Anything that kept it from its work; the coordinator hears of it, too.
pub(crate) fn run_task(dir: &Path, task: usize, node: &str, ui: &Ui) -> Result<()> {
    let dir = RunDir::at(dir);
    let running = TaskState { node: node.to_owned(), ended: false, error: None, launched: None };
    dir.write_state(task, &running)?;
    let result = make(&dir, task, ui);
    let error = result.as_ref().err().map(|error| error.json().error);
    let launched = result.as_ref().ok().copied().flatten();
    dir.write_state(task, &TaskState { ended: true, error, launched, ..running })?;
    result.map(drop)
}

/// Makes the steps; answers how often the launcher of host compilers helped.
fn make(dir: &RunDir, task: usize, ui: &Ui) -> Result<Option<LauncherUse>> {
    let orders = dir.read_orders()?;
    let steps = task.checked_sub(1).and_then(|place| orders.tasks.get(place));
    let steps = steps.ok_or_else(|| Error::usage(format!("there is no task {task}")))?;
    let request = request(&orders, dir, task);
    in_work(&request, || {
        let mut job = found(&request, ui)?.plan(&request)?;
        same_plan(&orders, &job)?;
        job.plan.keep(&steps.iter().map(String::as_str).collect());
        say_what(&job, ui)?;
        let (mut toolset, _) = tools(&job, &request, ui)?;
        let mut options = options(&job, &request, &mut toolset, ui)?;
        options.made = Some(dir.made(task));
        let cache = open_cache(&request, &options, ui)?;
        let result = compile(&mut job, &toolset, &cache, &options, ui).map(|outcome| outcome.launched);
        engine::finish_cache(cache, ui);
        result
    })
}

/// What the task is asked for: as its coordinator was, without a network where nodes share the cache.
fn request(orders: &Orders, dir: &RunDir, task: usize) -> BuildRequest {
    let work = dir.work(task);
    orders.asked.request(&BuildRequest {
        // The coordinator has fetched everything into the cache that all share.
        offline: !orders.uses_store,
        without_store: !orders.uses_store,
        locked: orders.locked,
        jobs: Some(orders.jobs),
        step_timeout: orders.step_timeout,
        keep_going: orders.keep_going,
        sandbox: orders.sandbox,
        launcher: orders.launcher,
        dist: work.join("dist"),
        work,
        ..BuildRequest::default()
    })
}

fn same_plan(orders: &Orders, job: &Job) -> Result<()> {
    let differences = identity(&job.inputs, &job.plan).differences(&orders.plan);
    if differences.is_empty() {
        return Ok(());
    }
    let error = Error::stale("this node does not have the plan of the machine that submitted the job");
    Err(differences
        .into_iter()
        .fold(error, Error::detail)
        .hint("use pinned compilers (no `--host system`, no `--toolchain system`), or leave the node out")
        .hint("leave the source alone while jobs run"))
}
