//! `simpack plan --why STEP` and `--why-rebuilt`: what a step's key is made of, and what changed in it.

use std::path::Path;

use crate::error::{Error, Result};
use crate::fs::Digest;
use crate::lastrun::{LastBuild, StepChange, changed_steps};
use crate::plan::{BuildPlan, Step};

/// Steps of the last build that are new, or whose key differs from that of the build before, with what differs.
///
/// # Errors
/// There was no build in this work directory.
pub(super) fn rebuilt(work: &Path) -> Result<Vec<StepChange>> {
    let (before, last) = LastBuild::keys(work).filter(|(_, last)| !last.is_empty()).ok_or_else(|| {
        Error::usage(format!("no build is remembered in {}", work.display()))
            .hint("run `simpack build` first, or name its --work")
    })?;
    Ok(changed_steps(&before, &last))
}

/// The step that a user means: by its id, or by a part of it that only one step has.
pub(super) fn find<'a>(plan: &'a BuildPlan, asked: &str) -> Result<&'a Step> {
    if let Some(step) = plan.steps.iter().find(|step| step.id == asked) {
        return Ok(step);
    }
    let found: Vec<&Step> = plan.steps.iter().filter(|step| step.id.contains(asked)).collect();
    match found.as_slice() {
        [step] => Ok(step),
        [] => Err(Error::usage(format!("no step `{asked}`")).hint("`simpack plan` lists the steps")),
        several => {
            let error = Error::usage(format!("`{asked}` could be {} steps", several.len()));
            let error = several.iter().take(5).fold(error, |error, step| error.detail(step.id.clone()));
            Err(error.hint("write more of its name"))
        }
    }
}

/// The parts of a step's key, a line each.
pub(super) fn parts(step: &Step) -> String {
    let mut text = format!("{}\nkey {}\n", step.id, step.key);
    for part in &step.parts {
        text.push_str(&format!("  {}  {}\n", part.name, shortened(&part.value)));
    }
    text
}

/// What differs, a step a paragraph.
pub(super) fn text(rebuilt: &[StepChange]) -> String {
    if rebuilt.is_empty() {
        return "no step of the last build has another key than in the build before".to_owned();
    }
    let mut text = String::new();
    for StepChange { step, changes } in rebuilt {
        text.push_str(&format!("{step}{}\n", if changes.is_empty() { "  new" } else { "" }));
        for change in changes {
            let value = |value: &Option<String>| value.as_deref().map_or("nothing".to_owned(), shortened);
            text.push_str(&format!("  {}  {} -> {}\n", change.part, value(&change.before), value(&change.now)));
        }
    }
    text
}

/// Digests by their first digits, other values whole.
fn shortened(value: &str) -> String {
    value
        .split(' ')
        .map(|word| word.parse::<Digest>().map_or(word.to_owned(), |digest| digest.short(12)))
        .collect::<Vec<_>>()
        .join(" ")
}
