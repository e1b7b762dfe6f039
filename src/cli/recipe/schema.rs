//! `simpack schema`.

use clap::Args;

use crate::cli::forms::FORMS;
use crate::error::Result;
use crate::ops;
use crate::ui::Ui;

#[derive(Debug, Args)]
#[command(after_help = "\
Exit codes: 0 done, 2 there is no such form

Examples:
  simpack schema                     the forms and their versions
  simpack schema plan > plan.json    JSON schema, draft 2020-12
  simpack plan --json | check-jsonschema --schemafile plan.json -")]
pub(in crate::cli) struct SchemaArgs {
    /// Form: plan, build, manifest, report, error ...; without, they are listed
    name: Option<String>,
}

impl SchemaArgs {
    /// Runs the verb; answers the exit code.
    pub(in crate::cli) fn run(&self, ui: &Ui) -> Result<u8> {
        ops::schema::schema(&FORMS, self.name.as_deref(), ui)
    }
}
