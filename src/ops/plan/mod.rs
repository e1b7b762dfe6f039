//! `simpack plan`: the whole job as a value, or what a key is made of.

mod compare;
mod cost;
mod shards;
mod why;

pub use compare::Comparison;
pub use cost::Costs;
pub use shards::ShardFormat;

use crate::amount::count;
use crate::engine::look_into_cache;
use crate::error::Result;
use crate::pipeline::{BuildRequest, Job};
use crate::ui::Ui;

/// What of a plan is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PlanView {
    /// Everything.
    Whole,
    /// What the key of one step is made of.
    Why(String),
    /// What changed in keys between the last two builds.
    WhyRebuilt,
    /// What the ways to ship device code cost.
    Compare,
    /// What its parts are expected to cost.
    Cost,
    /// Which steps each of so many machines takes.
    Shards(u32, ShardFormat),
}

/// Shows the whole job or a part of it; answers the exit code.
///
/// # Errors
/// The recipe is wrong, a tool or source cannot be found, or there is no such step.
pub fn plan(request: &BuildRequest, view: &PlanView, ui: &Ui) -> Result<u8> {
    if *view == PlanView::WhyRebuilt {
        let rebuilt = why::rebuilt(&request.work)?;
        if !ui.json(&rebuilt)? {
            ui.say(why::text(&rebuilt));
        }
        return Ok(0);
    }
    let job = Job::prepare(request, ui)?;
    if let PlanView::Why(asked) = view {
        let step = why::find(&job.plan, asked)?;
        if !ui.json(step)? {
            ui.say(why::parts(step));
        }
        return Ok(0);
    }
    if *view == PlanView::Compare {
        let comparison = compare::compare(&job, &look_into_cache()?)?;
        if !ui.json(&comparison)? {
            ui.say(format!("{}\n{}", job.headline(), compare::text(&comparison)));
        }
        return Ok(0);
    }
    if *view == PlanView::Cost {
        let costs = cost::costs(&job, &look_into_cache()?);
        if !ui.json(&costs)? {
            ui.say(format!("{}\n{}", job.headline(), cost::text(&costs)));
        }
        return Ok(0);
    }
    if let PlanView::Shards(shards, format) = *view {
        shards::show(&job, request, shards, format, ui)?;
        return Ok(0);
    }
    if ui.json(&job.plan)? {
        return Ok(0);
    }
    let mut text = format!("{}\n", job.headline());
    for (name, tool) in &job.plan.tools {
        text.push_str(&format!("  tool       {name} {}\n", tool.version));
    }
    for release in &job.plan.others {
        for (name, tool) in release.tools.iter().filter(|(name, tool)| job.plan.tools.get(*name) != Some(*tool)) {
            text.push_str(&format!("  tool       {name} {}, for CUDA {}\n", tool.version, release.cuda));
        }
    }
    for step in &job.plan.steps {
        text.push_str(&format!("  step       {}  {}\n", step.key.short(8), step.id));
    }
    for bundle in &job.plan.bundles {
        let is_embedded = bundle.target.is_some_and(|target| job.inputs.recipes.own().is_embedded(target));
        let place = if is_embedded { "  embedded in core" } else { "" };
        text.push_str(&format!("  bundle     {}{place}\n", job.plan.directory(bundle)));
    }
    text.push_str(&format!(
        "{}, {}; nothing done",
        count(job.plan.steps.len(), "step"),
        count(job.plan.bundles.len(), "bundle")
    ));
    ui.say(text);
    Ok(0)
}
