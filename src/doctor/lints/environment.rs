//! Variables that lead programs to the wrong files.

use std::cmp::Ordering;

use super::super::page::bytes;
use crate::doctor::Facts;
use crate::lint::{Hits, Parameters};
use crate::machine::{DriverRole, compare_versions};

pub(super) fn stubs(facts: &Facts, _: &Parameters, hits: &mut Hits) {
    let wins = facts.machine.driver_files.winner().is_some_and(|winner| winner.role == DriverRole::Stub);
    for entry in facts.machine.variables.entries.iter().filter(|entry| entry.stubs) {
        let message = match entry.variable.as_str() {
            // The stub that wins is a finding of its own.
            "LD_LIBRARY_PATH" if wins => continue,
            "LD_LIBRARY_PATH" => {
                "names a directory of stubs; a program that opens libcuda.so gets one that cannot work"
            }
            _ => "names a directory of stubs; programs linked here may come to look for libcuda in it",
        };
        hits.add(&entry.variable, message)
            .evidence(&entry.entry)
            .fix(format!("unset {0}, or remove {1} from it", entry.variable, entry.entry));
    }
}

pub(super) fn relative(facts: &Facts, _: &Parameters, hits: &mut Hits) {
    for entry in &facts.machine.variables.entries {
        if entry.variable != "LD_LIBRARY_PATH" || entry.entry.starts_with(['/', '~', '$']) {
            continue;
        }
        let message = match entry.entry.is_empty() {
            true => "has an empty entry: every program looks for libraries in its current directory".to_owned(),
            false => format!("has the entry {}, which counts from the current directory", entry.entry),
        };
        hits.add(&entry.variable, message);
    }
}

pub(super) fn preload(facts: &Facts, _: &Parameters, hits: &mut Hits) {
    for preload in &facts.machine.variables.preload {
        let name = preload.entry.rsplit('/').next().unwrap_or_default();
        let vendor = &facts.manifests.vendor;
        if !preload.found {
            hits.add("LD_PRELOAD", format!("{} is not found: every program prints an error", preload.entry));
        } else if vendor.library(name).is_some() || vendor.driver(name).is_some() {
            hits.add("LD_PRELOAD", format!("forces {} on every program, whatever it was built with", preload.entry));
        }
    }
}

pub(super) fn cache_stale(facts: &Facts, _: &Parameters, hits: &mut Hits) {
    for cache in facts.machine.caches.iter().filter(|cache| cache.stale) {
        hits.add(
            &cache.path,
            format!("{} that earlier drivers compiled: this one does not read it", bytes(cache.size)),
        )
        .evidence_lines(cache.driver.as_ref().map(|driver| format!("all of it is older than {driver}")));
    }
}

pub(super) fn cxx_older(facts: &Facts, _: &Parameters, hits: &mut Hits) {
    let libraries = &facts.machine.system.libstdcxx;
    let Some(winner) = libraries.iter().find(|library| library.wins) else { return };
    let Some(own) = &winner.glibcxx else { return };
    let newer = libraries
        .iter()
        .find(|other| other.glibcxx.as_ref().is_some_and(|other| compare_versions(own, other) == Ordering::Less));
    let Some(other) = newer else { return };
    let level = other.glibcxx.as_deref().unwrap_or_default();
    hits.add(
        "libstdc++.so.6",
        format!("programs get {} (GLIBCXX_{own}), an older one than {} (GLIBCXX_{level})", winner.path, other.path),
    )
    .evidence(format!("found by {}", winner.by.as_deref().unwrap_or("the loader")));
}
