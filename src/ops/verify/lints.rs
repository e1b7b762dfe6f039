//! All lints of all verbs, listed and explained in one place.

use serde::Serialize;

use crate::data::Data;
use crate::error::{Error, Result};
use crate::lint::{LintInfo, Over};
use crate::near::nearest;
use crate::report::Rule;
use crate::table::{Column, Table};
use crate::ui::Ui;

const DIRECTORY: &str = "manifests/lints";

/// The lints as `--list --json` prints them.
#[derive(Serialize)]
struct Listing {
    schema: u32,
    lints: Vec<Listed>,
}

#[derive(Serialize)]
struct Listed {
    over: Over,
    #[serde(flatten)]
    rule: Rule,
}

/// Metadata of every lint, by what it looks at and then by id.
///
/// # Errors
/// A data file is wrong.
pub fn all(data: &Data) -> Result<Vec<LintInfo>> {
    let files = data.embedded_files(DIRECTORY);
    let ids = files.iter().filter_map(|(name, _)| name.strip_suffix(".toml"));
    let mut infos = ids
        .map(|id| LintInfo::parse(id, &data.text(&format!("{DIRECTORY}/{id}.toml"))?))
        .collect::<Result<Vec<LintInfo>>>()?;
    infos.sort_by(|a, b| (a.over, &a.id).cmp(&(b.over, &b.id)));
    Ok(infos)
}

/// Lists all lints with their levels, verb by verb.
///
/// # Errors
/// A data file is wrong, or nothing can be printed.
pub fn list(ui: &Ui) -> Result<()> {
    let infos = all(&Data::here())?;
    let listed = infos.iter().map(|info| Listed { over: info.over, rule: info.rule() }).collect();
    if ui.json(&Listing { schema: 1, lints: listed })? {
        return Ok(());
    }
    let row = |info: &LintInfo| [info.level.to_string(), info.id.clone(), info.title.clone()];
    let sections = infos.chunk_by(|a, b| a.over == b.over).map(|section| {
        let table = Table::new([Column::words(""); 3]).rows(section.iter().map(row));
        format!("{}\n{}", heading(section[0].over), table.text())
    });
    ui.say(sections.collect::<Vec<_>>().join("\n"));
    ui.note("next: simpack verify --explain ID");
    Ok(())
}

/// Explains one lint, whichever verb runs it.
///
/// # Errors
/// There is no such lint, or a data file is wrong.
pub fn explain(id: &str, ui: &Ui) -> Result<()> {
    let infos = all(&Data::here())?;
    let Some(info) = infos.iter().find(|info| info.id == id) else {
        let error = Error::usage(format!("unknown lint `{id}`"));
        return Err(match nearest(id, infos.iter().map(|info| info.id.clone())) {
            Some(near) => error.hint(format!("did you mean `{near}`?")),
            None => error.hint("`simpack verify --list` shows all lints"),
        });
    };
    if !ui.json(info)? {
        ui.say(info.page());
    }
    Ok(())
}

fn heading(over: Over) -> &'static str {
    match over {
        Over::Bundles => "packages and what others made (simpack verify):",
        Over::Machine => "this machine (simpack doctor):",
        Over::Process => "the process that a loader would build (simpack resolve):",
    }
}
