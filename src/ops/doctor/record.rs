//! The machine on paper: what `--json` prints and `--replay` reads.

use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::doctor::Action;
use crate::error::{Error, Result};
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
    /// The machine; `--replay` reads this part and nothing else.
    pub machine: &'a Machine,
    /// What is wrong with it.
    pub report: ReportJson<'a>,
    /// What `--fix` would do.
    pub actions: &'a [Action],
}

/// What `--replay` reads of it.
#[derive(Deserialize)]
struct Recorded {
    schema: u32,
    machine: Machine,
}

/// Reads a record.
///
/// # Errors
/// It is no record, or one of a later form.
pub(super) fn read(file: &Path) -> Result<Machine> {
    let text = fs_err::read_to_string(file)?;
    let wrong = |what: String| {
        Error::file(file, what).hint("a record is what `simpack doctor --json` printed, the whole of it")
    };
    let recorded: Recorded = serde_json::from_str(&text).map_err(|error| wrong(format!("it is no record: {error}")))?;
    if recorded.schema != DOCTOR_SCHEMA {
        return Err(wrong(format!("schema {} is not known; this simpack reads {DOCTOR_SCHEMA}", recorded.schema)));
    }
    Ok(recorded.machine)
}

/// What of this user may not stand in a record.
pub(super) fn redaction() -> Redaction {
    let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    Redaction { home: variable("HOME"), user: variable("USER").or_else(|| variable("LOGNAME")) }
}
