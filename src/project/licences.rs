//! The licence texts that packages carry.

use std::collections::BTreeMap;
use std::path::Path;

use crate::error::{Error, Result};
use crate::fs::Tree;
use crate::recipe::Recipe;

/// How names of licence texts begin, in capitals.
const BEGINNINGS: [&str; 4] = ["LICENSE", "LICENCE", "COPYING", "NOTICE"];

/// Licence texts of a source by their names: those that the recipe names, else those at its top.
///
/// # Errors
/// There is none, or one cannot be read: its bytes are not UTF-8, or a link leads out of the source.
pub(crate) fn licences(recipe: &Recipe, source: &Path) -> Result<BTreeMap<String, String>> {
    let tree = Tree::at(source)?;
    let text = |path: &str| {
        String::from_utf8(tree.read(path)?).map_err(|_| Error::recipe(format!("the licence text {path} is not UTF-8")))
    };
    let mut licences = BTreeMap::new();
    for path in &recipe.licence_files {
        let name = path.rsplit('/').next().unwrap_or(path).to_owned();
        // Two of one name are told apart by where they lie.
        let name = if licences.contains_key(&name) { path.replace('/', "-") } else { name };
        licences.insert(name, text(path)?);
    }
    if !licences.is_empty() {
        return Ok(licences);
    }
    for entry in fs_err::read_dir(source)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let upper = name.to_uppercase();
        if BEGINNINGS.iter().any(|start| upper.starts_with(start)) && entry.path().is_file() {
            licences.insert(name.clone(), text(&name)?);
        }
    }
    match licences.is_empty() {
        false => Ok(licences),
        true => Err(Error::recipe("there is no licence text at the top of the source")
            .detail(source.display().to_string())
            .hint("packages carry the licence: add a file LICENSE or COPYING to the source, or name the text in `licence-files`")),
    }
}
