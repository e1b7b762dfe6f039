//! The machine on paper: what `--json` prints and `--replay` reads.

use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::doctor::{Action, PrefixFit};
use crate::error::{Error, Result};
use crate::fit::{ForeignFit, Reach};
use crate::machine::{MACHINE_SCHEMA, Machine, Redaction};
use crate::manifest::Manifests;
use crate::ops::smoke::SmokeReport;
use crate::report::ReportJson;

/// Version of what `--json` prints: the machine's own.
pub const DOCTOR_SCHEMA: u32 = MACHINE_SCHEMA;

/// What `--json` prints.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct DoctorJson<'a> {
    /// Always [`DOCTOR_SCHEMA`].
    pub schema: u32,
    /// The machine; `--replay` reads this part and nothing else.
    pub machine: &'a Machine,
    /// What is wrong with it.
    pub report: ReportJson<'a>,
    /// What of the installed packages runs on which GPU, and why.
    pub serves: &'a [PrefixFit],
    /// Binaries that simpack did not make: how far they reach; `--replay` reads this part, too.
    pub foreign: &'a [Foreign],
    /// Smoke tests, with `--smoke`.
    pub smoke: &'a [SmokeReport],
    /// What `--fix` would do.
    pub actions: &'a [Action],
}

/// Binaries that simpack did not make.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Foreign {
    /// On which GPUs they run, and with which drivers.
    pub reach: Reach,
    /// What runs on the GPUs of this machine.
    pub devices: Vec<ForeignFit>,
}

impl Foreign {
    /// The verdict for a machine.
    pub(super) fn new(reach: Reach, machine: &Machine, manifests: &Manifests) -> Self {
        let driver = machine.usable_driver();
        let devices = machine.devices();
        let devices = devices.iter().map(|device| reach.on(device, driver.as_ref(), manifests)).collect();
        Self { reach, devices }
    }

    /// Lines for the page.
    pub(super) fn lines(&self) -> Vec<String> {
        let about = self.reach.page();
        let mut lines: Vec<String> = about.lines().map(|line| line.trim().to_owned()).collect();
        lines.extend(self.devices.iter().map(|device| {
            let runs = if device.runs { "runs" } else { "does not run" };
            format!("GPU {}  {}  -> {runs}: {}", device.index, device.name, device.words)
        }));
        lines
    }
}

/// What `--replay` reads of it.
#[derive(Deserialize)]
struct Recorded {
    schema: u32,
    machine: Machine,
    #[serde(default)]
    foreign: Vec<Foreign>,
}

/// Reads a record.
///
/// # Errors
/// It is no record, or one of a later form.
pub(super) fn read(file: &Path) -> Result<(Machine, Vec<Reach>)> {
    let text = fs_err::read_to_string(file)?;
    let wrong = |what: String| {
        Error::file(file, what).hint("a record is what `simpack doctor --json` printed, the whole of it")
    };
    let recorded: Recorded = serde_json::from_str(&text).map_err(|error| wrong(format!("it is no record: {error}")))?;
    if recorded.schema != DOCTOR_SCHEMA {
        return Err(wrong(format!("schema {} is not known; this simpack reads {DOCTOR_SCHEMA}", recorded.schema)));
    }
    Ok((recorded.machine, recorded.foreign.into_iter().map(|foreign| foreign.reach).collect()))
}

/// What of this user may not stand in a record.
pub(super) fn redaction() -> Redaction {
    let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    Redaction { home: variable("HOME"), user: variable("USER").or_else(|| variable("LOGNAME")) }
}
