//! `simpack plan --why STEP` and `--why-rebuilt`: what a step's key is made of, and what changed in it.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::fs::{self, Digest};
use crate::plan::{BuildPlan, KeyPart, Step};

/// File of the work directory that remembers the keys of the last two builds that ended well.
const RECORD: &str = "keys.json";

/// Keys of a build's steps with their parts, by step id.
type Keys = BTreeMap<String, Vec<KeyPart>>;

/// The keys of the last build and of the one before.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Record {
    schema: u32,
    before: Keys,
    last: Keys,
}

/// A step whose key differs between two builds.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(super) struct Rebuilt {
    /// The step's id.
    pub step: String,
    /// Parts that differ: name, value before, value now.
    pub changes: Vec<Change>,
}

/// A part that differs.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(super) struct Change {
    /// Kind and name of the part.
    pub part: String,
    /// Value before; none if it is new.
    pub before: Option<String>,
    /// Value now; none if it is gone.
    pub now: Option<String>,
}

/// Remembers the keys of a build that ended well.
pub(crate) fn remember(plan: &BuildPlan, work: &Path) -> Result<()> {
    let last: Keys = plan.steps.iter().map(|step| (step.id.clone(), step.parts.clone())).collect();
    // A record of another simpack, or a damaged one, only costs the comparison.
    let old = read(work).unwrap_or_default();
    let record = Record { schema: 1, before: old.last, last };
    let text = serde_json::to_vec(&record).map_err(|error| Error::bug("keys do not print as JSON").because(error))?;
    fs::write_atomic(&work.join(RECORD), &text)
}

fn read(work: &Path) -> Option<Record> {
    let record: Record = serde_json::from_slice(&std::fs::read(work.join(RECORD)).ok()?).ok()?;
    (record.schema == 1).then_some(record)
}

/// Steps of the last build whose key differs from that of the build before, with what differs.
///
/// # Errors
/// There was no build in this work directory.
pub(super) fn rebuilt(work: &Path) -> Result<Vec<Rebuilt>> {
    let record = read(work).filter(|record| !record.last.is_empty()).ok_or_else(|| {
        Error::usage(format!("no build is remembered in {}", work.display()))
            .hint("run `simpack build` first, or name its --work")
    })?;
    let differing = record.last.iter().filter_map(|(step, parts)| {
        let before = record.before.get(step)?;
        let changes = changes(before, parts);
        (!changes.is_empty()).then(|| Rebuilt { step: step.clone(), changes })
    });
    Ok(differing.collect())
}

fn changes(before: &[KeyPart], now: &[KeyPart]) -> Vec<Change> {
    let by_name = |parts: &[KeyPart]| -> BTreeMap<String, String> {
        parts.iter().map(|part| (part.name.clone(), part.value.clone())).collect()
    };
    let (before, now) = (by_name(before), by_name(now));
    let mut names: Vec<&String> = before.keys().chain(now.keys()).collect();
    names.sort();
    names.dedup();
    let differing = names.into_iter().filter(|name| before.get(*name) != now.get(*name));
    differing
        .map(|name| Change { part: name.clone(), before: before.get(name).cloned(), now: now.get(name).cloned() })
        .collect()
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
pub(super) fn text(rebuilt: &[Rebuilt]) -> String {
    if rebuilt.is_empty() {
        return "no step of the last build has another key than in the build before".to_owned();
    }
    let mut text = String::new();
    for Rebuilt { step, changes } in rebuilt {
        text.push_str(&format!("{step}\n"));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changed_new_and_gone_parts_are_named() {
        let part = |name: &str, value: &str| KeyPart::new(name, value);
        let before = [part("file a.h", "1"), part("file b.h", "2"), part("tool nvcc", "13.0")];
        let now = [part("file a.h", "1"), part("file c.h", "2"), part("tool nvcc", "13.1")];
        let named: Vec<(String, bool, bool)> = changes(&before, &now)
            .into_iter()
            .map(|change| (change.part, change.before.is_some(), change.now.is_some()))
            .collect();
        assert_eq!(
            named,
            [
                ("file b.h".to_owned(), true, false),
                ("file c.h".to_owned(), false, true),
                ("tool nvcc".to_owned(), true, true)
            ]
        );
        assert!(changes(&now, &now).is_empty());
    }
}
