//! Upstream's own tests, which ran on what was staged.

use super::super::BundleFacts;
use crate::lint::{Hits, Parameters, Predicate};
use crate::recipe::TestVerdict;

pub(super) fn predicates() -> Vec<Predicate<BundleFacts>> {
    vec![
        Predicate { id: "test-failed", parameters: &[], check: test_failed },
        Predicate { id: "test-not-run", parameters: &[], check: test_not_run },
    ]
}

fn test_failed(facts: &BundleFacts, _: &Parameters, hits: &mut Hits) {
    tell(facts, TestVerdict::Failed, "fails", hits);
}

fn test_not_run(facts: &BundleFacts, _: &Parameters, hits: &mut Hits) {
    tell(facts, TestVerdict::NotRun, "was not run", hits);
}

fn tell(facts: &BundleFacts, verdict: TestVerdict, what: &str, hits: &mut Hits) {
    for test in facts.rules.staging.tests.iter().filter(|test| test.verdict == verdict) {
        hits.add("staging", format!("test `{}` {what}: {}", test.name, test.why)).evidence_lines(test.printed.clone());
    }
}
