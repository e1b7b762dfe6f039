//! Runs of a simulator that failed.

use crate::doctor::Facts;
use crate::lint::{Hits, Parameters};

pub(super) fn failed(facts: &Facts, _: &Parameters, hits: &mut Hits) {
    for run in &facts.failed_runs {
        hits.add(&run.simulator, format!("its smoke test fails on {}", run.place)).evidence(&run.why);
    }
}
