//! `simpack init`: starts a recipe from the embedded template, whole or not at all.

use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::data::Data;
use crate::error::{Error, Result};
use crate::fs;
use crate::printable;
use crate::ui::Ui;

/// Where the template lies among the data.
const TEMPLATE: &str = "templates/recipe";

/// What to start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InitRequest {
    /// Name of the simulator.
    pub name: String,
    /// Directory of the recipe; `recipes/NAME` without one.
    pub dir: Option<PathBuf>,
}

#[derive(Serialize)]
struct Started<'a> {
    schema: u32,
    name: &'a str,
    dir: &'a Path,
    files: Vec<String>,
}

/// Writes a small recipe that builds; answers the exit code.
///
/// # Errors
/// The name cannot be one, or something is in the place of the directory, or it cannot be written.
pub fn init(request: &InitRequest, data: &Data, ui: &Ui) -> Result<u8> {
    let name = checked(&request.name)?;
    let dir = request.dir.clone().unwrap_or_else(|| Path::new("recipes").join(name));
    refuse_to_overwrite(&dir)?;
    let files = filled(name, data)?;
    write_whole(&dir, &files)?;
    let names: Vec<String> = files.into_iter().map(|(path, _)| path).collect();
    if !ui.json(&Started { schema: 1, name, dir: &dir, files: names.clone() })? {
        let lines: Vec<String> = names.iter().map(|name| format!("  {name}")).collect();
        let shown = dir.display().to_string();
        let word = printable::word(&shown);
        ui.say(format!(
            "started {shown}\n{}\nnext: simpack check {word}   then   simpack build {word}",
            lines.join("\n")
        ));
    }
    Ok(0)
}

/// The template makes libraries, C identifiers and packages of the name.
fn checked(name: &str) -> Result<&str> {
    let fits = name.starts_with(|letter: char| letter.is_ascii_lowercase())
        && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-_".contains(&byte))
        && name.len() <= 64;
    // The template has a kernel and a program of its own, which must not meet these.
    let taken = ["main", "test", "all", "install", "clean"].contains(&name);
    if fits && !taken {
        return Ok(name);
    }
    let why = if taken { "it is a word of CMake or of the template" } else { "it names libraries and packages" };
    Err(Error::usage(format!("`{name}` cannot be the name of a simulator: {why}"))
        .hint("lower-case letters, digits, `-` and `_`, beginning with a letter, at most 64"))
}

fn refuse_to_overwrite(dir: &Path) -> Result<()> {
    let is_empty_dir = || fs_err::read_dir(dir).is_ok_and(|mut entries| entries.next().is_none());
    if dir.symlink_metadata().is_ok() && !is_empty_dir() {
        return Err(Error::usage(format!("{} is there already, and nothing of it is overwritten", dir.display()))
            .hint("choose another name, or another directory with --dir"));
    }
    Ok(())
}

/// Paths and texts of the new recipe, sorted. In paths `NAME` stands for the name, and `.in` ends a template.
fn filled(name: &str, data: &Data) -> Result<Vec<(String, String)>> {
    let ident = name.replace('-', "_");
    let mut files = Vec::new();
    for (path, bytes) in data.embedded_files(TEMPLATE) {
        let text = std::str::from_utf8(bytes)
            .map_err(|error| Error::bug(format!("{TEMPLATE}/{path} is not UTF-8")).because(error))?;
        let text =
            text.replace("{{name}}", name).replace("{{ident}}", &ident).replace("{{IDENT}}", &ident.to_uppercase());
        let path = path.strip_suffix(".in").unwrap_or(&path).replace("NAME", name);
        files.push((path, text));
    }
    if files.is_empty() {
        return Err(Error::bug(format!("{TEMPLATE} is not embedded")));
    }
    files.sort();
    Ok(files)
}

/// Writes into a fresh directory first, so that a kill leaves no half recipe under the target's name. An empty
/// directory that is there stays, because it may be the shell's own, and is filled.
fn write_whole(dir: &Path, files: &[(String, String)]) -> Result<()> {
    let is_there = dir.is_dir();
    let parent = match dir.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        _ if is_there => dir,
        Some(parent) => parent,
        None => Path::new("."),
    };
    fs_err::create_dir_all(parent)?;
    let fresh = tempfile::Builder::new()
        .prefix(".simpack-")
        .tempdir_in(parent)
        .map_err(|error| Error::file(parent, "no directory can be made here").because(error))?;
    for (path, text) in files {
        let target = fresh.path().join(path);
        fs_err::create_dir_all(target.parent().unwrap_or(fresh.path()))?;
        fs_err::write(target, text)?;
    }
    if !is_there {
        fs::set_mode(fresh.path(), 0o755)?;
        // Whatever has come into its place meanwhile makes this fail, unless it is an empty directory.
        return Ok(fs_err::rename(fresh.path(), dir)?);
    }
    for entry in fs_err::read_dir(fresh.path())? {
        let entry = entry?;
        fs_err::rename(entry.path(), dir.join(entry.file_name()))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn start(name: &str, dir: &Path) -> Result<u8> {
        let request = InitRequest { name: name.to_owned(), dir: Some(dir.to_owned()) };
        init(&request, &Data::at("no such directory"), &Ui::new(false, true))
    }

    #[test]
    fn the_new_recipe_resolves_and_is_never_overwritten() {
        let parent = tempfile::tempdir().unwrap();
        let dir = parent.path().join("deep/my-sim");
        assert_eq!(start("my-sim", &dir).unwrap(), 0);
        let text = fs_err::read_to_string(dir.join("simpack.toml")).unwrap();
        let manifests = crate::manifest::Manifests::load(&Data::at("no such directory")).unwrap();
        let files = crate::project::files_of(&dir, None);
        let recipe = crate::recipe::load(&text, "simpack.toml", &dir, &*files, &manifests, &Default::default())
            .map_err(|mistakes| crate::recipe::render_all(&mistakes))
            .unwrap();
        assert_eq!(recipe.kernels()[0].name, "my_sim_step");
        for entry in fs::walk(&dir).unwrap() {
            let path = dir.join(&entry.path);
            if path.is_file() {
                let text = fs_err::read_to_string(&path).unwrap();
                assert!(!text.contains("{{") && !entry.path.contains("NAME"), "{}", entry.path);
            }
        }
        let empty = parent.path().join("empty");
        fs_err::create_dir(&empty).unwrap();
        assert_eq!(start("my-sim", &empty).unwrap(), 0);
        assert_eq!(fs::walk(&empty).unwrap(), fs::walk(&dir).unwrap());
        let error = start("my-sim", &dir).unwrap_err();
        assert!(error.to_string().contains("nothing of it is overwritten"));
    }

    #[test]
    fn names_that_libraries_cannot_have_are_refused() {
        let parent = tempfile::tempdir().unwrap();
        for name in ["", "-x", "Volley", "a b", "../x", "7up", "x.y", "main"] {
            assert!(start(name, &parent.path().join("sim")).is_err(), "{name}");
        }
        assert_eq!(fs_err::read_dir(parent.path()).unwrap().count(), 0);
    }
}
