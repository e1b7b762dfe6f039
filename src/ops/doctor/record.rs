//! The machine on paper: what `--json` prints and `--replay` reads.

use std::path::Path;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::doctor::smoke::SmokeReport;
use crate::doctor::{Action, Foreign, PrefixFit};
use crate::error::{Error, Result};
use crate::fit::{Distribution, Reach};
use crate::fs;
use crate::machine::{MACHINE_SCHEMA, Machine, Redaction};
use crate::report::ReportJson;

/// Version of what `--json` prints: the machine's own.
pub const DOCTOR_SCHEMA: u32 = MACHINE_SCHEMA;

/// What `--json` prints.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct DoctorJson<'a> {
    /// Always [`DOCTOR_SCHEMA`].
    pub schema: u32,
    /// The machine; `--replay` reads it.
    pub machine: &'a Machine,
    /// What is wrong with it.
    pub report: ReportJson<'a>,
    /// What of the installed packages runs on which GPU, and why.
    pub serves: &'a [PrefixFit],
    /// The channel of `--channel`; `--replay` reads it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub channel: Option<&'a str>,
    /// What there is to install besides, with `--channel`; `--replay` reads it.
    #[schemars(default)]
    pub offers: &'a [Distribution],
    /// Binaries that simpack did not make: how far they reach; `--replay` reads it.
    pub foreign: &'a [Foreign],
    /// Smoke tests, with `--smoke`; `--replay` reads them.
    pub smoke: &'a [SmokeReport],
    /// What `--fix` would do.
    pub actions: &'a [Action],
}

/// All that is not concluded from something else: a record gives it back.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Recorded {
    pub(super) schema: u32,
    pub(super) machine: Machine,
    pub(super) channel: Option<String>,
    pub(super) offers: Vec<Distribution>,
    #[serde(rename = "foreign", deserialize_with = "reaches")]
    pub(super) reaches: Vec<Reach>,
    pub(super) smoke: Vec<SmokeReport>,
}

fn reaches<'de, D: serde::Deserializer<'de>>(deserializer: D) -> std::result::Result<Vec<Reach>, D::Error> {
    let foreign: Vec<Foreign> = Deserialize::deserialize(deserializer)?;
    Ok(foreign.into_iter().map(|foreign| foreign.reach).collect())
}

impl Recorded {
    /// Reads a record.
    ///
    /// # Errors
    /// It is no record, or one of a later form.
    pub(super) fn read(file: &Path) -> Result<Self> {
        let text = fs::read_to_string(file)?;
        let wrong = |what: String| {
            Error::file(file, what).hint("a record is what `simpack doctor --json` printed, the whole of it")
        };
        let value: serde_json::Value =
            serde_json::from_str(&text).map_err(|error| wrong(format!("it is no record: {error}")))?;
        if !(value["schema"].is_u64() && value["machine"].is_object()) {
            return Err(wrong("it is no record: there is no schema and no machine in it".to_owned()));
        }
        if value["schema"] != DOCTOR_SCHEMA {
            let schema = &value["schema"];
            return Err(wrong(format!("schema {schema} is not known; this simpack reads {DOCTOR_SCHEMA}")));
        }
        serde_json::from_value(value).map_err(|error| wrong(format!("it is no record: {error}")))
    }

    /// The same without names of users, hosts and single GPUs.
    ///
    /// # Errors
    /// An internal error.
    pub(super) fn redacted(self, redaction: &Redaction) -> Result<Self> {
        Ok(Self {
            schema: self.schema,
            machine: redacted(redaction, &self.machine)?,
            channel: self.channel.map(|channel| redaction.text(&channel)),
            offers: self.offers,
            reaches: redacted(redaction, &self.reaches)?,
            smoke: redacted(redaction, &self.smoke)?,
        })
    }
}

fn redacted<T: Serialize + DeserializeOwned>(redaction: &Redaction, value: &T) -> Result<T> {
    redaction.apply(value).map_err(|error| Error::bug("a record without names is no record").because(error))
}

/// What of this user and this machine may not stand in a record.
pub(super) fn redaction() -> Redaction {
    let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let (user, home) = account().unzip();
    let host = fs_err::read_to_string("/proc/sys/kernel/hostname").ok();
    Redaction {
        home: variable("HOME").or(home),
        user: variable("USER").or_else(|| variable("LOGNAME")).or(user),
        host: host.map(|name| name.trim().to_owned()),
    }
}

/// Name and home of the user, where no variable tells: batch systems and containers set none.
fn account() -> Option<(String, String)> {
    // SAFETY: a number that is always there.
    let own = unsafe { libc::getuid() }.to_string();
    let text = fs_err::read_to_string("/etc/passwd").ok()?;
    let mut lines = text.lines().map(|line| line.split(':').collect::<Vec<_>>());
    let line = lines.find(|fields| fields.get(2).is_some_and(|id| *id == own))?;
    Some((line.first()?.to_string(), line.get(5)?.to_string()))
}
