//! The doctor over machines that are data: every check fires somewhere and is silent somewhere, nothing panics, and a
//! record gives the report that it was made with.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::LazyLock;

use serde::Deserialize;
use simpack::data::Data;
use simpack::doctor::{Facts, FailedRun, PageOptions, examine, page, registry};
use simpack::fit::Reach;
use simpack::lint::{LintInfo, Over, Registry, Settings};
use simpack::machine::{Failing, Machine, Part, Wanted};
use simpack::manifest::Manifests;
use simpack::report::Report;

/// A machine that is data, and what the doctor says of it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Scenario {
    /// Where the facts come from.
    source: String,
    /// The checks that fire, sorted.
    fires: Vec<String>,
    machine: Machine,
    /// Binaries that simpack did not make, which the doctor was pointed at.
    #[serde(default)]
    foreign: Vec<Reach>,
    /// Runs of smoke tests that failed.
    #[serde(default)]
    failed_runs: Vec<FailedRun>,
}

fn scenarios() -> BTreeMap<String, Scenario> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scenarios");
    let files = fs_err::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    let read = |path: std::path::PathBuf| {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let text = fs_err::read_to_string(&path).unwrap();
        let scenario = match path.extension().and_then(|ending| ending.to_str()) {
            Some("json") => serde_json::from_str(&text).unwrap_or_else(|error| panic!("{name}: {error}")),
            _ => toml::from_str(&text).unwrap_or_else(|error| panic!("{name}: {error}")),
        };
        (name, scenario)
    };
    files.map(read).collect()
}

/// Read once: the machines are many.
static KNOWN: LazyLock<(Manifests, Registry<Facts>)> = LazyLock::new(|| {
    let data = Data::at("no such directory");
    (Manifests::load(&data).unwrap(), registry(&data).unwrap())
});

fn examined(machine: Machine, of: &Scenario) -> (Facts, Report) {
    let (manifests, registry) = &*KNOWN;
    let facts = Facts::new(machine, of.foreign.clone(), &[], manifests.clone());
    let facts = facts.with_failed_runs(of.failed_runs.clone());
    let report = examine(registry, &facts, &Settings::default());
    (facts, report)
}

fn fired(report: &Report) -> Vec<String> {
    let ids: BTreeSet<&String> = report.findings.iter().map(|finding| &finding.lint).collect();
    ids.into_iter().cloned().collect()
}

#[test]
fn every_check_fires_in_a_scenario_and_is_silent_in_another() {
    let (mut fires, mut silent) = (BTreeSet::new(), BTreeSet::new());
    let all: Vec<String> =
        registry(&Data::at("no such directory")).unwrap().infos().map(|info| info.id.clone()).collect();
    let mut wrong = Vec::new();
    for (name, scenario) in scenarios() {
        assert!(!scenario.source.is_empty(), "{name} names no source");
        let machine = Machine::take(&scenario.machine, &Wanted::default());
        let (_, report) = examined(machine, &scenario);
        let found = fired(&report);
        if found != scenario.fires {
            wrong.push(format!("{name}: fires {found:?}, not {:?}", scenario.fires));
        }
        for id in &all {
            let side = if found.contains(id) { &mut fires } else { &mut silent };
            side.insert(id.clone());
        }
        assert!(report.incomplete.is_empty(), "{name}");
        let without: Vec<_> = report.findings.iter().filter(|finding| finding.fix.is_none()).collect();
        assert!(without.is_empty(), "{name}: {without:?} say nothing to do");
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let all: BTreeSet<String> = all.into_iter().collect();
    assert_eq!(fires, all, "a check never fires");
    assert_eq!(silent, all, "a check is never silent");
}

#[test]
fn data_files_and_checks_match_one_to_one() {
    let data = Data::at("no such directory");
    let checks: Vec<String> = registry(&data).unwrap().infos().map(|info| info.id.clone()).collect();
    let files = data.embedded_files("manifests/lints");
    let infos = files.iter().filter_map(|(name, text)| {
        let info = LintInfo::parse(name.strip_suffix(".toml")?, std::str::from_utf8(text).ok()?).ok()?;
        (info.over == Over::Machine).then_some(info.id)
    });
    assert_eq!(checks, infos.collect::<Vec<_>>());
}

#[test]
fn nothing_panics_when_a_part_cannot_be_examined_and_the_gap_is_told() {
    for (name, scenario) in scenarios() {
        for parts in Part::ALL.iter().map(std::slice::from_ref).chain([Part::ALL.as_slice()]) {
            let failing = Failing { other: &scenario.machine, parts };
            let (facts, report) = examined(Machine::take(&failing, &Wanted::default()), &scenario);
            assert_eq!(report.incomplete.len(), parts.len(), "{name} {parts:?}");
            let text = page(&facts, &report, PageOptions { verbose: true, ..PageOptions::default() });
            assert_eq!(text.matches("it does not answer").count(), parts.len(), "{name} {parts:?}\n{text}");
        }
    }
}

#[test]
fn a_record_gives_the_same_report() {
    for (name, scenario) in scenarios() {
        let (facts, report) = examined(scenario.machine.clone(), &scenario);
        let text = serde_json::to_string(&facts.machine).unwrap();
        let (again, replayed) =
            examined(Machine::take(&serde_json::from_str::<Machine>(&text).unwrap(), &Wanted::default()), &scenario);
        assert_eq!(replayed, report, "{name}");
        let options = PageOptions { verbose: true, ..PageOptions::default() };
        assert_eq!(page(&again, &replayed, options), page(&facts, &report, options), "{name}");
    }
}

#[test]
fn pages_read_well() {
    let mut all = String::new();
    for (name, scenario) in scenarios() {
        let (facts, report) = examined(scenario.machine.clone(), &scenario);
        let text = page(&facts, &report, PageOptions::default());
        let wide: Vec<&str> = text.lines().filter(|line| line.chars().count() > 100 && line.contains("  ")).collect();
        assert!(wide.iter().all(|line| line.split_whitespace().any(|word| word.len() > 60)), "{name}: {wide:?}");
        all.push_str(&format!("== {name}\n{text}\n\n"));
    }
    insta::assert_snapshot!("doctor_pages", all);
}
