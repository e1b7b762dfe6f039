//! One call: take or read the machine, examine it, say it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::Serialize;

use super::redaction::redaction;
use super::repair::repair;
use crate::arch::Capability;
use crate::data::Data;
use crate::doctor::{
    Action, ByDevice, DOCTOR_SCHEMA, DoctorJson, Facts, PageOptions, Recorded, actions, examine, page, registry,
    smoke::{self, SmokeReport},
};
use crate::error::{DENIED, Error, Result};
use crate::fit::Distribution;
use crate::fs;
use crate::inspect::reaches;
use crate::lint::Settings;
use crate::machine::{Machine, Provider, Wanted};
use crate::manifest::Manifests;
use crate::offers::{Source, is_channel, sources};
use crate::printable;
use crate::probe::{Probe, Snapshot};
use crate::report::{Format, Report, Rule};
use crate::table::{Column, Table};
use crate::ui::Ui;

/// What is asked.
#[derive(Debug, Clone, Default)]
pub struct DoctorRequest {
    /// Prefixes, and names of packages in them.
    pub subjects: Vec<String>,
    /// A process to look into.
    pub process: Option<u32>,
    /// A recorded machine in the place of this one.
    pub replay: Option<PathBuf>,
    /// Root of another machine's files.
    pub root: Option<PathBuf>,
    /// Variables of that machine.
    pub env: BTreeMap<String, String>,
    /// Directory of packages or channel: what there is to install besides.
    pub channel: Option<PathBuf>,
    /// simpack itself, which opens the driver's libraries in a process of its own; without, this process does.
    pub program: Option<PathBuf>,
    /// How long a library of the driver may take to answer, in the place of the manifest's time.
    pub driver_limit: Option<Duration>,
    /// GPUs to show the files for that simpack did not make.
    pub devices: Vec<Capability>,
    /// Say what would repair the machine.
    pub fix: bool,
    /// Do it.
    pub yes: bool,
    /// Run the simulators' own smoke tests.
    pub smoke: bool,
    /// Keep home directories and names of users.
    pub names: bool,
    /// Form of the report.
    pub format: Format,
}

/// The checks as `--list --json` prints them.
#[derive(Serialize)]
struct Listing {
    schema: u32,
    lints: Vec<Rule>,
}

/// Examines; answers the exit code: 0, 1 when something is broken, 7 when something could not be examined.
///
/// # Errors
/// A record cannot be read, or a prefix is not there.
pub fn run(request: &DoctorRequest, ui: &Ui) -> Result<u8> {
    let started = Instant::now();
    let data = Data::here();
    let manifests = Manifests::load(&data)?;
    let registry = registry(&data)?;
    let Subjects { wanted, names, foreign } = subjects(request)?;
    let found = match &request.replay {
        Some(file) => {
            let recorded = Recorded::parse(file, &fs::read_to_string(file)?)?;
            Recorded { machine: Machine::take(&recorded.machine, &wanted), ..recorded }
        }
        None => {
            let found = look(request, &wanted, foreign, &manifests, ui)?;
            // What is shown and what is recorded is the same, so that a record gives the same report.
            if request.names { found } else { found.redacted(&redaction())? }
        }
    };
    let Recorded { machine, channel, offers, reaches, smoke, .. } = found;
    check_names(&machine, &names)?;
    let failed = smoke.iter().flat_map(SmokeReport::failed_runs).collect();
    let facts = Facts::new(machine, reaches, &offers, manifests).with_failed_runs(failed);
    let mut report = examine(&registry, &facts, &Settings::default());
    if !names.is_empty() {
        let packages = packages(&facts.machine);
        report = report.filtered(|subject| {
            let is_about = |names: &[String]| names.iter().any(|name| name == subject.package());
            !is_about(&packages) || is_about(&names)
        });
    }
    let actions = actions(&facts, &report, channel.as_deref());
    let shown = Shown {
        facts: &facts,
        report: &report,
        actions: &actions,
        channel: channel.as_deref(),
        offers: &offers,
        smoke: &smoke,
    };
    print(&shown, request, &registry.rules(), started, ui)?;
    if request.fix {
        repair(&actions, request.yes, ui)?;
    }
    let smoke_is_well = smoke.iter().all(SmokeReport::is_well);
    Ok(if smoke_is_well { report.exit_code() } else { DENIED })
}

/// Looks at the machine, and at what it is asked about.
fn look(
    request: &DoctorRequest,
    wanted: &Wanted,
    mut files: Vec<PathBuf>,
    manifests: &Manifests,
    ui: &Ui,
) -> Result<Recorded> {
    let thorough = request.smoke || ui.is_verbose();
    let machine = Machine::take(probe(request, manifests, wanted, thorough)?.as_ref(), wanted);
    let is_empty = |path: &&String| {
        let found = machine.prefixes.iter().find(|prefix| prefix.path == **path);
        found.is_some_and(|prefix| prefix.packages.is_empty() && prefix.damaged.is_empty())
    };
    // A directory without packages of simpack is looked at as what it is: binaries.
    if request.root.is_none() {
        files.extend(wanted.prefixes.iter().filter(is_empty).map(PathBuf::from));
    }
    let quiet = ui.without_results();
    let found = files.iter().map(|path| reaches(path, manifests, &quiet)).collect::<Result<Vec<_>>>()?;
    let reaches = found.into_iter().flatten().collect();
    let found =
        request.channel.as_ref().map(|channel| sources(std::slice::from_ref(channel))).transpose()?.unwrap_or_default();
    let channel = found.iter().find_map(|source| source.channel.as_deref()).map(absolute).transpose()?;
    let offers: Vec<Distribution> = found.into_iter().flat_map(Source::distributions).collect();
    let smoke = smoke(request, &machine, manifests)?;
    Ok(Recorded { schema: DOCTOR_SCHEMA, machine, channel, offers, reaches, smoke })
}

/// Runs the smoke tests of what is installed in the prefixes of this machine.
fn smoke(request: &DoctorRequest, machine: &Machine, manifests: &Manifests) -> Result<Vec<SmokeReport>> {
    let mut reports = Vec::new();
    if request.smoke {
        let (devices, driver) = (machine.devices_of_programs(), machine.usable_driver());
        for prefix in machine.prefixes.iter().filter(|prefix| !prefix.packages.is_empty()) {
            let path = Path::new(&prefix.path);
            let devices = (devices.as_slice(), machine.vulkan.devices.as_slice());
            reports.extend(smoke::prefix(path, devices, driver.as_ref(), &smoke::environment(), manifests)?);
        }
    }
    Ok(reports)
}

fn probe(request: &DoctorRequest, manifests: &Manifests, wanted: &Wanted, thorough: bool) -> Result<Box<dyn Provider>> {
    let snapshot = match &request.root {
        Some(_) => Snapshot::of(request.env.clone()),
        None => {
            let mut snapshot = Snapshot::here(&manifests.environment);
            for (name, value) in &request.env {
                match value.is_empty() {
                    true => snapshot.values.remove(name),
                    false => snapshot.values.insert(name.clone(), value.clone()),
                };
            }
            snapshot
        }
    };
    let probe = match &request.root {
        Some(root) => Probe::at(manifests, snapshot, root)?,
        None => Probe::here(manifests, snapshot),
    };
    let probe = probe.asking_by(request.program.clone()).waiting(request.driver_limit);
    Ok(Box::new(probe.examining(&wanted.prefixes).thorough(thorough)))
}

/// What the words of the command line name.
struct Subjects {
    wanted: Wanted,
    /// Packages.
    names: Vec<String>,
    /// Files that simpack did not make.
    foreign: Vec<PathBuf>,
}

/// Prefixes are directories; other words are files, or names of packages.
fn subjects(request: &DoctorRequest) -> Result<Subjects> {
    let mut wanted = Wanted { prefixes: Vec::new(), process: request.process };
    let (mut names, mut foreign) = (Vec::new(), Vec::new());
    for subject in &request.subjects {
        let inside = request.root.as_ref().map(|root| root.join(subject.trim_start_matches('/')));
        let place = inside.unwrap_or_else(|| PathBuf::from(subject));
        if place.is_dir() {
            if is_channel(&place) {
                let subject = printable::text(subject);
                return Err(Error::usage(format!("{subject} holds packages, and none is installed there")).hint(
                    format!("`simpack select {subject}` says which of them fit this machine, and how to install them"),
                ));
            }
            let path = match &request.root {
                Some(_) => format!("/{}", subject.trim_matches('/')),
                None => absolute(&place)?,
            };
            wanted.prefixes.push(path);
        } else if place.is_file() {
            foreign.push(place);
        } else if subject.contains('/') {
            return Err(Error::file(&place, "there is no such file or directory"));
        } else {
            names.push(subject.clone());
        }
    }
    if request.replay.is_some() && !(wanted.prefixes.is_empty() && foreign.is_empty()) {
        return Err(Error::usage("a record says nothing about directories of this machine")
            .hint("name packages, or leave --replay out"));
    }
    Ok(Subjects { wanted, names, foreign })
}

fn absolute(place: &Path) -> Result<String> {
    Ok(fs_err::canonicalize(place)?.to_string_lossy().into_owned())
}

fn packages(machine: &Machine) -> Vec<String> {
    let all = machine.prefixes.iter().flat_map(|prefix| &prefix.packages);
    all.map(|package| package.manifest.package.clone()).collect()
}

fn check_names(machine: &Machine, names: &[String]) -> Result<()> {
    let known = packages(machine);
    let Some(unknown) = names.iter().find(|name| !known.contains(name)) else { return Ok(()) };
    let error = Error::usage(format!("no installed package `{unknown}`"));
    Err(match known.is_empty() {
        true => error.hint("no package of simpack was found; name the prefix that it is installed in"),
        false => error.hint(format!("there are {}", known.join(", "))),
    })
}

/// What was found.
struct Shown<'a> {
    facts: &'a Facts,
    report: &'a Report,
    actions: &'a [Action],
    channel: Option<&'a str>,
    offers: &'a [Distribution],
    smoke: &'a [SmokeReport],
}

fn print(shown: &Shown<'_>, request: &DoctorRequest, rules: &[Rule], started: Instant, ui: &Ui) -> Result<()> {
    let Shown { facts, report, actions, channel, offers, smoke } = *shown;
    let foreign = facts.foreign.as_slice();
    let by_device = (!request.devices.is_empty()).then(|| ByDevice::new(&request.devices, foreign, &facts.manifests));
    let json = DoctorJson {
        schema: DOCTOR_SCHEMA,
        machine: &facts.machine,
        report: report.json(),
        serves: &facts.fits,
        channel,
        offers,
        foreign,
        by_device: by_device.as_ref(),
        smoke,
        actions,
    };
    if ui.json(&json)? {
        return Ok(());
    }
    if let Some(text) = request.format.render(report, rules, None, ui.data())? {
        ui.out(&text);
        return Ok(());
    }
    let millis = Some(started.elapsed().as_millis());
    let mut more: Vec<(String, Vec<String>)> =
        foreign.iter().map(|foreign| ("files".to_owned(), foreign.lines())).collect();
    more.extend(by_device.map(|table| ("by GPU".to_owned(), table.lines())));
    for report in smoke {
        let page = report.page();
        let lines = page.lines().map(|line| line.strip_prefix("smoke     ").unwrap_or(line).trim().to_owned());
        more.push(("smoke".to_owned(), lines.collect()));
    }
    let options = PageOptions { verbose: ui.is_verbose(), millis, more: &more };
    ui.say(page(facts, report, options));
    Ok(())
}

/// Lists the checks with their levels.
///
/// # Errors
/// A data file is wrong.
pub fn list(ui: &Ui) -> Result<()> {
    let lints = registry(&Data::here())?.rules();
    let row = |lint: &Rule| [lint.level.to_string(), lint.id.clone(), lint.title.clone()];
    let table = Table::new([Column::words(""); 3]).rows(lints.iter().map(row));
    if !ui.json(&Listing { schema: 1, lints })? {
        ui.say(table.text());
        ui.note("next: simpack doctor --explain ID");
    }
    Ok(())
}

/// Explains one check.
///
/// # Errors
/// There is no such check.
pub fn explain(id: &str, ui: &Ui) -> Result<()> {
    let registry = registry(&Data::here())?;
    let info = registry.info(id)?;
    if !ui.json(info)? {
        ui.say(info.page());
    }
    Ok(())
}
