//! Writes what `init` starts: never over anything that is there.

use std::path::Path;

use crate::error::{Error, Result};
use crate::fs::{self, Tree};
use crate::project::RECIPE_FILE;

/// Files that are the user's own where they are there; any other that is there is in the way.
const KEPT: [&str; 3] = [".gitignore", "LICENSE", "README.md"];

/// The paths of `files` that stay as they are, because the directory has them.
///
/// # Errors
/// It has one that cannot stay.
pub(super) fn kept(dir: &Path, files: &[(String, String)]) -> Result<Vec<String>> {
    let there = |path: &&str| dir.join(path).symlink_metadata().is_ok();
    let found: Vec<&str> = files.iter().map(|(path, _)| path.as_str()).filter(there).collect();
    let in_the_way = || found.iter().filter(|path| !KEPT.contains(path));
    let Some(first) = in_the_way().find(|path| **path == RECIPE_FILE).or_else(|| in_the_way().next()) else {
        return Ok(found.into_iter().map(str::to_owned).collect());
    };
    let shown = dir.join(first);
    let shown = shown.strip_prefix("./").unwrap_or(&shown).display().to_string();
    let error = Error::usage(format!("{shown} is there already, and nothing is overwritten"));
    Err(match *first == RECIPE_FILE {
        true => error.hint("choose another directory with --dir; `simpack check` looks at the recipe that is there"),
        false => {
            error.hint("`simpack init --here` writes a recipe for a project that is there; --dir names another place")
        }
    })
}

/// Writes the files that are not `kept`. A directory that is new appears whole; into one that is there the recipe comes
/// last, so that a kill leaves none that is half.
pub(super) fn write(dir: &Path, files: &[(String, String)], kept: &[String]) -> Result<()> {
    if dir.is_dir() {
        let tree = Tree::at(dir)?;
        let (recipe, others): (Vec<_>, Vec<_>) = files.iter().partition(|(path, _)| path == RECIPE_FILE);
        let new = others.into_iter().chain(recipe).filter(|(path, _)| !kept.contains(path));
        return new.into_iter().try_for_each(|(path, text)| tree.file(path, text.as_bytes(), 0o644));
    }
    let parent = dir.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    fs_err::create_dir_all(parent)?;
    let fresh = tempfile::Builder::new()
        .prefix(".simpack-")
        .tempdir_in(parent)
        .map_err(|error| Error::file(parent, "no directory can be made here").because(error))?;
    let tree = Tree::at(fresh.path())?;
    files.iter().try_for_each(|(path, text)| tree.file(path, text.as_bytes(), 0o644))?;
    fs::set_mode(fresh.path(), 0o755)?;
    // Whatever has come into its place meanwhile makes this fail, unless it is an empty directory.
    Ok(fs_err::rename(fresh.path(), dir)?)
}
