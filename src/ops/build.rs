//! `simpack build`: from a recipe to `dist/`, and what came of it.

use std::path::Path;
use std::time::Instant;

use serde::Serialize;

use crate::amount::count;
use crate::engine::{SandboxMode, look_into_cache};
use crate::error::Result;
use crate::fs::Digest;
use crate::package::FORMATS;
use crate::pipeline::{self, BuildRequest, BuildResult, Job, LastWords, REPORT_WORDS, Row};
use crate::printable;
use crate::process::IsolationKind;
use crate::table::{Column, Table};
use crate::ui::{Ui, size};

/// Builds a recipe into verified packages; answers the exit code.
///
/// # Errors
/// Anything that kept simpack from its work. Denied findings are no error: exit code 1.
pub fn build(request: &BuildRequest, ui: &Ui) -> Result<u8> {
    let started = Instant::now();
    if request.dry_run {
        return dry_run(&Job::prepare(request, ui)?, request.sandbox, ui);
    }
    match pipeline::build(request, ui)? {
        BuildResult::Built(built) => {
            if !ui.json(&built.summary())? {
                say(&built.words(String::new()), built.compiled(), started, &request.dist, ui);
            }
            Ok(0)
        }
        BuildResult::Unchanged { words, summary } => {
            match summary {
                Some(mut summary) => {
                    for step in summary["steps"].as_array_mut().into_iter().flatten() {
                        step["cached"] = true.into();
                    }
                    summary["seconds"] = started.elapsed().as_secs_f64().into();
                    ui.json(&summary)?;
                }
                None => say(&words, 0, started, &request.dist, ui),
            }
            Ok(0)
        }
        BuildResult::Stopped(report) => {
            if !ui.json(&report.json())? {
                ui.say(report.text(REPORT_WORDS));
                ui.note("nothing packed; dist/ is as it was");
            }
            Ok(report.exit_code())
        }
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

/// The packages, what was found, and the last lines.
fn say(words: &LastWords, compiled: usize, started: Instant, dist: &Path, ui: &Ui) {
    let LastWords { rows, formats, report, steps, .. } = words;
    let findings = report.findings.len();
    let report = if findings == 0 { String::new() } else { format!("{}\n", report.text(REPORT_WORDS)) };
    ui.say(table(rows));
    for other in formats.iter().skip(1) {
        let bytes = other.files.iter().map(|file| file.bytes).sum();
        let count = count(other.files.len(), "package");
        ui.say(format!(" {}: {count} ({}) in {}/{}/", other.format, size(bytes), dist.display(), other.format));
    }
    ui.say(format!(
        "{report}built {} in {:.0} s ({compiled} compiled, {} from cache), {} ({}) in {dist}/, {}\nnext: simpack verify {}",
        count(*steps, "step"),
        started.elapsed().as_secs_f64(),
        steps - compiled,
        count(rows.len(), "package"),
        size(rows.iter().map(|row| row.bytes).sum()),
        count(findings, "finding"),
        printable::word(&format!("{}/", dist.display())),
        dist = dist.display(),
    ));
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

/// The steps, and which of them are in the cache.
fn dry_run(job: &Job, sandbox: SandboxMode, ui: &Ui) -> Result<u8> {
    #[derive(Serialize)]
    struct Line<'a> {
        id: &'a str,
        key: Digest,
        cached: bool,
    }
    let mut cache = look_into_cache()?;
    if sandbox == SandboxMode::Require {
        // The weakest that does; which one this machine has is not tried for a look.
        cache = cache.requiring(IsolationKind::Landlock);
    }
    let mut lines = Vec::new();
    for step in &job.plan.steps {
        lines.push(Line { id: &step.id, key: step.key, cached: cache.holds(step.key) });
    }
    if ui.json(&lines)? {
        return Ok(0);
    }
    let row = |line: &Line| {
        let state = if line.cached { "cached" } else { "compile" };
        [line.key.short(8).to_string(), state.to_owned(), line.id.to_owned()]
    };
    let table = Table::new([Column::words(""); 3]).indented().rows(lines.iter().map(row));
    let mut text = table.text();
    let cached = lines.iter().filter(|line| line.cached).count();
    text.push_str(&format!(
        "{}, {cached} in the cache, {} to compile; nothing done",
        count(lines.len(), "step"),
        lines.len() - cached
    ));
    ui.say(text);
    Ok(0)
}
