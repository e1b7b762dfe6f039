//! From what the steps made to packages in `dist/`: staged, patched, examined, packed.

use std::collections::{BTreeMap, BTreeSet};

use super::BuildResult;
use super::given::Given;
use super::inputs::machine_paths;
use super::job::Job;
use super::output::dist::{Dist, MARK};
use super::output::packages::{is_in_all_formats, pack};
use super::output::provenance::{attest, origin_of};
use super::request::BuildRequest;
use super::search_paths::{self, Libraries};
use super::slices::cut;
use super::summary::{Built, formats, rows};
use crate::abi::SymbolsFile;
use crate::arch::KernelTarget;
use crate::attest::SigningKey;
use crate::bundle::Bundle;
use crate::data::Data;
use crate::engine::{self, BuildOutcome, Cache, StageInputs, TestPlaces};
use crate::error::{Error, Result};
use crate::fs;
use crate::lint::Settings;
use crate::plan::{Action, BuildPlan};
use crate::process::check_interrupted;
use crate::project::{Dependencies, SYMBOLS_DIR, licences, read_all_symbols};
use crate::recipe::{ComponentKind, HostVariant, TestOutcome};
use crate::report::{Level, Report};
use crate::ui::Ui;
use crate::verify::{Staging, VerifyContext, verify};

/// What builds of each host variant, and those without, are given of others.
pub(super) type ByVariant = BTreeMap<Option<HostVariant>, Dependencies>;

/// What packing needs beside what the steps made. It is read before anything is built, so that mistakes are told first.
pub(super) struct Finish<'a> {
    request: &'a BuildRequest,
    key: Option<&'a SigningKey>,
    symbols: Vec<SymbolsFile>,
    /// Texts by their names.
    licences: BTreeMap<String, String>,
    context: VerifyContext,
    settings: Settings,
    jobs: usize,
}

impl<'a> Finish<'a> {
    /// Reads symbols files, licence texts, lints and levels.
    pub(super) fn prepare(job: &Job, request: &'a BuildRequest, key: Option<&'a SigningKey>) -> Result<Self> {
        let symbols = read_all_symbols(&job.inputs.recipes.own().dir.join(SYMBOLS_DIR))?;
        let licences = licences(job.inputs.recipes.own(), &job.inputs.source)?;
        let context = VerifyContext::load(&Data::here())?.recipe(&job.inputs.recipes);
        let context = context.symbols(symbols.clone()).partial(request.is_partial());
        let settings = settings(job, request, &context)?;
        Ok(Self { request, key, symbols, licences, context, settings, jobs: request.threads() })
    }

    /// Makes the packages, unless findings are denied.
    ///
    /// # Errors
    /// Anything that kept simpack from its work; also that entries went out of `cache` meanwhile.
    pub(super) fn packages(
        self,
        job: &Job,
        outcome: BuildOutcome,
        dependencies: &ByVariant,
        cache: &Cache,
        ui: &Ui,
    ) -> Result<BuildResult> {
        let _group = ui.group("packages");
        let Self { request, key, symbols, licences, context, settings, jobs } = self;
        let staged = stage(job, &outcome, (request, dependencies), context, &settings, (jobs, ui));
        let (mut bundles, report, tests) = staged.map_err(|error| match outcome.lost() {
            0 => error,
            lost => Error::file(cache.root(), format!("{lost} finished steps were removed from the cache meanwhile"))
                .hint("build again, and leave the cache alone meanwhile; `simpack cache gc` spares running builds"),
        })?;
        if report.is_denied() || !report.incomplete.is_empty() {
            return Ok(BuildResult::Stopped(report));
        }
        // What core embeds was examined as it was compiled, and is in core.
        let own = job.inputs.recipes.own();
        bundles.retain(|bundle| !bundle.manifest.target.is_some_and(|target| own.is_embedded(target)));
        say_left_out(job, request, &bundles, ui);
        let mut built = publish(job, (&bundles, &symbols, licences), (outcome, report), (request, key), jobs)?;
        built.tests = tests;
        Ok(BuildResult::Built(Box::new(built)))
    }
}

/// Puts what the steps made into bundles, patches and examines them.
fn stage(
    job: &Job,
    outcome: &BuildOutcome,
    (request, dependencies): (&BuildRequest, &ByVariant),
    context: VerifyContext,
    settings: &Settings,
    (jobs, ui): (usize, &Ui),
) -> Result<(Vec<Bundle>, Report, Vec<TestOutcome>)> {
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
    let libraries = Libraries::of(&staged)?;
    let mut search_paths = cut(&inputs.recipes, &inputs.manifests, &libraries, &staged, scratch.path())?;
    drop(scratch);
    let given = Given::new(&staged.bundles, dependencies, &inputs.system, inputs.recipes.own())?;
    for bundle in &mut staged.bundles {
        check_interrupted()?;
        let own = inputs.recipes.own();
        search_paths.extend(search_paths::patch(own, &inputs.manifests, &libraries, bundle, jobs)?);
        let lists = staged.lists.remove(&bundle.root).unwrap_or_default();
        engine::seal(bundle, lists, &|bundle| given.needed_by(bundle))?;
    }
    let tests = tested(job, &staged.bundles, request, ui)?;
    let staging = Staging {
        unclaimed: staged.unclaimed,
        claimed_twice: staged.claimed_twice,
        empty_globs: staged.empty_globs,
        hard_coded: inputs.hygiene.hard_coded.clone(),
        overrides: inputs.hygiene.overrides.clone(),
        unused: unused(&job.plan, outcome),
        search_paths,
        given: given.libraries(),
        tests: tests.clone(),
    };
    let context = context.build_paths(machine_paths(inputs, &request.work)?).staging(staging);
    let report = verify(&staged.bundles, &context, settings);
    check_interrupted()?;
    Ok((staged.bundles, report, tests))
}

/// Runs the recipe's tests on a prefix of the bundles that people have who have no GPU. A part of them cannot be tested.
fn tested(job: &Job, bundles: &[Bundle], request: &BuildRequest, ui: &Ui) -> Result<Vec<TestOutcome>> {
    let recipe = job.inputs.recipes.own();
    if recipe.tests.is_empty() || request.is_partial() {
        return Ok(Vec::new());
    }
    let is_plain = |bundle: &&Bundle| {
        let manifest = &bundle.manifest;
        let host = manifest.host.as_ref();
        manifest.target.is_none_or(|target| target == KernelTarget::Cpu)
            && manifest.cuda.is_none_or(|cuda| cuda == recipe.cuda)
            && host.is_none_or(|host| recipe.is_default_variant(manifest.component, host))
    };
    let work = engine::scratch(&request.work)?;
    let prefix = work.path().join("prefix");
    for bundle in bundles.iter().filter(is_plain) {
        fs::copy_tree(&bundle.root, &prefix, &BTreeMap::new())?;
    }
    let places = TestPlaces { prefix: &prefix, source: &job.inputs.source, work: work.path() };
    engine::run_tests(&recipe.tests, &places, request.sandbox, ui)
}

/// Writes packages and puts them in the place of those before.
fn publish(
    job: &Job,
    (bundles, symbols, licences): (&[Bundle], &[SymbolsFile], BTreeMap<String, String>),
    (outcome, report): (BuildOutcome, Report),
    (request, key): (&BuildRequest, Option<&SigningKey>),
    jobs: usize,
) -> Result<Built> {
    let own = job.inputs.recipes.own();
    let dist = Dist::begin(&request.dist)?;
    let packed = pack(job, (bundles, symbols, licences), &request.formats, dist.root(), &request.dist, jobs)?;
    let stated = origin_of(job, bundles, &outcome);
    let built = Built {
        simulator: own.name.clone(),
        version: own.version.to_string(),
        kernel_abi: job.plan.kernel_abi.as_ref().filter(|_| own.ships_kernels()).map(ToString::to_string),
        isolation: outcome.isolation(),
        incremental: outcome.incremental(),
        formats: formats(&packed, dist.root()),
        rows: rows(bundles, packed, &report, &job.plan, &outcome),
        steps: outcome.steps,
        launched: outcome.launched,
        tests: Vec::new(),
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
