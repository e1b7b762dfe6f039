//! `simpack schema`: the JSON schemas of the forms that simpack prints and writes.
//!
//! They are generated from the types, so they are always current; `schemas/` holds them as they were
//! agreed upon, and a test compares. A form's version rises when a field changes its meaning or goes away;
//! new fields may appear at any time.

use schemars::{JsonSchema, Schema, SchemaGenerator, generate::SchemaSettings};
use serde::Serialize;

use crate::error::{Error, Result};
use crate::near::nearest;
use crate::table::{Column, Table};
use crate::ui::Ui;

/// A form with a schema.
pub struct Form {
    /// Name on the command line.
    pub name: &'static str,
    /// Version: what `schema` (of a lock: `edition`) says in the form.
    pub version: u32,
    /// Where the form is met.
    pub about: &'static str,
    /// Its schema: [`of`] its type.
    pub schema: fn(&mut SchemaGenerator) -> Schema,
}

/// The schema of a type.
pub fn of<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    generator.root_schema_for::<T>()
}

impl Form {
    /// The schema (draft 2020-12) as text, the same bytes every time.
    ///
    /// # Errors
    /// None but an internal error.
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
pub fn schema(forms: &[Form], name: Option<&str>, ui: &Ui) -> Result<u8> {
    let Some(name) = name else {
        let lines: Vec<Line> =
            forms.iter().map(|form| Line { name: form.name, version: form.version, about: form.about }).collect();
        if !ui.json(&lines)? {
            let row = |line: &Line| [line.name.to_owned(), line.version.to_string(), line.about.to_owned()];
            ui.say(Table::new([Column::words(""); 3]).rows(lines.iter().map(row)).text());
        }
        return Ok(0);
    };
    let form = forms.iter().find(|form| form.name == name).ok_or_else(|| {
        let error = Error::usage(format!("no form `{name}`"));
        let error = match nearest(name, forms.iter().map(|form| form.name.to_owned())) {
            Some(near) => error.hint(format!("did you mean `{near}`?")),
            None => error,
        };
        error.hint("`simpack schema` lists the forms")
    })?;
    ui.out(&form.text()?);
    Ok(0)
}
