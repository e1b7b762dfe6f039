//! The plan divided among machines, for people and for CI services.

use crate::amount::count;
use crate::engine::look_into_cache;
use crate::error::Result;
use crate::generate::{matrix, pipeline};
use crate::pipeline::{BuildRequest, Job, divided};
use crate::plan::{DividedShard, Division};
use crate::table::{Column, Table};
use crate::ui::Ui;

/// How a division is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShardFormat {
    /// As a table; as JSON under `--json`.
    Table,
    /// A matrix of a job of GitHub.
    Github,
    /// A pipeline of GitLab.
    Gitlab,
    /// What `simpack build --division` reads.
    Json,
}

/// Divides a plan by what its steps took here, and shows how.
pub(super) fn show(job: &Job, request: &BuildRequest, shards: u32, format: ShardFormat, ui: &Ui) -> Result<()> {
    let division = divided(&job.inputs, &job.plan, Some(&look_into_cache()?), shards);
    match format {
        ShardFormat::Github => ui.out(&format!("{}\n", matrix(&division)?)),
        ShardFormat::Gitlab => ui.out(&pipeline(&division, &request.arguments())?),
        ShardFormat::Json => drop(ui.as_json().json(&division)?),
        ShardFormat::Table if ui.json(&division)? => {}
        ShardFormat::Table => ui.say(format!("{}\n{}", job.headline(), text(&division, job.plan.steps.len()))),
    }
    Ok(())
}

fn text(division: &Division, steps: usize) -> String {
    let columns = [Column::words("shard"), Column::number("steps"), Column::number("seconds"), Column::words("first")];
    let row = |part: &DividedShard| {
        let first = part.steps.first().map_or("nothing to do", String::as_str);
        let others = match part.steps.len() {
            0 | 1 => String::new(),
            more => format!(" and {} more", more - 1),
        };
        [
            part.shard.to_string(),
            part.steps.len().to_string(),
            format!("{:.1}", part.seconds),
            format!("{first}{others}"),
        ]
    };
    let table = Table::new(columns).indented().rows(division.shards.iter().map(row)).text();
    let seconds: f64 = division.shards.iter().map(|part| part.seconds).sum();
    let longest = division.shards.iter().map(|part| part.seconds).fold(0.0, f64::max);
    let known = match division.measured {
        0 => "none of them was measured here".to_owned(),
        all if all == steps => "all of them were measured here".to_owned(),
        some => format!("{some} of them were measured here"),
    };
    format!(
        "{table}{} in {}: {longest:.1} s expected instead of {seconds:.1} s; {known}",
        count(steps, "step"),
        count(division.shards.len(), "shard")
    )
}
