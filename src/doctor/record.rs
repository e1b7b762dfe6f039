//! The machine on paper: what `--json` prints and `--replay` reads.

use std::path::Path;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::smoke::SmokeReport;
use super::{Action, ByDevice, Foreign, PrefixFit};
use crate::error::{Error, Result};
use crate::fit::{Distribution, Reach};
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
    /// How files that simpack did not make run on the GPUs of `--device`; absent without.
    #[schemars(default)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by_device: Option<&'a ByDevice>,
    /// Smoke tests, with `--smoke`; `--replay` reads them.
    pub smoke: &'a [SmokeReport],
    /// What `--fix` would do.
    pub actions: &'a [Action],
}

/// All that is not concluded from something else: a record gives it back.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Recorded {
    /// Always [`DOCTOR_SCHEMA`].
    pub schema: u32,
    /// The machine.
    pub machine: Machine,
    /// The channel that was asked about.
    pub channel: Option<String>,
    /// What there was to install.
    pub offers: Vec<Distribution>,
    /// How far binaries reach that simpack did not make.
    #[serde(rename = "foreign", deserialize_with = "reaches")]
    pub reaches: Vec<Reach>,
    /// Smoke tests that ran.
    pub smoke: Vec<SmokeReport>,
}

fn reaches<'de, D: serde::Deserializer<'de>>(deserializer: D) -> std::result::Result<Vec<Reach>, D::Error> {
    let foreign: Vec<Foreign> = Deserialize::deserialize(deserializer)?;
    Ok(foreign.into_iter().map(|foreign| foreign.reach).collect())
}

impl Recorded {
    /// Reads the record that `file` holds.
    ///
    /// # Errors
    /// It is no record, or one of a later form.
    pub fn parse(file: &Path, text: &str) -> Result<Self> {
        let wrong = |what: String| {
            Error::file(file, what).hint("a record is what `simpack doctor --json` printed, the whole of it")
        };
        let value: serde_json::Value =
            serde_json::from_str(text).map_err(|error| wrong(format!("it is no record: {error}")))?;
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
    pub fn redacted(self, redaction: &Redaction) -> Result<Self> {
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
