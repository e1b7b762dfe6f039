//! A plan over the nodes of a cluster: tasks of one job array make the steps that the cache lacks and put them there, which
//! all nodes share. What runs then is an ordinary build that finds everything: it stages, verifies and packs where it was
//! called. Schedulers of clusters are a file each; another one is a file and its line in the table ([`ClusterKind`]).

mod gridengine;
pub(in crate::pipeline) mod kind;
mod orders;
mod scheduler;
mod slurm;
mod task;
mod watch;

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::time::{Duration, Instant};

use kind::ClusterKind;
pub(crate) use task::run_task;

use self::orders::{Orders, RunDir};
use self::scheduler::{Nodes, Run, Scheduler, State, Submission};
use self::watch::Watch;
use super::parts::{Asked, identity};
use crate::amount::count;
use crate::engine::{self, Cache, LauncherUse};
use crate::error::{Error, Result};
use crate::fs;
use crate::pipeline::job::Job;
use crate::pipeline::request::{BuildRequest, ClusterRequest};
use crate::plan;
use crate::process::{Call, InterruptGuard, check_interrupted};
use crate::ui::Ui;

/// Processors of a task where nobody says and nodes have more.
const PROCESSORS: usize = 8;
/// Settings of the object store, which nodes may not have: theirs is another home.
const STORE: [&str; 4] = ["cache-store", "cache-store-endpoint", "cache-store-mode", "cache-store-region"];
/// How long jobs that were cancelled may take to go.
const GOING: Duration = Duration::from_secs(60);

/// Lets jobs of a cluster make the steps of a plan that the cache lacks; answers how often the launcher of host compilers helped.
///
/// # Errors
/// A step failed, a task was lost and another try did not help, the scheduler does not answer, or the run was interrupted, which
/// cancels the jobs.
pub(in crate::pipeline) fn make(
    job: &mut Job,
    request: &BuildRequest,
    asked: &ClusterRequest,
    cache: &Cache,
    ui: &Ui,
) -> Result<Option<LauncherUse>> {
    let identity = identity(&job.inputs, &job.plan);
    let name = format!("simpack-{}-{}", job.plan.simulator, identity.digest.short(12));
    let shared = match &asked.shared {
        Some(dir) => dir.clone(),
        None => fs::cache_dir()?.join(asked.kind.name()),
    };
    let own = std::path::absolute(shared)?.join(&name);
    let waiting = || ui.note(asked.kind.line("waiting for another build of the same plan"));
    fs::with_lock_or_wait(&own.join("lock"), waiting, || {
        let missing = engine::missing(&job.plan, cache, request.threads())?;
        if missing.is_empty() {
            return Ok(None);
        }
        let _guard = InterruptGuard::new();
        let _group = ui.group(asked.kind.name());
        let run = Run { name, partition: asked.partition.clone(), args: asked.args.clone() };
        let client = asked.kind.scheduler(run);
        let client = client.as_ref();
        let dir = RunDir::at(&own.join("run"));
        let adopted = adopted((asked.kind, client), &dir, ui)?;
        let is_new = adopted.is_none();
        let orders = match adopted {
            Some(orders) => orders,
            None => {
                let nodes = client.nodes()?;
                let jobs = processors(request, nodes);
                let slots = slots(asked, nodes, jobs);
                let tasks = tasks(job, (&missing, cache), asked.tasks, (slots, jobs));
                let about = Asked::of(request, job.inputs.epoch);
                let orders = Orders::new((identity, about), request, jobs, tasks);
                dir.begin(&orders)?;
                orders
            }
        };
        let submit = |tasks: RangeInclusive<usize>, memory: Option<u64>| {
            submit(client, &dir, &orders, asked, (tasks, memory), ui)
        };
        if is_new {
            submit(1..=orders.tasks.len(), None)?;
        }
        let steps = orders.tasks.iter().map(Vec::len).sum();
        let shown = ui.running(asked.kind.name(), (0, steps), orders.tasks.len(), BTreeMap::new());
        Watch { kind: asked.kind, client, dir: &dir, orders: &orders, ui, shown, submit: &submit }.until_all_ended()?;
        // Compilers of other machines have said which headers they read: keys are final now.
        job.settle();
        let missing = engine::missing(&job.plan, cache, request.threads())?;
        if let Some(&first) = missing.first() {
            let what = count(missing.len(), "step");
            return Err(Error::file(cache.root(), format!("{what} of finished tasks are not in this cache"))
                .detail(format!("first: {}", job.plan.steps[first].id))
                .hint(
                    "all nodes must see the same cache under this path: set `cache-dir` to a directory that they share",
                )
                .hint("or name a store that they write: the settings `cache-store` and `cache-store-mode`"));
        }
        let states = (1..=orders.tasks.len()).filter_map(|number| dir.read_state(number)?.launched);
        let launched = states.reduce(LauncherUse::and);
        fs_err::remove_dir_all(dir.path())?;
        Ok(launched)
    })
}

/// What the jobs of an earlier run of this plan do, if any are left.
fn adopted((kind, client): (ClusterKind, &dyn Scheduler), dir: &RunDir, ui: &Ui) -> Result<Option<Orders>> {
    let began = Instant::now();
    loop {
        let seen = client.seen()?;
        let alive: Vec<_> = seen.values().filter(|seen| seen.is_alive()).collect();
        if alive.is_empty() {
            return Ok(None);
        }
        let is_going = alive.iter().all(|seen| seen.state == State::Leaves);
        if !is_going || began.elapsed() > GOING {
            let orders = dir.read_orders().map_err(|error| {
                let jobs: Vec<String> = alive.iter().map(|seen| seen.job.to_string()).collect();
                error.hint(format!(
                    "jobs of an earlier build are left whose orders are lost: {} {}",
                    client.arguments().cancel,
                    jobs.join(" ")
                ))
            })?;
            ui.note(kind.line(&format!("{} of an earlier build adopted", count(alive.len(), "task"))));
            return Ok(Some(orders));
        }
        check_interrupted()?;
        std::thread::sleep(Duration::from_millis(500));
    }
}

/// Processors of each task.
fn processors(request: &BuildRequest, nodes: Option<Nodes>) -> usize {
    let most = nodes.map_or(1, |nodes| nodes.processors.min(PROCESSORS));
    request.jobs.unwrap_or(most).max(1)
}

/// How many tasks may run at a time, as far as anybody knows.
fn slots(asked: &ClusterRequest, nodes: Option<Nodes>, processors: usize) -> usize {
    let all = nodes.map_or(1, |nodes| nodes.count * (nodes.processors / processors).max(1));
    all.min(asked.array_limit.unwrap_or(usize::MAX)).max(1)
}

/// Ids of the steps of each task.
fn tasks(
    job: &Job,
    (missing, cache): (&[usize], &Cache),
    asked: Option<usize>,
    at: (usize, usize),
) -> Vec<Vec<String>> {
    let inputs = &job.inputs;
    let (all, _) = engine::weights(&job.plan, Some(cache), &inputs.source, &inputs.manifests.time);
    let weights: Vec<_> = missing.iter().map(|&index| all[index]).collect();
    let parts = plan::tasks(&weights, asked, at).into_iter();
    let ids = |part: Vec<usize>| part.into_iter().map(|place| job.plan.steps[missing[place]].id.clone()).collect();
    parts.map(ids).collect()
}

fn submit(
    client: &dyn Scheduler,
    dir: &RunDir,
    orders: &Orders,
    asked: &ClusterRequest,
    (tasks, memory): (RangeInclusive<usize>, Option<u64>),
    ui: &Ui,
) -> Result<()> {
    let here = std::env::current_dir()?;
    let mut call = Call { env: BTreeMap::new(), ..Call::new(dir.program()) };
    call = call.arg("cluster-task").arg(fs::utf8(dir.path())?);
    call = call.env("SIMPACK_CACHE_DIR", fs::utf8(&std::path::absolute(fs::cache_dir()?)?)?);
    if let Some(data) = crate::config::current().path("data-dir") {
        call = call.env("SIMPACK_DATA_DIR", fs::utf8(&std::path::absolute(data)?)?);
    }
    for name in STORE {
        if let (true, Some(value)) = (orders.uses_store, crate::config::current().text(name)) {
            call = call.env(format!("SIMPACK_{}", name.to_uppercase().replace('-', "_")), value);
        }
    }
    let job = client.submit(&Submission {
        tasks: tasks.clone(),
        at_a_time: asked.array_limit,
        processors: orders.jobs,
        memory,
        call: &call,
        dir: &here,
        output: &|number| dir.log(number),
        script: &dir.path().join("submit.sh"),
    })?;
    let steps: usize = tasks.clone().map(|number| orders.tasks[number - 1].len()).sum();
    let (steps, many, processors) =
        (count(steps, "step"), count(tasks.count(), "task"), count(orders.jobs, "processor"));
    let line = format!("job {job}: {steps} in {many} of {processors}; logs in {}", dir.path().display());
    ui.note(asked.kind.line(&line));
    Ok(())
}
