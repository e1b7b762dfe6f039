//! The keys of the last two builds, part by part: what `simpack plan --why-rebuilt` compares.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

/// What the keys of a build's steps are made of: by step, the value of every part.
pub type StepKeys = BTreeMap<String, BTreeMap<String, String>>;

/// The keys of the last build and of the one before.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct History {
    pub(super) before: StepKeys,
    pub(super) last: StepKeys,
}

/// A step that is new, or whose key differs between two builds.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct StepChange {
    /// The step's id.
    pub step: String,
    /// Parts that differ; none of a step that is new.
    pub changes: Vec<PartChange>,
}

/// A part that differs.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct PartChange {
    /// Kind and name of the part.
    pub part: String,
    /// Value before; none if it is new.
    pub before: Option<String>,
    /// Value now; none if it is gone.
    pub now: Option<String>,
}

/// Steps of the last build that are new or whose keys differ, with what differs. After a first build nothing is new.
pub fn changed_steps(before: &StepKeys, last: &StepKeys) -> Vec<StepChange> {
    let of = |step: &String, changes| StepChange { step: step.clone(), changes };
    let differing = last.iter().filter_map(|(step, parts)| match before.get(step) {
        Some(parts_before) => Some(changes(parts_before, parts)).filter(|it| !it.is_empty()).map(|it| of(step, it)),
        None => (!before.is_empty()).then(|| of(step, Vec::new())),
    });
    differing.collect()
}

fn changes(before: &BTreeMap<String, String>, now: &BTreeMap<String, String>) -> Vec<PartChange> {
    let names: BTreeSet<&String> = before.keys().chain(now.keys()).collect();
    let differing = names.into_iter().filter(|name| before.get(*name) != now.get(*name));
    let change = |name: &String| PartChange {
        part: name.clone(),
        before: before.get(name).cloned(),
        now: now.get(name).cloned(),
    };
    differing.map(change).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changed_new_and_gone_parts_are_named() {
        let keys = |parts: [(&str, &str); 3]| -> StepKeys {
            let parts = parts.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned()));
            [("a.cu sm_90".to_owned(), parts.collect())].into()
        };
        let before = keys([("file a.h", "1"), ("file b.h", "2"), ("tool nvcc", "13.0")]);
        let now = keys([("file a.h", "1"), ("file c.h", "2"), ("tool nvcc", "13.1")]);
        let changed = changed_steps(&before, &now);
        let [StepChange { step, changes }] = changed.as_slice() else { panic!("{changed:?}") };
        let named: Vec<_> =
            changes.iter().map(|one| (one.part.as_str(), one.before.is_some(), one.now.is_some())).collect();
        assert_eq!(step, "a.cu sm_90");
        assert_eq!(named, [("file b.h", true, false), ("file c.h", false, true), ("tool nvcc", true, true)]);
        assert_eq!(changed_steps(&now, &now), []);
        assert_eq!(changed_steps(&StepKeys::default(), &now), [], "a first build builds nothing again");
        let more: StepKeys = now.clone().into_iter().chain([("b.cu sm_90".to_owned(), BTreeMap::new())]).collect();
        assert_eq!(changed_steps(&now, &more), [StepChange { step: "b.cu sm_90".to_owned(), changes: Vec::new() }]);
    }
}
