//! The verb: what is started, where, and what is said of it.

use std::path::{Path, PathBuf};

use serde::Serialize;

use super::draft::{EDIT, Shape};
use super::here::{Here, files};
use super::sample::{Sample, checked, filled};
use super::write::{kept, write};
use crate::amount::count;
use crate::data::Data;
use crate::error::Result;
use crate::printable;
use crate::ui::Ui;

/// What to start, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InitRequest {
    /// Directory of the recipe.
    pub dir: Option<PathBuf>,
    /// What to start.
    pub start: Start,
}

/// What to start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Start {
    /// A sample of this name, and how its kernels ship; in `recipes/NAME` without a directory.
    Sample(String, Sample),
    /// A recipe for the project in the directory; in the current one without.
    Here(Project),
}

/// What is said of a project besides its directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Project {
    /// Its name; its own without.
    pub name: Option<String>,
    /// How its kernels ship; as they are compiled without.
    pub shape: Option<Shape>,
    /// A library, a directory of device code or an installed tree that was compiled before.
    pub compiled: Option<PathBuf>,
}

#[derive(Serialize)]
struct Started<'a> {
    schema: u32,
    name: &'a str,
    dir: &'a Path,
    /// What was written.
    files: Vec<String>,
    /// What was there and stays as it is.
    kept: Vec<String>,
    /// Lines that a person has to look at.
    edit: usize,
}

/// Writes a recipe; answers the exit code.
///
/// # Errors
/// The name cannot be one, or something is in the place of a file, or it cannot be written; a project cannot be read.
pub fn init(request: &InitRequest, data: &Data, ui: &Ui) -> Result<u8> {
    let (name, dir, files) = match &request.start {
        Start::Sample(name, sample) => {
            let name = checked(name)?;
            let dir = request.dir.clone().unwrap_or_else(|| Path::new("recipes").join(name));
            (name.to_owned(), dir, filled(name, *sample, data)?)
        }
        Start::Here(Project { name, shape, compiled }) => {
            let dir = request.dir.clone().unwrap_or_else(|| PathBuf::from("."));
            let name = name.as_deref().map(checked).transpose()?;
            let here = Here { name, dir: &dir, shape: *shape, compiled: compiled.as_deref() };
            let (name, files) = files(&here, ui)?;
            (name, dir, files)
        }
    };
    let kept = kept(&dir, &files)?;
    write(&dir, &files, &kept)?;
    let new = || files.iter().filter(|(path, _)| !kept.contains(path));
    let edit = new().flat_map(|(_, text)| text.lines()).filter(|line| line.contains(&format!("{EDIT}:"))).count();
    let files: Vec<String> = new().map(|(path, _)| path.clone()).collect();
    if !ui.json(&Started { schema: 1, name: &name, dir: &dir, files: files.clone(), kept: kept.clone(), edit })? {
        let mut lines: Vec<String> = files.iter().map(|name| format!("  {name}")).collect();
        if !kept.is_empty() {
            lines.push(format!("kept as they are: {}", kept.join(" ")));
        }
        match edit {
            0 => {}
            1 => lines.push("1 line is marked EDIT: a guess that only you can settle".to_owned()),
            edit => lines.push(format!("{} marked EDIT: guesses that only you can settle", count(edit, "line"))),
        }
        let shown = dir.display().to_string();
        let word = printable::word(&shown);
        ui.say(format!(
            "started {shown}\n{}\nnext: simpack check {word}   then   simpack build {word}",
            lines.join("\n")
        ));
    }
    Ok(0)
}
