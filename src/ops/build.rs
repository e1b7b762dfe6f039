//! `simpack build` and `simpack plan`: the whole line from a recipe to `dist/`.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Instant, SystemTime};

use schemars::JsonSchema;
use serde::Serialize;

use crate::abi::SymbolsFile;
use crate::arch::KernelTarget;
use crate::bundle::Bundle;
use crate::data::Data;
use crate::engine::{self, BuildOptions, BuildOutcome, Cache, StageInputs, StepIsolation, StepReport, Toolset};
use crate::error::{Error, Result};
use crate::fs;
use crate::lint::Settings;
use crate::pipeline::{
    BuildInputs, BuildRequest, Dist, Job, LastResult, LastWords, MARK, Packed, Row, cut, last_result, machine_paths,
    origin, pack, patch, refuse_fixed, refuse_foreign, remember_result, remember_watched, table, watched_origin,
};
use crate::plan::{Action, BuildPlan};
use crate::process::check_interrupted;
use crate::project::{SYMBOLS_DIR, read_all_symbols};
use crate::report::{Level, Report, ReportJson, TextOptions, Verdict};
use crate::ui::{Ui, size};
use crate::verify::{Staging, VerifyContext, verify};

/// How a build prints a report: the time goes into the closing line.
const WORDS: TextOptions<'static> = TextOptions { noun: "package", millis: None, all: false };

/// The JSON of a finished build.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Summary<'a> {
    /// Always 1.
    schema: u32,
    /// Simulator's name.
    simulator: &'a str,
    /// Its version.
    version: String,
    /// The tag that ties kernels to core.
    kernel_abi: Option<String>,
    /// By which means steps were kept from what they do not declare; absent in the first files of this form.
    #[schemars(default)]
    sandbox: &'a str,
    /// Package files.
    packages: &'a [Row],
    /// What happened to the steps; never in a file of `dist/`.
    #[serde(skip_serializing_if = "Option::is_none")]
    steps: Option<&'a [StepReport]>,
    /// What was found; never in a file of `dist/`.
    #[serde(skip_serializing_if = "Option::is_none")]
    report: Option<ReportJson<'a>>,
    /// Seconds of the whole build; never in a file of `dist/`.
    #[serde(skip_serializing_if = "Option::is_none")]
    seconds: Option<f64>,
}

/// Builds a recipe into verified packages; answers the exit code.
///
/// # Errors
/// Anything that kept simpack from its work. Denied findings are no error: exit code 1.
pub fn build(request: &BuildRequest, ui: &Ui) -> Result<u8> {
    let started = Instant::now();
    refuse_foreign(&request.dist)?;
    refuse_fixed(&request.work, "--work")?;
    refuse_fixed(&request.dist, "--dist")?;
    fs_err::create_dir_all(&request.work)?;
    // Two builds in one work directory would stage into each other's bundles.
    fs::with_lock(&request.work.join("lock"), || locked(request, ui, started))
}

fn locked(request: &BuildRequest, ui: &Ui, started: Instant) -> Result<u8> {
    engine::remove_leftovers(&request.work)?;
    let began = SystemTime::now();
    if !request.dry_run
        && let Some(from) = watched_origin(request)
        && let Some(last) = last_result(from, request, ui.is_json())
    {
        return same_as_last(last, request, ui, started);
    }
    let ground = BuildInputs::find(request, ui)?;
    if request.dry_run {
        return dry_run(&ground.plan(request)?.plan, &engine::look_into_cache()?, ui);
    }
    engine::CachePlace::of_user()?;
    // A build with a cache of its own leaves nothing outside its directories.
    if let Some(note) = request.artifacts.is_none().then(|| ground.lock.keep()).flatten() {
        ui.note(note);
    }
    let from = origin(&ground, request);
    if let Some(from) = from
        && let Some(last) = last_result(from, request, ui.is_json())
    {
        remember_watched(from, &ground, request, began);
        return same_as_last(last, request, ui, started);
    }
    let job = ground.plan(request)?;
    let data = Data::here();
    let symbols = read_all_symbols(&job.recipe.dir.join(SYMBOLS_DIR))?;
    let context = VerifyContext::load(&data)?.recipe(&job.recipe);
    let context = context.symbols(symbols.clone()).partial(job.is_partial(request));
    let settings = settings(&job, request, &context)?;
    ui.note(job.headline());
    ui.detail(format!("cache      {}", fs::cache_dir()?.display()));
    ui.detail(format!("source     {}", job.source.display()));
    ui.detail(format!("lock       {}", job.lock.path.display()));
    for (name, tool) in &job.plan.tools {
        ui.detail(format!("tool       {name} {}", tool.version));
    }
    let group = ui.group("toolchain");
    let toolset = job.tools.fetch(&job.recipe, &job.store, job.epoch, request.offline, ui)?;
    drop(group);
    let isolation = StepIsolation::find(request.sandbox, &toolset, &job.source, &request.work)?;
    ui.note(format!("  steps      {}", isolation.describe()));
    let options = BuildOptions {
        name: job.recipe.name.clone(),
        source: job.source.clone(),
        sources: job.inputs.sources.clone(),
        isolation,
        headers: job.headers.clone(),
        work: request.work.clone(),
        jobs: request.jobs.unwrap_or_else(crate::parallel::threads),
        keep_going: request.keep_going,
        step_timeout: request.step_timeout,
        memory: job.manifests.memory.clone(),
    };
    let cache = engine::open_cache(&request.work, request.artifacts.as_deref())?;
    let means = BuildEnv { from, began, toolset, options, cache: &cache, settings, context, symbols };
    let answer = packages(job, request, means, ui, started);
    engine::finish_cache(cache, ui);
    answer
}

/// What a build works with.
struct BuildEnv<'a> {
    /// Everything that decides what comes out.
    from: Option<fs::Digest>,
    /// When this run began to look at it.
    began: SystemTime,
    toolset: Toolset,
    options: BuildOptions,
    cache: &'a Cache,
    settings: Settings,
    context: VerifyContext,
    /// Interfaces of earlier releases.
    symbols: Vec<SymbolsFile>,
}

/// From steps to `dist/`.
fn packages(mut job: Job, request: &BuildRequest, means: BuildEnv<'_>, ui: &Ui, started: Instant) -> Result<u8> {
    let BuildEnv { from, began, toolset, options, cache, settings, context, symbols } = means;
    let group = ui.group("build");
    let outcome = engine::run(&job.plan, &toolset, cache, &options, ui)?;
    // Compilers have said which headers they read: keys are final now.
    job.settle();
    let (recipe, plan) = (&job.recipe, &job.plan);
    for (step, report) in plan.steps.iter().zip(&outcome.steps) {
        let how = if report.cached { "cached" } else { "compiled" };
        ui.detail(format!("step       {}  {how:<8} {:>6.2} s  {}", step.key.short(12), report.seconds, report.id));
    }
    drop(group);
    if let Some(step) = plan.steps.iter().find(|step| !step.is_settled()) {
        return Err(Error::build(format!("what {} read is not remembered", step.id)).hint("build again"));
    }
    let sandbox = options.isolation.name();

    let group = ui.group("packages");
    let bundles_dir = request.work.join("bundles");
    if bundles_dir.exists() {
        fs_err::remove_dir_all(&bundles_dir)?;
    }
    let inputs = StageInputs { recipe, plan, outcome: &outcome, source_date_epoch: job.epoch };
    let mut staged = engine::stage(&inputs, &bundles_dir)?;
    let scratch = tempfile::tempdir_in(&request.work)?;
    cut(recipe, &job.manifests, &staged, scratch.path())?;
    drop(scratch);
    for bundle in &mut staged.bundles {
        check_interrupted()?;
        patch(recipe, &job.manifests.drivers, bundle, options.jobs)?;
        engine::seal(bundle)?;
    }

    let staging = Staging {
        unclaimed: staged.unclaimed,
        claimed_twice: staged.claimed_twice,
        empty_globs: staged.empty_globs,
        hard_coded: job.hygiene.hard_coded.clone(),
        overrides: job.hygiene.overrides.clone(),
    };
    let context = context.build_paths(machine_paths(&job, &request.work)?).staging(staging);
    let report = verify(&staged.bundles, &context, &settings);
    check_interrupted()?;
    if report.is_denied() || !report.incomplete.is_empty() {
        return stopped(&report, ui);
    }

    let dist = Dist::begin(&request.dist)?;
    let packed = pack(&job, &staged.bundles, &symbols, dist.root(), options.jobs)?;
    let rows = rows(&staged.bundles, packed, &report, plan, &outcome);
    let mut summary = Summary {
        schema: 1,
        simulator: &recipe.name,
        version: recipe.version.to_string(),
        kernel_abi: plan.kernel_abi.as_ref().map(ToString::to_string),
        sandbox: &sandbox,
        packages: &rows.iter().map(|row| Row { seconds: None, ..row.clone() }).collect::<Vec<_>>(),
        steps: None,
        report: None,
        seconds: None,
    };
    let mut mark = serde_json::to_vec_pretty(&summary)
        .map_err(|error| Error::bug("a summary does not print as JSON").because(error))?;
    mark.push(b'\n');
    fs::write_atomic(&dist.root().join(MARK), &mark)?;
    // The last moment: from here on the packages are the new ones, and what follows is soon done.
    check_interrupted()?;
    dist.publish()?;
    super::plan::remember_keys(plan, &request.work)?;
    drop(group);

    summary.packages = &rows;
    summary.steps = Some(&outcome.steps);
    summary.report = Some(report.json());
    summary.seconds = Some(started.elapsed().as_secs_f64());
    if let Some(from) = from {
        let words = LastWords {
            headline: job.headline(),
            table: table(&rows),
            report: findings(&report),
            findings: report.findings.len(),
            steps: outcome.steps.len(),
            packages: rows.len(),
            bytes: rows.iter().map(|row| row.bytes).sum(),
        };
        remember_result(from, request, words, &summary)?;
        remember_watched(from, &job, request, began);
    }
    if !ui.json(&summary)? {
        ui.say(table(&rows));
        ui.say(closing(&outcome, &rows, &report, started, &request.dist));
    }
    Ok(0)
}

/// Nothing has changed since the last build: its result once more.
fn same_as_last(last: LastResult, request: &BuildRequest, ui: &Ui, started: Instant) -> Result<u8> {
    let LastWords { headline, table, report, findings, steps, packages, bytes } = last.words;
    ui.note(headline);
    if let Some(mut summary) = last.summary {
        for step in summary["steps"].as_array_mut().into_iter().flatten() {
            step["cached"] = true.into();
        }
        summary["seconds"] = started.elapsed().as_secs_f64().into();
        ui.json(&summary)?;
        return Ok(0);
    }
    ui.say(table);
    ui.say(report + &ending((steps, 0), (packages, bytes), findings, started, &request.dist));
    Ok(0)
}

/// Levels and waivers: the recipe's, then the command line's.
fn settings(job: &Job, request: &BuildRequest, context: &VerifyContext) -> Result<Settings> {
    let mut settings = Settings::new(&job.recipe.lint)?;
    settings.partial = job.is_partial(request);
    let levels = [(&request.allow, Level::Allow), (&request.warn, Level::Warn), (&request.deny, Level::Deny)];
    for (ids, level) in levels {
        for id in ids {
            settings = settings.level(id.clone(), level);
        }
    }
    context.lints().resolve(settings)
}

/// A denied or incomplete examination: the report, and nothing else changes.
fn stopped(report: &Report, ui: &Ui) -> Result<u8> {
    if !ui.json(&report.json())? {
        ui.say(report.text(WORDS));
        ui.note("nothing packed; dist/ is as it was");
    }
    Ok(if report.is_denied() { 1 } else { 7 })
}

/// One row per package file; a package without a bundle of its own (selector, metapackage) took no
/// steps and holds no code.
fn rows(
    bundles: &[Bundle],
    packed: Vec<Packed>,
    report: &Report,
    plan: &BuildPlan,
    outcome: &BuildOutcome,
) -> Vec<Row> {
    let by_name: BTreeMap<&str, &Bundle> =
        bundles.iter().map(|bundle| (bundle.manifest.package.as_str(), bundle)).collect();
    let times: BTreeMap<&str, f64> = outcome.steps.iter().map(|step| (step.id.as_str(), step.seconds)).collect();
    packed
        .into_iter()
        .map(|packed| {
            let bundle = by_name.get(packed.name.as_str());
            let seconds = bundle.map_or(0.0, |bundle| {
                let target = bundle.manifest.target;
                let of = plan.steps.iter().filter(|step| match &step.action {
                    Action::Kernel { target: made, .. } => target == Some(*made),
                    Action::Host { .. } => step.component == bundle.manifest.component,
                });
                of.filter_map(|step| times.get(step.id.as_str())).sum()
            });
            let code = bundle.and_then(|bundle| Some((bundle.manifest.target?, bundle.manifest.kernels.len())));
            let device_code = match (code, packed.selects) {
                (Some((KernelTarget::Cpu, _)), _) => "none".to_owned(),
                (Some((target, 0)), _) => format!("slice for {target}"),
                (Some((target, kernels)), _) => format!("{kernels} kernels {target}"),
                (None, Some(target)) => format!("none, selects {target}"),
                (None, None) => "none".to_owned(),
            };
            let verdict = bundle.map_or(Verdict::Pass, |bundle| report.about(&bundle.manifest.package).verdict());
            Row {
                package: packed.name,
                version: packed.version,
                build: packed.build,
                target: packed.subdir,
                bytes: packed.bytes,
                sha256: packed.sha256.to_string(),
                device_code,
                verdict: verdict.to_string(),
                seconds: Some(seconds),
            }
        })
        .collect()
}

fn closing(outcome: &BuildOutcome, rows: &[Row], report: &Report, started: Instant, dist: &Path) -> String {
    let cached = outcome.steps.iter().filter(|step| step.cached).count();
    let mut text = findings(report);
    let bytes: u64 = rows.iter().map(|row| row.bytes).sum();
    let steps = (outcome.steps.len(), outcome.steps.len() - cached);
    text.push_str(&ending(steps, (rows.len(), bytes), report.findings.len(), started, dist));
    text
}

/// What the examination found, if anything.
fn findings(report: &Report) -> String {
    match report.findings.is_empty() {
        true => String::new(),
        false => format!("{}\n", report.text(WORDS)),
    }
}

/// The last lines, from how many steps there are and were compiled, and how many packages with how many bytes.
fn ending(steps: (usize, usize), packages: (usize, u64), findings: usize, started: Instant, dist: &Path) -> String {
    let (steps, compiled) = steps;
    format!(
        "built {steps} steps in {:.0} s ({compiled} compiled, {} from cache), {} packages ({}) in {dist}/, \
         {findings} findings\nnext: simpack verify {dist}/",
        started.elapsed().as_secs_f64(),
        steps - compiled,
        packages.0,
        size(packages.1),
        dist = dist.display(),
    )
}

fn dry_run(plan: &BuildPlan, cache: &Cache, ui: &Ui) -> Result<u8> {
    #[derive(Serialize)]
    struct Line<'a> {
        id: &'a str,
        key: fs::Digest,
        cached: bool,
    }
    let mut lines = Vec::new();
    for step in &plan.steps {
        lines.push(Line { id: &step.id, key: step.key, cached: cache.holds(step.key) });
    }
    if ui.json(&lines)? {
        return Ok(0);
    }
    let mut text = String::new();
    for line in &lines {
        text.push_str(&format!(
            "  {}  {:<7}  {}\n",
            line.key.short(8),
            if line.cached { "cached" } else { "compile" },
            line.id
        ));
    }
    let cached = lines.iter().filter(|line| line.cached).count();
    text.push_str(&format!(
        "{} steps, {cached} in the cache, {} to compile; nothing done",
        lines.len(),
        lines.len() - cached
    ));
    ui.say(text);
    Ok(0)
}
