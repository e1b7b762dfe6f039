//! `simpack build` and `simpack merge`: from a recipe to `dist/`, at once or in parts, and what came of it.

use std::path::{Path, PathBuf};
use std::time::Instant;

use serde::Serialize;

use crate::amount::count;
use crate::engine::{SandboxMode, look_into_cache, made_incrementally, trees_limit};
use crate::error::{Error, Result};
use crate::fs::Digest;
use crate::package::FORMATS;
use crate::parallel::until_failure;
use crate::pipeline::{self, BuildRequest, BuildResult, Job, LastWords, REPORT_WORDS, Row, ShardRequest};
use crate::plan::Step;
use crate::printable;
use crate::process::IsolationKind;
use crate::report::Report;
use crate::table::{Column, Table};
use crate::ui::{Ui, size};

/// Builds one part of a recipe's plan into a directory that travels; answers the exit code.
///
/// # Errors
/// Anything that kept simpack from its work.
pub fn build_shard(request: &BuildRequest, asked: &ShardRequest, ui: &Ui) -> Result<u8> {
    if request.dry_run {
        return dry_run(&Job::prepare(request, ui)?, request, ui);
    }
    let summary = pipeline::build_shard(request, asked, ui)?;
    if ui.json(&summary)? {
        return Ok(0);
    }
    summary.launcher.iter().for_each(|launched| ui.say(launched.words()));
    let compiled = summary.steps.iter().filter(|step| !step.cached).count();
    let above = request.dist.parent().filter(|above| *above != Path::new("")).unwrap_or(Path::new("."));
    ui.say(format!(
        "shard {}: {} in {:.0} s ({compiled} compiled, {} from cache), {} ({}) in {}/\nnext: simpack merge {}    (when all {} shards are there)",
        summary.shard,
        count(summary.steps.len(), "step"),
        summary.seconds,
        summary.steps.len() - compiled,
        count(summary.files, "file"),
        size(summary.bytes),
        request.dist.display(),
        printable::word(&above.display().to_string()),
        summary.shard.of(),
    ));
    Ok(0)
}

/// Makes the steps of one task of a job array; answers the exit code.
///
/// # Errors
/// Anything that kept simpack from its work; whoever submitted the job hears of it, too.
pub fn cluster_task(dir: &Path, task: usize, node: &str, ui: &Ui) -> Result<u8> {
    pipeline::run_task(dir, task, node, ui).map(|()| 0)
}

/// Makes the packages of a recipe from the directories of all parts of its plan; answers the exit code.
///
/// # Errors
/// A part is missing, damaged or of another plan; or anything that kept simpack from its work.
pub fn merge(request: &BuildRequest, dirs: &[PathBuf], ui: &Ui) -> Result<u8> {
    let started = Instant::now();
    let (result, shards) = pipeline::merge(request, dirs, ui)?;
    let done = |steps| format!("merged {} of {}", count(steps, "step"), count(shards, "shard"));
    match result {
        BuildResult::Built(built) if ui.json(&built.summary())? => Ok(0),
        BuildResult::Built(built) => {
            say(&built.words(String::new()), &done(built.steps.len()), "", started, &request.dist, ui);
            Ok(0)
        }
        BuildResult::Stopped(report) => stopped(&report, ui),
        BuildResult::Unchanged { .. } => Err(Error::bug("a merge looks at no earlier build")),
    }
}

fn stopped(report: &Report, ui: &Ui) -> Result<u8> {
    if !ui.json(&report.json())? {
        ui.say(report.text(REPORT_WORDS));
        ui.note("nothing packed; dist/ is as it was");
    }
    Ok(report.exit_code())
}

/// Builds a recipe into verified packages; answers the exit code.
///
/// # Errors
/// Anything that kept simpack from its work. Denied findings are no error: exit code 1.
pub fn build(request: &BuildRequest, ui: &Ui) -> Result<u8> {
    let started = Instant::now();
    if request.dry_run {
        return dry_run(&Job::prepare(request, ui)?, request, ui);
    }
    match pipeline::build(request, ui)? {
        BuildResult::Built(built) => {
            if !ui.json(&built.summary())? {
                let words = built.words(String::new());
                built.launched.iter().for_each(|launched| ui.say(launched.words()));
                let (done, from) = built_words(words.steps, built.compiled());
                say(&words, &done, &from, started, &request.dist, ui);
            }
            Ok(0)
        }
        BuildResult::Unchanged { words, summary } => {
            match summary {
                Some(mut summary) => {
                    for step in summary["steps"].as_array_mut().into_iter().flatten() {
                        step["cached"] = true.into();
                    }
                    summary.as_object_mut().map(|summary| summary.remove("launcher"));
                    summary["seconds"] = started.elapsed().as_secs_f64().into();
                    ui.json(&summary)?;
                }
                None => {
                    let (done, from) = built_words(words.steps, 0);
                    say(&words, &done, &from, started, &request.dist, ui);
                }
            }
            Ok(0)
        }
        BuildResult::Stopped(report) => stopped(&report, ui),
    }
}

/// Lists the formats of packages; answers the exit code.
///
/// # Errors
/// The answer cannot be printed.
pub fn list_formats(ui: &Ui) -> Result<u8> {
    #[derive(Serialize)]
    struct Line {
        name: &'static str,
        about: &'static str,
    }
    let lines: Vec<Line> = FORMATS.iter().map(|it| Line { name: it.name(), about: it.about() }).collect();
    if !ui.json(&lines)? {
        let lines = lines.iter().map(|line| format!("{:<8}  {}", line.name, line.about));
        ui.out(&lines.collect::<Vec<_>>().join("\n"));
    }
    Ok(0)
}

/// What was done, and where it came from.
fn built_words(steps: usize, compiled: usize) -> (String, String) {
    (format!("built {}", count(steps, "step")), format!(" ({compiled} compiled, {} from cache)", steps - compiled))
}

/// The packages, what was found, and the last lines: what was `done`, and where it came `from`.
fn say(words: &LastWords, done: &str, from: &str, started: Instant, dist: &Path, ui: &Ui) {
    let LastWords { rows, formats, report, .. } = words;
    let findings = report.findings.len();
    let report = if findings == 0 { String::new() } else { format!("{}\n", report.text(REPORT_WORDS)) };
    ui.say(table(rows));
    for other in formats.iter().skip(1) {
        let bytes = other.files.iter().map(|file| file.bytes).sum();
        let count = count(other.files.len(), "package");
        ui.say(format!(" {}: {count} ({}) in {}/{}/", other.format, size(bytes), dist.display(), other.format));
    }
    ui.say(format!(
        "{report}{done} in {:.0} s{from}, {} ({}) in {dist}/, {}\nnext: simpack verify {}",
        started.elapsed().as_secs_f64(),
        count(rows.len(), "package"),
        size(rows.iter().map(|row| row.bytes).sum()),
        count(findings, "finding"),
        printable::word(&format!("{}/", dist.display())),
        dist = dist.display(),
    ));
    if !words.incremental.is_empty() {
        let steps = words.incremental.join(", ");
        ui.note(format!("built incrementally: {steps}; before you ship the packages, run `simpack build --clean`"));
    }
}

/// The last part of a build string: what tells two builds apart. The rest stands in other columns.
fn short(build: &str) -> &str {
    let hash = build.split('_').rfind(|part| part.starts_with('h'));
    hash.unwrap_or(build)
}

/// What each package is. Columns that find no room are in `dist/build.json`.
fn table(rows: &[Row]) -> String {
    let columns = [
        Column::words("package"),
        Column::words("version"),
        Column::words("target").spare(0),
        Column::number("bytes").spare(2),
        Column::words("device code"),
        Column::words("verdict"),
        Column::number("seconds").spare(1),
    ];
    let row = |row: &Row| {
        [
            match &row.variant {
                Some(variant) => format!("{} ({variant})", row.package),
                None => row.package.clone(),
            },
            format!("{}-{}", row.version, short(&row.build)).trim_end_matches('-').to_owned(),
            row.target.clone(),
            size(row.bytes),
            row.device_code.clone(),
            row.verdict.clone(),
            row.seconds.filter(|seconds| *seconds > 0.0).map_or("-".to_owned(), |seconds| format!("{seconds:.1}")),
        ]
    };
    Table::new(columns).rows(rows.iter().map(row)).text()
}

/// The steps, and which of them need not be made.
fn dry_run(job: &Job, request: &BuildRequest, ui: &Ui) -> Result<u8> {
    #[derive(Serialize)]
    struct Line<'a> {
        id: &'a str,
        key: Digest,
        cached: bool,
        /// It was made incrementally, and a build takes that.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        incremental: bool,
    }
    let mut cache = look_into_cache()?.with_store(request.store()?);
    let mut trees = made_incrementally(&request.work);
    if request.sandbox == SandboxMode::Require {
        // The weakest that does; which one this machine has is not tried for a look.
        cache = cache.requiring(IsolationKind::Landlock);
        trees = trees.requiring(IsolationKind::Landlock);
    }
    let is_incremental = request.incremental && trees_limit()? != Some(0);
    let held = until_failure(&job.plan.steps, request.threads(), |step| {
        let cached = cache.holds(step.key);
        Ok((cached, is_incremental && !cached && trees.holds(step.key)))
    })?;
    let steps = job.plan.steps.iter().zip(held);
    let mut lines = Vec::new();
    for (Step { id, key, .. }, (cached, incremental)) in steps {
        lines.push(Line { id, key: *key, cached, incremental });
    }
    cache.notes().into_iter().for_each(|note| ui.note(format!("  cache      {note}")));
    if ui.json(&lines)? {
        return Ok(0);
    }
    let row = |line: &Line| {
        let state = match (line.cached, line.incremental) {
            (true, _) => "cached",
            (_, true) => "incremental",
            _ => "compile",
        };
        [line.key.short(8).to_string(), state.to_owned(), line.id.to_owned()]
    };
    let table = Table::new([Column::words(""); 3]).indented().rows(lines.iter().map(row));
    let mut text = table.text();
    let cached = lines.iter().filter(|line| line.cached).count();
    let incremental = lines.iter().filter(|line| line.incremental).count();
    let kept = match incremental {
        0 => String::new(),
        some => format!("{some} built incrementally before, "),
    };
    text.push_str(&format!(
        "{}, {cached} in the cache, {kept}{} to compile; nothing done",
        count(lines.len(), "step"),
        lines.len() - cached - incremental
    ));
    ui.say(text);
    Ok(0)
}
