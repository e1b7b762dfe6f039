//! The source and the recipe: what they choose by themselves and would better leave to the build.

use super::super::BundleFacts;
use crate::lint::{Hits, Parameters, Predicate};

pub(super) fn predicates() -> Vec<Predicate<BundleFacts>> {
    vec![
        Predicate { id: "hard-coded-capability", parameters: &[], check: hard_coded_capability },
        Predicate { id: "option-unused", parameters: &[], check: option_unused },
        Predicate { id: "tool-override", parameters: &[], check: tool_override },
    ]
}

fn hard_coded_capability(facts: &BundleFacts, _: &Parameters, hits: &mut Hits) {
    for place in &facts.rules.staging.hard_coded {
        hits.add("source", format!("fixes capabilities by itself: {place}"));
    }
}

fn option_unused(facts: &BundleFacts, _: &Parameters, hits: &mut Hits) {
    for (component, option) in &facts.rules.staging.unused {
        hits.add("recipe", format!("option {option} of component `{component}` was not used by its build"));
    }
}

fn tool_override(facts: &BundleFacts, _: &Parameters, hits: &mut Hits) {
    for option in &facts.rules.staging.overrides {
        hits.add("recipe", format!("{option} replaces one tool of the toolchain"));
    }
}
