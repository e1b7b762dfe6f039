//! One build: what is asked for becomes staged, verified bundles, and these become packages in `dist/`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::{Instant, SystemTime};

use serde_json::Value;

use super::dist::{Dist, MARK, refuse_fixed, refuse_foreign};
use super::given::Given;
use super::inputs::{BuildInputs, Job, machine_paths};
use super::origin::{origin, watched};
use super::packages::{is_in_all_formats, pack, patch};
use super::provenance::{attest, origin_of, signing_key};
use super::request::BuildRequest;
use super::slices::cut;
use super::summary::{Built, LastWords, formats, rows};
use crate::abi::SymbolsFile;
use crate::attest::SigningKey;
use crate::bundle::Bundle;
use crate::data::Data;
use crate::engine::{
    self, BuildOptions, BuildOutcome, Cache, CachePlace, SandboxMode, StageInputs, StepIsolation, Toolset,
};
use crate::error::{Error, Result};
use crate::fs;
use crate::lastrun::{Ended, LastBuild, asked};
use crate::lint::Settings;
use crate::plan::{Action, BuildPlan};
use crate::process::{IsolationKind, check_interrupted};
use crate::project::{Dependencies, SYMBOLS_DIR, read_all_symbols};
use crate::recipe::{ComponentKind, HostVariant};
use crate::report::{Level, Report};
use crate::ui::Ui;
use crate::verify::{Staging, VerifyContext, verify};

/// How a build ended.
pub(crate) enum BuildResult {
    /// Nothing that it depends on has changed since the last one, and `dist/` is as that one left it.
    Unchanged {
        /// What the last one said.
        words: LastWords,
        /// The same as JSON, if that is asked for.
        summary: Option<Value>,
    },
    /// Findings are denied, or something could not be examined: nothing is packed, and `dist/` is as it was.
    Stopped(Report),
    /// The packages are in `dist/`.
    Built(Box<Built>),
}

/// Builds a recipe into verified packages.
///
/// # Errors
/// Anything that kept simpack from its work. Denied findings are no error.
pub(crate) fn build(request: &BuildRequest, ui: &Ui) -> Result<BuildResult> {
    let started = Instant::now();
    refuse_foreign(&request.dist)?;
    refuse_fixed(&request.work, "--work")?;
    refuse_fixed(&request.dist, "--dist")?;
    // A key that cannot be used is told before anything is built.
    let key = signing_key(request)?;
    fs_err::create_dir_all(&request.work)?;
    mark_as_cache(&request.work)?;
    // Two builds in one work directory would stage into each other's bundles.
    fs::with_lock(&request.work.join("lock"), || locked(request, key.as_ref(), started, ui))
}

/// Says, as build systems do, that a directory can be made again: backups pass over it, and so does a source tree around it.
fn mark_as_cache(work: &Path) -> Result<()> {
    let tag = work.join("CACHEDIR.TAG");
    match tag.exists() {
        true => Ok(()),
        false => fs::write_atomic(&tag, CACHE_TAG),
    }
}

/// The first line is fixed by the convention of that file.
const CACHE_TAG: &[u8] = b"Signature: 8a477f597d28d172789f06886806bc55\n# simpack writes here while it builds\n";

fn locked(request: &BuildRequest, key: Option<&SigningKey>, started: Instant, ui: &Ui) -> Result<BuildResult> {
    engine::remove_leftovers(&request.work)?;
    let began = SystemTime::now();
    let mut last = LastBuild::<LastWords>::read(&request.work);
    if let Some(last) = last.take_if(|last| last.is_untouched(asked(request), &request.dist)) {
        return Ok(unchanged(last, ui));
    }
    let inputs = BuildInputs::find(request, ui)?;
    // Settings that say nothing are refused, also where no cache is needed.
    CachePlace::of_user()?;
    // A build with a cache of its own leaves nothing outside its directories.
    if let Some(note) = request.artifacts.is_none().then(|| inputs.lock.keep()).flatten() {
        ui.note(note);
    }
    let from = origin(&inputs, request);
    if let Some(mut last) = last.take_if(|last| last.is_same(from, &request.dist)) {
        last.watch(watched(&inputs, request, began));
        return Ok(unchanged(last, ui));
    }
    let mut job = inputs.plan(request)?;
    let symbols = read_all_symbols(&job.inputs.recipes.own().dir.join(SYMBOLS_DIR))?;
    let context = VerifyContext::load(&Data::here())?.recipe(&job.inputs.recipes);
    let context = context.symbols(symbols.clone()).partial(request.is_partial());
    let settings = settings(&job, request, &context)?;
    say_what(&job, ui)?;
    let group = ui.group("toolchain");
    let mut toolset = job.inputs.fetch_tools(request.offline, ui)?;
    let dependencies = job.inputs.fetch_dependencies(request.offline, ui)?;
    toolset.dependencies = dependencies.iter().map(|(host, found)| (host.clone(), found.root.clone())).collect();
    drop(group);
    let options = options(&job, request, &toolset)?;
    let isolation = options.isolation.kind();
    say_isolation(isolation, &format!("steps are {}", options.isolation.describe()), ui);
    let mut cache = engine::open_cache(&request.work, request.artifacts.as_deref())?;
    if request.sandbox == SandboxMode::Require {
        cache = cache.requiring(isolation);
    }
    let result = compile(&mut job, &toolset, &cache, &options, ui).and_then(|outcome| {
        let weakest = outcome.isolation();
        if !weakest.is_as_strong_as(isolation) {
            let how = format!("steps from the cache were isolated less ({weakest})");
            say_isolation(weakest, &format!("{how}; --sandbox require makes them again"), ui);
        }
        let _group = ui.group("packages");
        let staged = stage(&job, &outcome, (request, &dependencies), &options, context, &settings);
        let (bundles, report) = staged.map_err(|error| match outcome.lost() {
            0 => error,
            lost => Error::file(cache.root(), format!("{lost} finished steps were removed from the cache meanwhile"))
                .hint("build again, and leave the cache alone meanwhile; `simpack cache gc` spares running builds"),
        })?;
        if report.is_denied() || !report.incomplete.is_empty() {
            return Ok(BuildResult::Stopped(report));
        }
        say_left_out(&job, request, &bundles, ui);
        let mut built = publish(&job, &bundles, &symbols, (outcome, report), request, &options, key)?;
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
        Ok(BuildResult::Built(Box::new(built)))
    });
    engine::finish_cache(cache, ui);
    result
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

/// Levels and waivers: the recipe's, then the command line's.
fn settings(job: &Job, request: &BuildRequest, context: &VerifyContext) -> Result<Settings> {
    let recipe = &job.inputs.recipes.own().lint;
    let mut settings = Settings::new(recipe)?;
    settings.partial = request.is_partial();
    let is_denied = recipe.levels.get("device-coverage").is_none_or(|level| *level == Level::Deny);
    if is_denied && (request.capabilities.is_some() || request.ptx.is_some()) {
        // Whoever asks for a part of the matrix knows that the rest is missing.
        settings = settings.level("device-coverage", Level::Warn);
    }
    let levels = [(&request.allow, Level::Allow), (&request.warn, Level::Warn), (&request.deny, Level::Deny)];
    for (ids, level) in levels {
        for id in ids {
            settings = settings.level(id.clone(), level);
        }
    }
    context.lints().resolve(settings)
}

/// What a user must know even under `--quiet` is that nothing kept the steps in.
fn say_isolation(kind: IsolationKind, text: &str, ui: &Ui) {
    match kind {
        IsolationKind::None => ui.warning(text),
        _ => ui.note(format!("  steps      {text}")),
    }
}

/// What is not in every format that was asked for.
fn say_left_out(job: &Job, request: &BuildRequest, bundles: &[Bundle], ui: &Ui) {
    let is_left_out = |bundle: &&Bundle| !is_in_all_formats(job.inputs.recipes.own(), &bundle.manifest);
    let bundles = bundles.iter().filter(is_left_out);
    let left_out: Vec<String> = bundles
        .filter_map(|bundle| Some(format!("{} ({})", bundle.manifest.package, bundle.manifest.host.as_ref()?)))
        .collect();
    let plain: Vec<&str> =
        request.formats.iter().map(|name| name.format()).filter(|it| !it.has_variants()).map(|it| it.name()).collect();
    if !left_out.is_empty() && !plain.is_empty() {
        ui.note(format!("  variants   packages for conda alone, not in {}: {}", plain.join(", "), left_out.join(", ")));
    }
}

fn say_what(job: &Job, ui: &Ui) -> Result<()> {
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

fn options(job: &Job, request: &BuildRequest, toolset: &Toolset) -> Result<BuildOptions> {
    let inputs = &job.inputs;
    Ok(BuildOptions {
        name: inputs.recipes.own().name.clone(),
        source: inputs.source.clone(),
        sources: inputs.plan_inputs.sources.clone(),
        isolation: StepIsolation::find(request.sandbox, toolset, &inputs.source, &request.work)?,
        headers: inputs.headers.clone(),
        work: request.work.clone(),
        jobs: request.jobs.unwrap_or_else(crate::parallel::threads),
        keep_going: request.keep_going,
        step_timeout: request.step_timeout,
        memory: inputs.manifests.memory.clone(),
        vendor: inputs.manifests.vendor.clone(),
    })
}

/// Runs the steps, or takes what they made from the cache.
fn compile(job: &mut Job, toolset: &Toolset, cache: &Cache, options: &BuildOptions, ui: &Ui) -> Result<BuildOutcome> {
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

/// Puts what the steps made into bundles, patches and examines them.
fn stage(
    job: &Job,
    outcome: &BuildOutcome,
    (request, dependencies): (&BuildRequest, &BTreeMap<Option<HostVariant>, Dependencies>),
    options: &BuildOptions,
    context: VerifyContext,
    settings: &Settings,
) -> Result<(Vec<Bundle>, Report)> {
    let inputs = &job.inputs;
    let bundles_dir = request.work.join("bundles");
    if bundles_dir.exists() {
        fs_err::remove_dir_all(&bundles_dir)?;
    }
    let stage = StageInputs {
        recipes: &inputs.recipes,
        plan: &job.plan,
        outcome,
        given: &inputs.given,
        source_date_epoch: inputs.epoch,
    };
    let mut staged = engine::stage(&stage, &bundles_dir)?;
    let scratch = tempfile::tempdir_in(&request.work)?;
    let mut search_paths = cut(&inputs.recipes, &inputs.manifests, &staged, scratch.path())?;
    drop(scratch);
    let given = Given::new(&staged.bundles, dependencies, &inputs.system)?;
    for bundle in &mut staged.bundles {
        check_interrupted()?;
        search_paths.extend(patch(inputs.recipes.own(), &inputs.manifests, bundle, options.jobs)?);
        let lists = staged.lists.remove(&bundle.root).unwrap_or_default();
        engine::seal(bundle, lists, &|bundle| given.needed_by(bundle))?;
    }
    let staging = Staging {
        unclaimed: staged.unclaimed,
        claimed_twice: staged.claimed_twice,
        empty_globs: staged.empty_globs,
        hard_coded: inputs.hygiene.hard_coded.clone(),
        overrides: inputs.hygiene.overrides.clone(),
        unused: unused(&job.plan, outcome),
        search_paths,
        given: given.libraries(),
    };
    let context = context.build_paths(machine_paths(inputs, &request.work)?).staging(staging);
    let report = verify(&staged.bundles, &context, settings);
    check_interrupted()?;
    Ok((staged.bundles, report))
}

/// Options of the recipe that builds did not use. Build systems name what they were given beside the recipe, too.
fn unused(plan: &BuildPlan, outcome: &BuildOutcome) -> BTreeSet<(ComponentKind, String)> {
    let mut found = BTreeSet::new();
    for step in &plan.steps {
        let (Action::Host { options, .. }, Some(entry)) = (&step.action, outcome.entries.get(&step.id)) else {
            continue;
        };
        let own = entry.made.unused.iter().filter(|name| options.contains_key(*name));
        found.extend(own.map(|name| (step.component, name.clone())));
    }
    found
}

/// Writes packages and puts them in the place of those before.
fn publish(
    job: &Job,
    bundles: &[Bundle],
    symbols: &[SymbolsFile],
    (outcome, report): (BuildOutcome, Report),
    request: &BuildRequest,
    options: &BuildOptions,
    key: Option<&SigningKey>,
) -> Result<Built> {
    let dist = Dist::begin(&request.dist)?;
    let packed = pack(job, bundles, symbols, &request.formats, dist.root(), &request.dist, options.jobs)?;
    let stated = origin_of(job, bundles, &outcome);
    let built = Built {
        simulator: job.inputs.recipes.own().name.clone(),
        version: job.inputs.recipes.own().version.to_string(),
        kernel_abi: job.plan.kernel_abi.as_ref().map(ToString::to_string),
        isolation: outcome.isolation(),
        formats: formats(&packed, dist.root()),
        rows: rows(bundles, packed, &report, &job.plan, &outcome),
        steps: outcome.steps,
        report,
        seconds: 0.0,
    };
    let mut mark = serde_json::to_vec_pretty(&built.mark())
        .map_err(|error| Error::bug("a summary does not print as JSON").because(error))?;
    mark.push(b'\n');
    fs::write_atomic(&dist.root().join(MARK), &mark)?;
    attest(&stated, key, dist.root())?;
    // The last moment: from here on the packages are the new ones, and what follows is soon done.
    check_interrupted()?;
    dist.publish()?;
    Ok(built)
}
