//! Runs steps on the machine's cores: cache first, a log per step, the first failure told whole.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Instant;

use serde::Serialize;

use super::cache::{Cache, CacheEntry};
use super::headers::HeaderStore;
use super::host::HostStep;
use super::isolation::{StepIsolation, copy_declared, plain};
use super::kernel::KernelStep;
use super::toolset::Toolset;
use super::undeclared::{Scene, explain};
use crate::error::{Error, Result};
use crate::fs::{self, Digest};
use crate::plan::{Action, BuildPlan, Step};
use crate::process::{Call, Outcome};
use crate::ui::Ui;

/// Lines of a failed step's output that go into the error.
const TOLD_LINES: usize = 20;

/// How to run.
#[derive(Debug, Clone)]
pub struct BuildOptions {
    /// Simulator's name.
    pub name: String,
    /// Directory with the source, as it was when the plan was made.
    pub source: PathBuf,
    /// Every file of the source with its digest, as the plan was made of them.
    pub sources: BTreeMap<String, Digest>,
    /// How steps are kept from what they do not declare.
    pub isolation: StepIsolation,
    /// Which headers earlier compilations read; this run's are added.
    pub headers: HeaderStore,
    /// Directory for logs and intermediate files.
    pub work: PathBuf,
    /// Steps at a time.
    pub jobs: usize,
    /// Go on after a failure with what does not need it.
    pub keep_going: bool,
}

/// What happened to a step.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct StepReport {
    /// The step's id.
    pub id: String,
    /// Whether it came from the cache.
    pub cached: bool,
    /// Seconds it took (or had taken when it was compiled).
    pub seconds: f64,
}

/// What a run left.
#[derive(Debug)]
pub struct BuildOutcome {
    /// Artifacts by step id.
    pub entries: BTreeMap<String, CacheEntry>,
    /// Reports in the plan's order.
    pub steps: Vec<StepReport>,
}

/// Runs `steps` of a plan to their end.
///
/// # Errors
/// A step failed: its command, the end of its output, its log. What finished stays in the cache.
pub fn run(plan: &BuildPlan, tools: &Toolset, cache: &Cache, options: &BuildOptions, ui: &Ui) -> Result<BuildOutcome> {
    let logs = options.work.join("logs");
    fs_err::create_dir_all(&logs)?;
    let next = AtomicUsize::new(0);
    let stop = AtomicBool::new(false);
    let done: Mutex<BTreeMap<usize, (CacheEntry, bool)>> = Mutex::new(BTreeMap::new());
    let failures: Mutex<BTreeMap<usize, Error>> = Mutex::new(BTreeMap::new());
    let bar = ui.steps("build", plan.steps.len() as u64);

    let work = || {
        while !stop.load(Ordering::Relaxed) {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(step) = plan.steps.get(index) else { break };
            bar.set_message(step.id.clone());
            match one(step, tools, cache, options, &logs) {
                Ok((entry, cached)) => {
                    let mut done = done.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
                    done.insert(index, (entry, cached));
                    bar.set_position(done.len() as u64);
                    if !ui.is_interactive() && !cached {
                        ui.note(format!("  build      {}/{}  {}", done.len(), plan.steps.len(), step.id));
                    }
                }
                Err(error) => {
                    failures.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).insert(index, error);
                    if !options.keep_going {
                        stop.store(true, Ordering::Relaxed);
                    }
                }
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..options.jobs.clamp(1, plan.steps.len().max(1)) {
            scope.spawn(work);
        }
    });
    bar.finish_and_clear();

    let done = done.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
    let failures = failures.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
    let failed = failures.len();
    if let Some((_, first)) = failures.into_iter().next() {
        let mut error =
            first.detail(format!("{} finished steps are kept; `simpack build` continues from here", done.len()));
        if failed > 1 {
            error = error.detail(format!("{} more steps failed; their logs are in {}", failed - 1, logs.display()));
        }
        return Err(error);
    }
    let mut outcome = BuildOutcome { entries: BTreeMap::new(), steps: Vec::new() };
    for (index, (entry, cached)) in done {
        let id = plan.steps[index].id.clone();
        outcome.steps.push(StepReport { id: id.clone(), cached, seconds: entry.seconds });
        outcome.entries.insert(id, entry);
    }
    Ok(outcome)
}

/// Beginning of the names of steps' own directories.
pub(super) const SCRATCH: &str = "step-";

/// Removes the directories of steps that a killed run left in `work`, which must be locked.
pub fn remove_leftovers(work: &Path) -> Result<()> {
    for entry in fs_err::read_dir(work)? {
        let entry = entry?;
        if entry.file_name().to_string_lossy().starts_with(SCRATCH) {
            fs_err::remove_dir_all(entry.path())?;
        }
    }
    Ok(())
}

fn one(step: &Step, tools: &Toolset, cache: &Cache, options: &BuildOptions, logs: &Path) -> Result<(CacheEntry, bool)> {
    if step.is_settled()
        && let Some(entry) = cache.get(step.key)?
    {
        return Ok((entry, true));
    }
    let started = Instant::now();
    let scratch = tempfile::Builder::new()
        .prefix(SCRATCH)
        .tempdir_in(&options.work)
        .map_err(|error| Error::file(&options.work, "cannot make a directory for a step").because(error))?;
    let work = fs_err::canonicalize(scratch.path())?;
    let log = logs.join(log_name(step));
    let root = fs_err::canonicalize(&options.source)?;
    let (step, made) = match &step.action {
        Action::Kernel { .. } => {
            let kernel = KernelStep { step, root: &root, work: &work, options };
            let declared = |path: &Path| path.to_str().is_some_and(|path| options.sources.contains_key(path));
            let isolation = &options.isolation;
            let scene = Scene { seen_as: &root, source: &root, declared: &declared, isolation, work: &work };
            run_logged(step, &[kernel.call(tools)?], &log, &options.work, &scene)?;
            (kernel.finish()?, kernel.made())
        }
        Action::Host { driver, source, options: settings, targets } => {
            let copy = work.join("source");
            copy_declared(&root, source, step.inputs(), &copy)?;
            let host = HostStep {
                driver: *driver,
                name: &options.name,
                source: copy.clone(),
                options: settings,
                targets,
                work: &work,
                jobs: options.jobs,
            };
            let sandbox = options.isolation.sandbox(&work, [], tools.compiler_cache.clone())?;
            let (calls, tree) = host.calls(tools)?;
            let calls: Vec<Call> = calls.into_iter().map(|call| call.within(sandbox.clone())).collect();
            let real = plain(&root.join(source));
            let declared = |path: &Path| {
                let path = Path::new(source).join(path);
                step.inputs().any(|(input, _)| Path::new(input) == path)
            };
            let isolation = &options.isolation;
            let scene = Scene { seen_as: &copy, source: &real, declared: &declared, isolation, work: &work };
            run_logged(step, &calls, &log, &options.work, &scene)?;
            host.finish(&step.id)?;
            (step.clone(), tree)
        }
    };
    Ok((cache.put(step.key, &step.id, started.elapsed().as_secs_f64(), &made)?, false))
}

/// Name of a kernel step's single file in the cache: it must not depend on where it is staged.
pub(super) fn cached_name(step: &Step) -> &str {
    match &step.action {
        Action::Kernel { output, .. } => output.rsplit('/').next().unwrap_or(output),
        Action::Host { .. } => "",
    }
}

/// `4f2a-neuron-sm_90-fixed.log`.
fn log_name(step: &Step) -> String {
    let words: Vec<String> = step
        .id
        .split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
        .filter(|word| !word.is_empty())
        .map(str::to_owned)
        .collect();
    format!("{}-{}.log", step.key.short(4), words.join("-"))
}

fn run_logged(step: &Step, calls: &[Call], log: &Path, work: &Path, scene: &Scene<'_>) -> Result<()> {
    let mut text = String::new();
    for call in calls {
        let outcome = call.run()?;
        // A step that works on a copy of its source speaks of files that will be gone.
        let said = outcome.all_text().replace(&*scene.seen_as.to_string_lossy(), &scene.source.to_string_lossy());
        text.push_str(&format!(
            "$ {}\n{said}# {} after {:.2} s\n",
            call.line(),
            outcome.how(),
            outcome.time.as_secs_f64()
        ));
        fs::write_atomic(log, text.as_bytes())?;
        if !outcome.status.success() {
            return Err(explain(failure(step, call, &outcome, &said, log, work), &outcome.all_text(), scene));
        }
    }
    Ok(())
}

fn failure(step: &Step, call: &Call, outcome: &Outcome, said: &str, log: &Path, work: &Path) -> Error {
    let program = call.program.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let mut error = Error::build(format!("{program} failed on {}, {}", step.id, outcome.how()));
    let lines: Vec<&str> = said.lines().filter(|line| !line.trim().is_empty()).collect();
    for line in &lines[lines.len().saturating_sub(TOLD_LINES)..] {
        error = error.detail(*line);
    }
    let shown = log.strip_prefix(work).map_or(log.to_owned(), |below| work.join(below));
    error.detail(format!("command and output: {}", shown.display()))
}
