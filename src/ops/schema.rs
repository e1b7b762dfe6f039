//! `simpack schema`: the JSON schemas of the forms that simpack prints and writes.
//!
//! They are generated from the types, so they are always current; `schemas/` holds them as they were
//! agreed upon, and a test compares. A form's version rises when a field changes its meaning or goes away;
//! new fields may appear at any time.

use schemars::{JsonSchema, Schema, SchemaGenerator, generate::SchemaSettings};
use serde::Serialize;

use super::build::Summary;
use super::cache::{Collected, Stat, Verdict};
use super::check::Checked;
use super::config::Listing;
use super::doctor::{DOCTOR_SCHEMA, DoctorJson};
use super::generate::Generated;
use super::lock::Answer;
use super::plan::Comparison;
use super::rebuild::Rebuilt;
use super::select::{SELECT_SCHEMA, Selection};
use crate::abi::{BASELINE_SCHEMA, Baseline};
use crate::bundle::{BundleManifest, KERNELS_SCHEMA, KernelsList, MANIFEST_SCHEMA};
use crate::error::{Error, ErrorJson, Result};
use crate::lock::{LOCK_EDITION, Lock};
use crate::near::nearest;
use crate::plan::{BuildPlan, PLAN_SCHEMA};
use crate::report::{REPORT_SCHEMA, ReportJson};
use crate::ui::Ui;

/// A form with a schema.
pub struct Form {
    /// Name on the command line.
    pub name: &'static str,
    /// Version: what `schema` (of a lock: `edition`) says in the form.
    pub version: u32,
    /// Where the form is met.
    pub about: &'static str,
    schema: fn(&mut SchemaGenerator) -> Schema,
}

/// All forms, sorted by name.
pub const FORMS: [Form; 23] = [
    Form {
        name: "abi",
        version: BASELINE_SCHEMA,
        about: "`simpack abi dump`: a recorded interface",
        schema: of::<Baseline>,
    },
    Form { name: "abi-diff", version: 1, about: "`simpack abi diff --json`", schema: of::<super::abi::DiffAnswer> },
    Form { name: "build", version: 1, about: "`simpack build --json` and dist/build.json", schema: of::<Summary> },
    Form { name: "cache-gc", version: 1, about: "`simpack cache gc --json`", schema: of::<Collected> },
    Form { name: "cache-stat", version: 1, about: "`simpack cache stat --json`", schema: of::<Stat> },
    Form { name: "cache-verify", version: 1, about: "`simpack cache verify --json`", schema: of::<Verdict> },
    Form { name: "check", version: 1, about: "`simpack check --json`", schema: of::<Checked> },
    Form { name: "comparison", version: 1, about: "`simpack plan --compare --json`", schema: of::<Comparison> },
    Form { name: "config", version: 1, about: "`simpack config --list --json`", schema: of::<Listing> },
    Form { name: "doctor", version: DOCTOR_SCHEMA, about: "`simpack doctor --json`", schema: of::<DoctorJson> },
    Form {
        name: "error",
        version: 1,
        about: "what any verb prints under --json when it fails",
        schema: of::<ErrorJson>,
    },
    Form { name: "generate", version: 1, about: "`simpack generate TARGET --json`", schema: of::<Generated> },
    Form { name: "inspect", version: 1, about: "`simpack inspect --json`", schema: of::<super::inspect::Inspection> },
    Form {
        name: "kernels",
        version: KERNELS_SCHEMA,
        about: "kernels.json beside device code",
        schema: of::<KernelsList>,
    },
    Form { name: "lock", version: LOCK_EDITION, about: "simpack.lock, as JSON", schema: of::<Lock> },
    Form { name: "lock-result", version: 1, about: "`simpack lock --json`", schema: of::<Answer> },
    Form {
        name: "manifest",
        version: MANIFEST_SCHEMA,
        about: "simpack.json in every package",
        schema: of::<BundleManifest>,
    },
    Form { name: "plan", version: PLAN_SCHEMA, about: "`simpack plan --json`", schema: of::<BuildPlan> },
    Form { name: "rebuild", version: 1, about: "`simpack rebuild --json`", schema: of::<Rebuilt> },
    Form { name: "report", version: REPORT_SCHEMA, about: "`simpack verify --json`", schema: of::<ReportJson> },
    Form { name: "resolve", version: 1, about: "`simpack resolve --json`", schema: of::<super::resolve::Answers> },
    Form { name: "select", version: SELECT_SCHEMA, about: "`simpack select --json`", schema: of::<Selection> },
    Form { name: "slice", version: 1, about: "`simpack slice --json`", schema: of::<super::slice::SliceReport> },
];

fn of<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    generator.root_schema_for::<T>()
}

impl Form {
    /// The schema (draft 2020-12) as text, the same bytes every time.
    ///
    /// # Errors
    /// None but a mistake in simpack.
    pub fn text(&self) -> Result<String> {
        let mut generator = SchemaSettings::draft2020_12().into_generator();
        let mut schema = (self.schema)(&mut generator);
        schema.insert("$id".to_owned(), format!("urn:simpack:schema:{}:{}", self.name, self.version).into());
        let text = serde_json::to_string_pretty(&schema)
            .map_err(|error| Error::bug("a schema does not print as JSON").because(error))?;
        // Descriptions are doc comments; their links lead nowhere outside of the source.
        Ok(text.replace("[`", "`").replace("`]", "`") + "\n")
    }

    /// File name of its schema in `schemas/`.
    pub fn file(&self) -> String {
        format!("{}-{}.json", self.name, self.version)
    }
}

/// A line of the list as JSON.
#[derive(Serialize)]
struct Line {
    name: &'static str,
    version: u32,
    about: &'static str,
}

/// Prints the schema of a form, or lists the forms; answers the exit code.
///
/// # Errors
/// There is no such form.
pub fn schema(name: Option<&str>, ui: &Ui) -> Result<u8> {
    let Some(name) = name else {
        let lines: Vec<Line> =
            FORMS.iter().map(|form| Line { name: form.name, version: form.version, about: form.about }).collect();
        if !ui.json(&lines)? {
            let words = lines.iter().map(|line| format!("{:<12} {}  {}\n", line.name, line.version, line.about));
            ui.say(words.collect::<String>());
        }
        return Ok(0);
    };
    let form = FORMS.iter().find(|form| form.name == name).ok_or_else(|| {
        let error = Error::usage(format!("no form `{name}`"));
        let error = match nearest(name, FORMS.iter().map(|form| form.name.to_owned())) {
            Some(near) => error.hint(format!("did you mean `{near}`?")),
            None => error,
        };
        error.hint("`simpack schema` lists the forms")
    })?;
    ui.out(&form.text()?);
    Ok(0)
}
