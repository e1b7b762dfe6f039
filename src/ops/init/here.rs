//! `simpack init --here`: a recipe for a project that is there.

use std::path::Path;

use super::draft::{SCRIPT, Shape, TABLE, recipe, shape, table};
use super::survey::{BuildFiles, Survey, survey};
use crate::error::Result;
use crate::ui::Ui;

/// What a project's recipe is made of.
pub(super) struct Here<'a> {
    /// Its name, where the user says one.
    pub name: Option<&'a str>,
    /// Its directory.
    pub dir: &'a Path,
    /// How its kernels ship, where the user says it.
    pub shape: Option<Shape>,
    /// What was compiled before, and lies elsewhere.
    pub compiled: Option<&'a Path>,
}

/// Ignored by git and by builds without `inputs`.
const IGNORED: &str = "/dist/\n/target/\n*.log\n";

/// Packs a tree as it lies there.
const PACK: &str = "# Installs what is here as it is.\n\
    for name in bin include lib lib64 share; do\n  if [ -d \"$name\" ]; then mkdir -p \"$PREFIX\" && cp -a \"$name\" \"$PREFIX/\"; fi\ndone\n";

/// Name, and paths with texts.
pub(super) fn files(here: &Here<'_>, ui: &Ui) -> Result<(String, Vec<(String, String)>)> {
    let found = survey(here.dir, here.compiled, ui)?;
    let name = here.name.map_or_else(|| name_of(here.dir, &found), str::to_owned);
    let (by_itself, why) = shape(&found);
    let (shape, why) = match here.shape {
        Some(asked) if asked != by_itself => (asked, "as it was asked for".to_owned()),
        _ => (by_itself, why),
    };
    let mut files = vec![
        (".gitignore".to_owned(), IGNORED.to_owned()),
        ("simpack.toml".to_owned(), recipe(&name, &found, (shape, &why))),
    ];
    if shape == Shape::Cubin {
        files.push((TABLE.to_owned(), table(&found)));
    }
    if found.build == Some(BuildFiles::Installed) {
        files.push((SCRIPT.to_owned(), PACK.to_owned()));
    }
    files.sort();
    Ok((name, files))
}

/// The project's own name, in letters that packages can have.
fn name_of(dir: &Path, found: &Survey) -> String {
    let of_dir = || std::path::absolute(dir).ok().and_then(|dir| Some(dir.file_name()?.to_string_lossy().into_owned()));
    let name =
        found.cmake.project().filter(|name| !name.contains('$')).map(str::to_owned).or_else(of_dir).unwrap_or_default();
    let plain = name.to_lowercase();
    let plain: String = plain
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || c == '_' || c == '-' { c } else { '-' })
        .take(64)
        .collect();
    let plain =
        plain.trim_matches(|c: char| !c.is_ascii_alphanumeric()).trim_start_matches(|c: char| c.is_ascii_digit());
    if plain.is_empty() { "simulator".to_owned() } else { plain.trim_start_matches(['-', '_']).to_owned() }
}
