//! One plan over several machines: a part of its steps here, as a directory that travels; and the packages, from the
//! directories of all parts.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Instant;

use schemars::JsonSchema;
use serde::Serialize;

use super::parts::{Asked, each_once, identity};
use crate::amount::count;
use crate::engine::{
    self, BuildOutcome, Cache, CacheEntry, CacheSettings, LauncherUse, SHARD_FILE, ShardList, StepReport,
};
use crate::error::{Error, Result};
use crate::fs::{self, Digest};
use crate::pipeline::BuildResult;
use crate::pipeline::finish::Finish;
use crate::pipeline::job::Job;
use crate::pipeline::output::dist::Dist;
use crate::pipeline::output::provenance::signing_key;
use crate::pipeline::request::{BuildRequest, SandboxMode, ShardRequest};
use crate::pipeline::run::{compile, found, in_work, open_cache, options, say_isolation, say_weakest, say_what, tools};
use crate::plan::{self, RecordedHeaders, Shard};
use crate::printable;
use crate::process::{IsolationKind, check_interrupted};
use crate::ui::Ui;

/// Version of what a part of a build says.
const SCHEMA: u32 = 1;

/// What a part of a build left.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct ShardSummary {
    /// Always 1.
    schema: u32,
    /// Simulator's name.
    pub simulator: String,
    /// Its version.
    pub version: String,
    /// Which part.
    pub shard: Shard,
    /// Its directory.
    pub path: String,
    /// How steps were isolated: as the least isolated one was, from the cache or not.
    pub sandbox: String,
    /// Files in it.
    pub files: usize,
    /// Their bytes.
    pub bytes: u64,
    /// What happened to the steps.
    pub steps: Vec<StepReport>,
    /// How often the launcher of host compilers (`--launcher`) had what it was to make.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(default)]
    pub launcher: Option<LauncherUse>,
    /// Seconds of the whole run.
    pub seconds: f64,
}

/// A shard as it lies somewhere.
struct Found {
    dir: PathBuf,
    list: ShardList<Asked>,
}

/// Builds one part of a plan into a directory that travels.
///
/// # Errors
/// Anything that kept simpack from its work.
pub(crate) fn build_shard(request: &BuildRequest, asked: &ShardRequest, ui: &Ui) -> Result<ShardSummary> {
    let started = Instant::now();
    in_work(request, || {
        let mut job = found(request, ui)?.plan(request)?;
        say_what(&job, ui)?;
        ui.note(format!("  shard      {}: {}", asked.shard, count(job.plan.steps.len(), "step")));
        let (mut toolset, _) = tools(&job, request, ui)?;
        let options = options(&job, request, &mut toolset, ui)?;
        let cache = open_cache(request, &options, ui)?;
        let result = compile(&mut job, &toolset, &cache, &options, ui).and_then(|outcome| {
            say_weakest(&outcome, options.isolation.kind(), ui);
            let sandbox = outcome.isolation().to_string();
            let amount = write(request, asked.shard, &job, &outcome).map_err(|error| match outcome.lost() {
                0 => error,
                lost => Error::file(cache.root(), format!("{lost} finished steps were removed from it meanwhile"))
                    .hint("build again, and leave the cache alone meanwhile"),
            })?;
            let recipe = job.inputs.recipes.own();
            Ok(ShardSummary {
                schema: SCHEMA,
                simulator: recipe.name.clone(),
                version: recipe.version.to_string(),
                shard: asked.shard,
                path: request.dist.display().to_string(),
                sandbox,
                files: amount.files,
                bytes: amount.bytes,
                steps: outcome.steps,
                launcher: outcome.launched,
                seconds: started.elapsed().as_secs_f64(),
            })
        });
        engine::finish_cache(cache, ui);
        result
    })
}

fn write(request: &BuildRequest, shard: Shard, job: &Job, outcome: &BuildOutcome) -> Result<engine::Amount> {
    let identity = job.whole.clone().ok_or_else(|| Error::bug("a part of no plan"))?;
    let recorded = job.inputs.headers.load(job.plan.steps.iter().filter_map(|step| step.direct));
    let headers = plan::holding(&job.plan, &job.inputs.plan_inputs.sources, &recorded);
    let dist = Dist::begin(&request.dist)?;
    let what = (shard, identity, Asked::of(request, job.inputs.epoch));
    // Inside of a source tree it is no part of the source.
    fs::mark_as_cache(dist.root())?;
    let amount = ShardList::write(what, &job.plan, &outcome.entries, &headers, dist.root())?;
    check_interrupted()?;
    dist.publish()?;
    Ok(amount)
}

/// Makes the packages of a plan from the directories of all of its parts, and from nothing else: no step runs, and no cache
/// is asked. Answers how many parts there were, too.
///
/// # Errors
/// A part is missing, damaged, given twice or of another plan; or anything that kept simpack from its work.
pub(crate) fn merge(merge: &BuildRequest, dirs: &[PathBuf], ui: &Ui) -> Result<(BuildResult, usize)> {
    let started = Instant::now();
    let shards = complete(dirs)?;
    let Some(first) = shards.first() else { return Err(Error::usage("no shard is given")) };
    let request = first.list.asked.request(merge);
    let key = signing_key(&request)?;
    let result = in_work(&request, || {
        let mut job = found(&request, ui)?.plan_unsettled(&request)?;
        same_plan(&shards, &job)?;
        let finish = Finish::prepare(&job, &request, key.as_ref())?;
        say_what(&job, ui)?;
        let dependencies = job.inputs.fetch_dependencies(request.offline, ui)?;
        let scratch = engine::scratch(&request.work)?;
        let (limit, remote) = (None, None);
        let cache = Cache::open(
            scratch.path().join("cache"),
            &CacheSettings { limit, remote, instead: scratch.path().join("instead") },
        )?;
        let outcome = unpack(&shards, &mut job, &cache, &request, ui)?;
        // What steps took is a help for the next division, not a result.
        if let Err(error) = engine::open_cache(&request.work, None, None)
            .and_then(|own| engine::remember(&own, &job.plan.simulator, outcome.entries.values()))
        {
            ui.note(format!("  cache      what the steps took is not remembered: {error}"));
        }
        let mut result = finish.packages(&job, outcome, &dependencies, &cache, ui)?;
        if let BuildResult::Built(built) = &mut result {
            built.seconds = started.elapsed().as_secs_f64();
        }
        Ok(result)
    })?;
    Ok((result, shards.len()))
}

/// The shards in `dirs`, each of which is one or holds some, sorted by their numbers: all parts of one plan, each once.
fn complete(dirs: &[PathBuf]) -> Result<Vec<Found>> {
    let mut shards: Vec<Found> = Vec::new();
    for dir in shard_dirs(dirs)? {
        let list = ShardList::read(&dir)?;
        shards.push(Found { dir, list });
    }
    shards.sort_by_key(|found| found.list.shard);
    for pair in shards.windows(2) {
        let [one, other] = pair else { continue };
        let (this, that) = (one.list.shard, other.list.shard);
        if this.of() != that.of() {
            return Err(Error::usage(format!(
                "{} is shard {this} and {} is shard {that}: they are parts of different divisions",
                one.dir.display(),
                other.dir.display()
            ))
            .hint("merge shards of one run"));
        }
        if this == that {
            return Err(Error::usage(format!("shard {this} is given twice"))
                .detail(one.dir.display().to_string())
                .detail(other.dir.display().to_string())
                .hint("give each shard once"));
        }
    }
    let of = shards.first().map_or(0, |found| found.list.shard.of());
    let missing: Vec<String> = Shard::all(of)
        .filter(|shard| !shards.iter().any(|found| found.list.shard == *shard))
        .map(|shard| shard.to_string())
        .collect();
    match missing.as_slice() {
        [] => Ok(shards),
        [first, others @ ..] => {
            let what = match others.len() {
                0 => format!("shard {first} is missing"),
                _ => format!("shards {} are missing", missing.join(", ")),
            };
            let given = shards.iter().map(|found| format!("given: {} in {}", found.list.shard, found.dir.display()));
            Err(given
                .fold(Error::usage(what), Error::detail)
                .hint(format!("`simpack build --shard {first}` makes it; give its directory, too")))
        }
    }
}

/// Directories of shards, each of which lies in one of `dirs` or is one.
fn shard_dirs(dirs: &[PathBuf]) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for dir in dirs {
        if dir.join(SHARD_FILE).is_file() {
            found.push(dir.clone());
            continue;
        }
        let entries = fs_err::read_dir(dir).map_err(|error| Error::file(dir, "is no shard").because(error))?;
        let mut below = Vec::new();
        for entry in entries {
            let path = entry?.path();
            if path.join(SHARD_FILE).is_file() {
                below.push(path);
            }
        }
        if below.is_empty() {
            return Err(Error::usage(format!("{} is no shard and holds none", dir.display()))
                .detail(format!("there is no {SHARD_FILE} in it"))
                .hint("`simpack build --shard I/N` makes a shard"));
        }
        below.sort();
        found.extend(below);
    }
    Ok(found)
}

/// Refuses a shard of another plan than the one that follows from the recipe here, and parts that do not make up the plan.
fn same_plan(shards: &[Found], job: &Job) -> Result<()> {
    let own = identity(&job.inputs, &job.plan);
    for Found { dir, list } in shards {
        let differences = own.differences(&list.plan);
        if !differences.is_empty() {
            let error = Error::stale(format!("shard {} in {} is of another plan", list.shard, dir.display()));
            let told = differences.iter().map(|line| printable::text(line).into_owned());
            return Err(told.fold(error, Error::detail).hint(format!(
                "build it again from what is here (`simpack build --shard {}`), or merge with what it was built from",
                list.shard
            )));
        }
    }
    let given = shards.iter().flat_map(|found| found.list.steps().map(|step| (found.list.shard, step)));
    each_once(&job.plan, given).map_err(|why| {
        Error::usage(format!("the shards do not make up the plan: {}", printable::text(&why)))
            .hint("give all machines the same division: the same `--division` file, or none")
    })
}

/// Takes what the shards hold into `cache`, and completes the keys of the plan by their lists of headers.
fn unpack(shards: &[Found], job: &mut Job, cache: &Cache, request: &BuildRequest, ui: &Ui) -> Result<BuildOutcome> {
    let mut recorded = RecordedHeaders::default();
    for found in shards {
        let RecordedHeaders { lists, sought } = found.list.headers();
        recorded.lists.extend(lists);
        recorded.sought.extend(sought);
    }
    plan::settle(&mut job.plan, &job.inputs.plan_inputs.sources, &recorded);
    let keys: BTreeMap<&str, Digest> = {
        let settled = job.plan.steps.iter().filter(|step| step.is_settled());
        settled.map(|step| (step.id.as_str(), step.key)).collect()
    };
    let bar = ui.steps("merge", shards.len() as u64);
    let mut entries: BTreeMap<String, CacheEntry> = BTreeMap::new();
    for Found { dir, list } in shards {
        check_interrupted()?;
        if let Some((id, _)) = list.keys().find(|(id, key)| keys.get(id) != Some(key)) {
            return Err(Error::file(
                dir,
                format!("holds {} as another state of the source makes it", printable::text(id)),
            )
            .hint(format!("build it again: `simpack build --shard {}`", list.shard)));
        }
        entries.extend(list.unpack(dir, cache, request.threads())?);
        bar.inc(1);
    }
    bar.finish_and_clear();
    let steps = job.plan.steps.iter().filter_map(|step| {
        let seconds = entries.get(&step.id)?.made.seconds;
        Some(StepReport { id: step.id.clone(), cached: true, seconds })
    });
    let outcome = BuildOutcome { steps: steps.collect(), entries, launched: None };
    let weakest = outcome.isolation();
    if request.sandbox == SandboxMode::Require && !weakest.is_as_strong_as(IsolationKind::Landlock) {
        let loose = outcome.entries.values().find(|entry| entry.made.isolation == weakest);
        let step = loose.map_or("", |entry| entry.made.step.as_str());
        return Err(Error::build(format!("{} was not isolated where it was built", printable::text(step)))
            .hint("build the shards with `--sandbox require`, too"));
    }
    say_isolation(weakest, &format!("steps of the shards were isolated by {weakest}"), ui);
    Ok(outcome)
}
