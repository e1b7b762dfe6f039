//! Binaries that simpack did not make: where they do not run, and what is wrong with them wherever they are.

use super::Facts;
use crate::lint::{Hits, Parameters};

pub(super) fn unserved(facts: &Facts, _: &Parameters, hits: &mut Hits) {
    // Without a driver that works nothing can run, and that is a finding of its own.
    if facts.machine.usable_driver().is_none() {
        return;
    }
    for foreign in &facts.foreign {
        for device in foreign.devices.iter().filter(|device| !device.runs) {
            let has_code = !foreign.reach.devices.is_empty();
            let Some(capability) = device.capability.filter(|_| has_code) else { continue };
            let lacking = device.units.iter().filter(|unit| unit.place.is_none());
            hits.add(
                &foreign.reach.subject,
                format!("does not run on GPU {} ({}, {capability}): {}", device.index, device.name, device.words),
            )
            .evidence_lines(lacking.map(|unit| format!("{}: {}", unit.name, unit.why)));
        }
    }
}

pub(super) fn problem(facts: &Facts, _: &Parameters, hits: &mut Hits) {
    for foreign in &facts.foreign {
        for problem in &foreign.reach.problems {
            hits.add(&foreign.reach.subject, problem);
        }
    }
}
