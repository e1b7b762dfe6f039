//! Binaries that simpack did not make: where they do not run, and what is wrong with them wherever they are.

use crate::arch::CudaVersion;
use crate::doctor::Facts;
use crate::fit::UnitFit;
use crate::lint::{Hits, Parameters};
use crate::machine::Driver;

pub(super) fn unserved(facts: &Facts, _: &Parameters, hits: &mut Hits) {
    // Without a driver that works nothing can run, and that is a finding of its own.
    if facts.machine.usable_driver().is_none() {
        return;
    }
    let devices = facts.machine.devices();
    for foreign in facts.foreign.iter().filter(|foreign| !foreign.reach.devices.is_empty()) {
        for (fit, device) in foreign.devices.iter().zip(&devices).filter(|(fit, _)| !fit.runs) {
            let Some(capability) = fit.capability else { continue };
            let place = format!("GPU {} ({}, {capability})", fit.index, fit.name);
            let message = match fit.units.is_empty() {
                true => format!("does not run on {place}: {}", fit.words),
                false => format!("does not run on {place}"),
            };
            let hit = hits.add(&foreign.reach.subject, message).evidence_lines(reasons(&fit.units));
            let newest = Driver { version: None, cuda: CudaVersion::new(u32::MAX, 0) };
            if foreign.reach.on(device, Some(&newest), &facts.manifests).runs {
                let needs = [&foreign.reach.machine_code, &foreign.reach.ptx, &foreign.reach.compiled];
                if let Some(need) = needs.into_iter().flatten().max_by_key(|need| need.cuda) {
                    let number = need.driver.as_ref().map(|number| format!(" ({number} or newer)")).unwrap_or_default();
                    hit.fix(format!("install a driver of CUDA {}{number}", need.cuda));
                }
            }
        }
    }
}

/// Files that do not run, those with the same reason together.
fn reasons(units: &[UnitFit]) -> Vec<String> {
    let mut found: Vec<(&str, Vec<&str>)> = Vec::new();
    for unit in units.iter().filter(|unit| unit.place.is_none()) {
        match found.iter_mut().find(|(why, _)| *why == unit.why) {
            Some((_, names)) => names.push(&unit.name),
            None => found.push((&unit.why, vec![&unit.name])),
        }
    }
    found.iter().map(|(why, names)| format!("{}: {why}", names.join(", "))).collect()
}

pub(super) fn problem(facts: &Facts, _: &Parameters, hits: &mut Hits) {
    for foreign in &facts.foreign {
        for problem in &foreign.reach.problems {
            hits.add(&foreign.reach.subject, problem);
        }
    }
}
