//! `simpack generate table`: the structures of kernel tables as the host has them, written or compared.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::run::{Generated, GeneratedFile, word};
use crate::error::{Error, ErrorKind, Result};
use crate::fs;
use crate::generate::{FileSet, Status, with_structures};
use crate::pipeline::{BuildRequest, host_tables};
use crate::ui::Ui;

/// What is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableRequest {
    /// Recipe: a directory, a file, or an embedded name.
    pub recipe: Option<String>,
    /// Write nothing; answer whether the tables are current.
    pub check: bool,
    /// Fetch nothing.
    pub offline: bool,
    /// Directory of logs and intermediate files.
    pub work: PathBuf,
}

/// Writes the structures of a recipe's kernel tables as the host has them, or compares; answers the exit code.
///
/// # Errors
/// The recipe is wrong, or no group says where its structures come from; the host's types cannot be read, or are none that a
/// shader can have.
pub fn table(request: &TableRequest, ui: &Ui) -> Result<u8> {
    let build = BuildRequest {
        recipe: request.recipe.clone(),
        offline: request.offline,
        work: request.work.clone(),
        writes_structures: true,
        ..BuildRequest::default()
    };
    let (inputs, tables) = host_tables(&build, ui)?;
    let recipe = inputs.recipes.own();
    if tables.is_empty() {
        return Err(Error::usage(format!("no kernel group of {} says where its structures come from", inputs.shown))
            .hint("[kernels.NAME.structures] names headers of the host, or a command that prints the structures"));
    }
    let (mut files, mut there) = (FileSet::default(), BTreeMap::new());
    for found in tables {
        let path = found.path;
        if !recipe.dir.join(&path).is_file() {
            return Err(Error::usage(format!("the kernel table {path} lies in a source that was fetched"))
                .hint("put a table of your own beside the recipe, and name that"));
        }
        let text = fs::read_to_string(&recipe.dir.join(&path))?;
        let written = with_structures(&text, &found.structures).map_err(|error| error.detail(format!("in {path}")))?;
        files.add(&path, written);
        there.insert(path, text);
    }
    let found = files.compare(&there);
    let stale = found.iter().filter(|one| one.status != Status::Current).count();
    if !request.check {
        for one in found.iter().filter(|one| one.status != Status::Current) {
            let text = files.get(&one.path).unwrap_or_default();
            fs::Tree::at(&recipe.dir)?.write(&one.path, text.as_bytes())?;
        }
    }
    let is_written = !request.check;
    let listed = found.iter().map(|one| GeneratedFile::new(&one.path, one.status)).collect();
    if !ui.json(&Generated::of("table", &inputs.shown, listed, is_written))? {
        for one in found.iter().filter(|_| request.check) {
            let diff = files.diff(&one.path, &there);
            if !diff.is_empty() {
                ui.say(diff.trim_end());
            }
        }
        let lines: Vec<String> =
            found.iter().map(|one| format!("  {:<12} {}", word(one.status, is_written), one.path)).collect();
        ui.say(format!("table in {}\n{}", inputs.shown, lines.join("\n")));
        if request.check && stale > 0 {
            ui.say("the core has other structures; `simpack generate table` writes them");
        }
    }
    Ok(if request.check && stale > 0 { ErrorKind::Stale.exit_code() } else { 0 })
}
