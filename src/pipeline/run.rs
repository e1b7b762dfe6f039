//! One build: what is asked for becomes staged, verified bundles, and these become packages in `dist/`.

use std::time::{Instant, SystemTime};

use super::BuildResult;
use super::finish::{ByVariant, Finish};
use super::inputs::BuildInputs;
use super::job::Job;
use super::machines::cluster;
use super::origin::{origin, watched};
use super::output::dist::{refuse_fixed, refuse_foreign};
use super::output::provenance::signing_key;
use super::request::{BuildRequest, LauncherKind};
use super::summary::LastWords;
use crate::attest::SigningKey;
use crate::data::Data;
use crate::engine::{self, BuildOptions, BuildOutcome, Cache, CachePlace, SandboxMode, StepIsolation, Toolset};
use crate::error::{Error, Result};
use crate::fs;
use crate::lastrun::{Ended, LastBuild, asked};
use crate::plan::Action;
use crate::process::IsolationKind;
use crate::project::find;
use crate::ui::Ui;

/// Builds a recipe into verified packages.
///
/// # Errors
/// Anything that kept simpack from its work. Denied findings are no error.
pub(crate) fn build(request: &BuildRequest, ui: &Ui) -> Result<BuildResult> {
    let started = Instant::now();
    // A key that cannot be used is told before anything is built.
    let key = signing_key(request)?;
    in_work(request, || locked(request, key.as_ref(), started, ui))
}

/// Works in the work directory, alone and without what killed runs left there, when `dist` may be replaced.
pub(super) fn in_work<T>(request: &BuildRequest, work: impl FnOnce() -> Result<T>) -> Result<T> {
    refuse_foreign(&request.dist)?;
    refuse_fixed(&request.work, "--work")?;
    refuse_fixed(&request.dist, "--dist")?;
    // Where there is no recipe nothing is left behind.
    if !request.work.exists() {
        find(request.recipe().recipe.as_deref(), &Data::here())?;
    }
    fs_err::create_dir_all(&request.work)?;
    fs::mark_as_cache(&request.work)?;
    // Two builds in one work directory would stage into each other's bundles.
    fs::with_lock(&request.work.join("lock"), || {
        engine::remove_leftovers(&request.work)?;
        work()
    })
}

/// Everything that decides what a build gives. Settings that say nothing are refused, also where no cache is needed.
pub(super) fn found(request: &BuildRequest, ui: &Ui) -> Result<BuildInputs> {
    let inputs = BuildInputs::find(request, ui)?;
    CachePlace::of_user()?;
    // A build with a cache of its own leaves nothing outside its directories.
    if let Some(note) = request.artifacts.is_none().then(|| inputs.lock.keep()).flatten() {
        ui.note(note);
    }
    Ok(inputs)
}

fn locked(request: &BuildRequest, key: Option<&SigningKey>, started: Instant, ui: &Ui) -> Result<BuildResult> {
    let began = SystemTime::now();
    let mut last = LastBuild::<LastWords>::read(&request.work);
    if let Some(last) = last.take_if(|last| last.is_untouched(asked(request), &request.dist)) {
        return Ok(unchanged(last, ui));
    }
    let inputs = found(request, ui)?;
    let from = origin(&inputs, request);
    if let Some(mut last) = last.take_if(|last| last.is_same(from, &request.dist)) {
        last.watch(watched(&inputs, request, began));
        return Ok(unchanged(last, ui));
    }
    let mut job = inputs.plan(request)?;
    let finish = Finish::prepare(&job, request, key)?;
    say_what(&job, ui)?;
    let (mut toolset, dependencies) = tools(&job, request, ui)?;
    let options = options(&job, request, &mut toolset, ui)?;
    let cache = open_cache(request, &options, ui)?;
    let elsewhere = request.cluster.as_ref().map(|asked| cluster::make(&mut job, request, asked, &cache, ui));
    let compiled = elsewhere.unwrap_or(Ok(None)).and_then(|launched| {
        let mut outcome = compile(&mut job, &toolset, &cache, &options, ui)?;
        outcome.launched = launched.or(outcome.launched);
        Ok(outcome)
    });
    let result = compiled.and_then(|outcome| {
        say_weakest(&outcome, options.isolation.kind(), ui);
        let mut result = finish.packages(&job, outcome, &dependencies, &cache, ui)?;
        if let BuildResult::Built(built) = &mut result {
            built.seconds = started.elapsed().as_secs_f64();
            Ended {
                from,
                watched: watched(&job.inputs, request, began),
                dist: &request.dist,
                words: built.words(job.headline()),
                summary: &built.summary(),
                keys: job.keys(),
            }
            .remember(&request.work)?;
        }
        Ok(result)
    });
    engine::finish_cache(cache, ui);
    result
}

/// The compilers and the packages that builds are given; what is not here yet is fetched.
pub(super) fn tools(job: &Job, request: &BuildRequest, ui: &Ui) -> Result<(Toolset, ByVariant)> {
    let _group = ui.group("toolchain");
    let mut toolset = job.inputs.fetch_tools(request.offline, ui)?;
    let dependencies = job.inputs.fetch_dependencies(request.offline, ui)?;
    toolset.dependencies = dependencies.iter().map(|(host, found)| (host.clone(), found.root.clone())).collect();
    let has_host_steps = job.plan.steps.iter().any(|step| matches!(step.action, Action::Host { .. }));
    if request.launcher == LauncherKind::Sccache && has_host_steps {
        toolset.launcher = job.inputs.tools.launcher(&job.inputs.store, request.offline, ui)?;
    }
    Ok((toolset, dependencies))
}

/// The cache of a build, and what is to be known of how its steps are isolated.
pub(super) fn open_cache(request: &BuildRequest, options: &BuildOptions, ui: &Ui) -> Result<Cache> {
    let isolation = options.isolation.kind();
    say_isolation(isolation, &format!("steps are {}", options.isolation.describe()), ui);
    let store = request.store()?;
    if let Some(store) = &store {
        let how = if store.is_written() { "read and written" } else { "read" };
        ui.note(format!("  cache      and {}, {how}", store.describe()));
    }
    let cache = engine::open_cache(&request.work, request.artifacts.as_deref(), store)?;
    Ok(match request.sandbox {
        SandboxMode::Require => cache.requiring(isolation),
        _ => cache,
    })
}

/// Says that steps from elsewhere were isolated less than those of this run would be.
pub(super) fn say_weakest(outcome: &BuildOutcome, isolation: IsolationKind, ui: &Ui) {
    let weakest = outcome.isolation();
    if !weakest.is_as_strong_as(isolation) {
        let how = format!("steps from the cache were isolated less ({weakest})");
        say_isolation(weakest, &format!("{how}; --sandbox require makes them again"), ui);
    }
}

fn unchanged(last: LastBuild<LastWords>, ui: &Ui) -> BuildResult {
    let summary = if ui.is_json() { last.summary() } else { None };
    let words = last.words();
    if words.isolation == IsolationKind::None {
        ui.warning("the steps of these packages were not isolated");
    }
    ui.note(&words.headline);
    BuildResult::Unchanged { words, summary }
}

/// What a user must know even under `--quiet` is that nothing kept the steps in.
pub(super) fn say_isolation(kind: IsolationKind, text: &str, ui: &Ui) {
    match kind {
        IsolationKind::None => ui.warning(text),
        _ => ui.note(format!("  steps      {text}")),
    }
}

pub(super) fn say_what(job: &Job, ui: &Ui) -> Result<()> {
    ui.note(job.headline());
    ui.detail(format!("cache      {}", fs::cache_dir()?.display()));
    ui.detail(format!("source     {}", job.inputs.source.display()));
    ui.detail(format!("lock       {}", job.inputs.lock.path.display()));
    for (name, tool) in &job.plan.tools {
        ui.detail(format!("tool       {name} {}", tool.version));
    }
    for release in &job.plan.others {
        for (name, tool) in release.tools.iter().filter(|(name, tool)| job.plan.tools.get(*name) != Some(*tool)) {
            ui.detail(format!("tool       {name} {}, for CUDA {}", tool.version, release.cuda));
        }
    }
    Ok(())
}

/// How steps run. A launcher that steps of this machine cannot have is taken out of the tools.
pub(super) fn options(job: &Job, request: &BuildRequest, toolset: &mut Toolset, ui: &Ui) -> Result<BuildOptions> {
    let inputs = &job.inputs;
    let trees_limit = engine::trees_limit()?;
    let isolation = StepIsolation::find(request.sandbox, toolset, &inputs.source, &request.work)?;
    if let Some(launcher) = &toolset.launcher {
        match engine::try_launcher(launcher, &isolation, &request.work) {
            Ok(()) => ui.note(format!("  launcher   sccache {}, in each step's sandbox", launcher.version)),
            // Who demands isolation gets what was asked for, or nothing.
            Err(error) if request.sandbox == SandboxMode::Require => {
                return Err(error.hint("leave `--launcher` out"));
            }
            Err(error) => {
                ui.warning(format!("{error}: compilers are called without it"));
                error.details().iter().for_each(|line| ui.detail(format!("launcher   {line}")));
                toolset.launcher = None;
            }
        }
    }
    Ok(BuildOptions {
        name: inputs.recipes.own().name.clone(),
        source: inputs.source.clone(),
        sources: inputs.plan_inputs.sources.clone(),
        isolation,
        headers: inputs.headers.clone(),
        work: request.work.clone(),
        jobs: request.threads(),
        keep_going: request.keep_going,
        step_timeout: request.step_timeout,
        memory: inputs.manifests.memory.clone(),
        time: inputs.manifests.time.clone(),
        vendor: inputs.manifests.vendor.clone(),
        incremental: request.incremental && trees_limit != Some(0),
        trees_limit,
        made: None,
    })
}

/// Runs the steps, or takes what they made from the cache.
pub(super) fn compile(
    job: &mut Job,
    toolset: &Toolset,
    cache: &Cache,
    options: &BuildOptions,
    ui: &Ui,
) -> Result<BuildOutcome> {
    let _group = ui.group("build");
    let mut outcome = engine::run(&job.plan, toolset, cache, options, ui)?;
    if outcome.lost() > 0 {
        let (lost, place) = (outcome.lost(), cache.root().display());
        ui.warning(format!("{lost} finished steps were removed from the cache {place} meanwhile: they are made again"));
        outcome = engine::run(&job.plan, toolset, cache, options, ui)?;
    }
    // Compilers have said which headers they read: keys are final now.
    job.settle();
    for (step, report) in job.plan.steps.iter().zip(&outcome.steps) {
        let how = if report.cached { "cached" } else { "compiled" };
        ui.detail(format!("step       {}  {how:<8} {:>6.2} s  {}", step.key.short(12), report.seconds, report.id));
    }
    match job.plan.steps.iter().find(|step| !step.is_settled()) {
        None => Ok(outcome),
        Some(step) => Err(Error::build(format!("what {} read is not remembered", step.id)).hint("build again")),
    }
}
