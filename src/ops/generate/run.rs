//! `simpack generate`: recipes for other package managers and build systems, written or compared.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component as PathPart, Path, PathBuf};

use schemars::JsonSchema;
use serde::Serialize;

use super::built::{Built, Standing};
use super::place::Place;
use super::{generated, sources};
use crate::config;
use crate::data::Data;
use crate::error::{Error, ErrorKind, Result};
use crate::fs;
use crate::generate::{Difference, FileSet, Status, Target, Templates};
use crate::manifest::{CondaForge, EasyBuild, Manifests};
use crate::project::{Origin, RECIPE_FILE, files_of, find, source_elsewhere};
use crate::recipe::{self, Recipe, RecipeMatrix, Selection, Source};
use crate::toolchain::Store;
use crate::ui::Ui;

/// What is generated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GenerateRequest {
    /// What for.
    pub target: Target,
    /// Recipe: a directory, a file, or an embedded name.
    pub recipe: Option<String>,
    /// Directory of the files; one of the target's own below the recipe without.
    pub output: Option<PathBuf>,
    /// Write nothing; answer whether the files are current.
    pub check: bool,
    /// Packages of the recipe that texts take into account.
    pub dist: Option<PathBuf>,
    /// Fetch nothing.
    pub offline: bool,
}

/// The answer as JSON.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Generated {
    /// Always 1.
    schema: u32,
    /// What the files are for.
    target: String,
    /// Their directory.
    output: String,
    /// The files, sorted by path.
    files: Vec<GeneratedFile>,
    /// Whether files were written: with `--check` none are.
    written: bool,
    /// What stands in `dist`, or where `--dist` says, beside the recipe; none for texts that do not depend on it.
    built: Option<Standing>,
    /// Files that `--dist` would make otherwise: what was built says more than the recipe.
    #[serde(default)]
    otherwise: Vec<String>,
}

impl Generated {
    /// The answer about files that follow from the recipe and its source alone.
    pub(super) fn of(target: &str, output: &str, files: Vec<GeneratedFile>, written: bool) -> Self {
        let (target, output) = (target.to_owned(), output.to_owned());
        Self { schema: 1, target, output, files, written, built: None, otherwise: Vec::new() }
    }
}

/// One file.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct GeneratedFile {
    /// Path below the directory.
    path: String,
    /// What was there.
    status: Status,
}

impl GeneratedFile {
    pub(super) fn new(path: &str, status: Status) -> Self {
        Self { path: path.to_owned(), status }
    }
}

/// What became of a file, in a word.
pub(super) fn word(status: Status, written: bool) -> &'static str {
    match (status, written) {
        (Status::Current, _) => "current",
        (Status::Stale, true) => "changed",
        (Status::Stale, false) => "stale",
        (Status::Missing, true) => "new",
        (Status::Missing, false) => "missing",
        (Status::Superfluous, true) => "removed",
        (Status::Superfluous, false) => "superfluous",
    }
}

/// Where a build leaves packages when nobody says.
const DIST: &str = "dist";

/// Generates the files of a target; answers the exit code.
///
/// # Errors
/// The recipe is wrong or holds what the target cannot express, or a file of others is in the way.
pub fn generate(request: &GenerateRequest, ui: &Ui) -> Result<u8> {
    let data = Data::here();
    let manifests = Manifests::load(&data)?;
    let found = find(request.recipe.as_deref(), &data)?;
    let (dir, path, shown) = (found.dir().to_owned(), found.path(), found.shown());
    let text = found.text()?;
    let store = Store::open(fs::cache_dir()?)?;
    let fetched = match source_elsewhere(&text, &path, &dir) {
        Some(source) => Some(store.tree(&source, &dir, ui, request.offline)?),
        None => None,
    };
    let files = files_of(&dir, fetched.as_deref());
    let recipes = recipe::load_matrix(&text, &path, &dir, &*files, &manifests, &Selection::default())
        .map_err(|mistakes| recipe::as_error(&mistakes))?;
    let first = recipes.own();
    let output = request.output.clone().unwrap_or_else(|| default_output(request.target, &dir));
    let source = fetched.unwrap_or_else(|| source_dir(first));
    if found.origin == Origin::Embedded && matches!(first.source, Source::Path(_)) {
        return Err(Error::usage(format!("the source of {shown} lies in simpack itself, and no text can name it"))
            .hint(format!("name a directory that holds a {RECIPE_FILE} and its source")));
    }
    let (forge, easybuild) = (CondaForge::load(&data)?, EasyBuild::load(&data)?);
    let place = Place {
        source: source.clone(),
        output: way(&output, &source)?,
        recipe_dir: way(&output, &dir)?.trim_end_matches("/.").to_owned(),
        recipe: shown_below(&shown),
        licences: generated::licences(first, &source)?,
        addresses: sources::addresses(first, request.target, &store, request.offline)?,
        simpack: config::current().text("install-from").map(str::parse).transpose()?,
    };
    let templates = Templates::load(&data, request.target)?;
    let texts = |built: Option<&Built>| {
        let model = generated::model(request.target, &recipes, built, &manifests, &forge, &easybuild, &place)?;
        request.target.files(&model, &manifests.vendor, &templates)
    };
    let (files, beside) = match &request.dist {
        Some(dist) => (texts(Some(&taken(dist, &recipes)?))?, Beside::default()),
        None if request.target.follows_from_recipe() => {
            (texts(None)?, Beside { standing: None, otherwise: Vec::new() })
        }
        None => {
            let files = texts(None)?;
            let beside = beside(&recipes, &files, &texts, ui);
            (files, beside)
        }
    };
    let there = texts_in(&output)?;
    let found = files.compare(&there);
    if request.check {
        let diffs: Vec<String> = found.iter().map(|one| files.diff(&one.path, &there)).collect();
        return checked(request, &output, &found, &diffs, &beside, ui);
    }
    write(&output, &files, &found, &there)?;
    say(request, &output, &found, &beside, true, ui)?;
    Ok(0)
}

/// What stands beside the recipe.
struct Beside {
    standing: Option<Standing>,
    otherwise: Vec<String>,
}

impl Default for Beside {
    /// What was built is in the texts.
    fn default() -> Self {
        Self { standing: Some(Standing::Current), otherwise: Vec::new() }
    }
}

/// The packages that somebody named: they must be the recipe's.
fn taken(dist: &Path, recipes: &RecipeMatrix) -> Result<Built> {
    let (standing, built) = Built::look(dist, recipes)?;
    let wrong = match standing {
        Standing::Current => return Ok(built),
        Standing::Absent => "holds no packages with host code",
        Standing::Foreign => "holds packages of another simulator",
        Standing::Stale => "was built from another state of the recipe, or with other options",
    };
    Err(Error::usage(format!("{} {wrong}", dist.display())).hint("run `simpack build` for this recipe first"))
}

/// Compares texts that follow from the recipe alone with those that what lies in `dist` would give, and says what came
/// of it. Texts must not depend on what happens to lie there, so nothing that is wrong with it is an error.
fn beside(
    recipes: &RecipeMatrix,
    files: &FileSet,
    texts: &dyn Fn(Option<&Built>) -> Result<FileSet>,
    ui: &Ui,
) -> Beside {
    let compared = Built::look(Path::new(DIST), recipes).and_then(|(standing, built)| {
        let otherwise = match standing {
            Standing::Current => {
                let (other, there) = (texts(Some(&built))?, files.to_map());
                let differing = other.compare(&there).into_iter().filter(|one| one.status != Status::Current);
                differing.map(|one| (other.diff(&one.path, &there), one.path)).collect()
            }
            _ => Vec::new(),
        };
        Ok((standing, built.count(), otherwise))
    });
    let (standing, count, otherwise): (_, _, Vec<(String, String)>) = match compared {
        Ok(compared) => compared,
        Err(error) => {
            ui.note(format!("what was built contradicts the recipe: {error}"));
            return Beside::default();
        }
    };
    match standing {
        Standing::Absent => ui.note(format!("no packages in {DIST}: texts follow from the recipe alone")),
        Standing::Foreign => ui.note(format!("{DIST} holds another simulator: texts follow from the recipe alone")),
        Standing::Stale => ui.note(format!(
            "{DIST} is stale: it was built from another state of the recipe or with other options; texts follow from \
             the recipe alone"
        )),
        Standing::Current if otherwise.is_empty() => {
            ui.note(format!("as the {} in {DIST} were built", crate::amount::count(count, "package")))
        }
        Standing::Current => {
            ui.note(format!("what was built says more than the recipe; `--dist {DIST}` takes it into the texts:"));
            for (diff, _) in &otherwise {
                ui.note(diff.trim_end());
            }
        }
    }
    Beside { standing: Some(standing), otherwise: otherwise.into_iter().map(|(_, path)| path).collect() }
}

fn source_dir(recipe: &Recipe) -> PathBuf {
    match &recipe.source {
        Source::Path(path) => recipe.dir.join(path),
        _ => recipe.dir.clone(),
    }
}

/// Where files go that nobody named a place for.
fn default_output(target: Target, dir: &Path) -> PathBuf {
    match target {
        Target::Github => PathBuf::from(".github/workflows"),
        target => dir.join("packaging").join(target.to_string()),
    }
}

/// The recipe's directory as a text of the repository names it.
fn shown_below(shown: &str) -> String {
    shown.trim_end_matches("/simpack.toml").to_owned()
}

/// The way from one directory to another, `/`-joined, beginning with `.` or `..`; neither has to be there.
fn way(from: &Path, to: &Path) -> Result<String> {
    let (from, to) = (whole(from)?, whole(to)?);
    let common = from.iter().zip(&to).take_while(|(a, b)| a == b).count();
    let up = std::iter::repeat_n("..", from.len() - common);
    let parts: Vec<&str> = up.chain(to[common..].iter().map(String::as_str)).collect();
    Ok(match parts.first() {
        None => "./.".to_owned(),
        Some(&"..") if parts.len() == 1 => "../.".to_owned(),
        Some(&"..") => parts.join("/"),
        Some(_) => format!("./{}", parts.join("/")),
    })
}

/// Parts of an absolute path, without links in the part of it that is there.
fn whole(path: &Path) -> Result<Vec<String>> {
    let absolute = std::path::absolute(path).map_err(|error| Error::file(path, "no such place").because(error))?;
    let mut there = absolute.clone();
    let mut missing = Vec::new();
    while !there.exists() {
        match (there.file_name().map(ToOwned::to_owned), there.parent().map(Path::to_owned)) {
            (Some(name), Some(parent)) => {
                missing.push(name);
                there = parent;
            }
            _ => break,
        }
    }
    let mut real = fs_err::canonicalize(&there)?;
    real.extend(missing.iter().rev());
    let parts = real.components().filter_map(|part| match part {
        PathPart::Normal(name) => Some(name.to_str().map(str::to_owned).ok_or(())),
        _ => None,
    });
    parts.collect::<Result<Vec<_>, ()>>().map_err(|()| Error::file(path, "the path is not UTF-8"))
}

/// Texts of the files directly in a directory; none where there is no directory.
fn texts_in(dir: &Path) -> Result<BTreeMap<String, String>> {
    let mut texts = BTreeMap::new();
    if !dir.is_dir() {
        return Ok(texts);
    }
    for entry in fs_err::read_dir(dir)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if entry.file_type()?.is_file()
            && let Ok(text) = String::from_utf8(fs_err::read(entry.path())?)
        {
            texts.insert(name, text);
        }
    }
    Ok(texts)
}

/// Writes what is new or has changed and removes what is generated no longer, but nothing that others wrote.
fn write(output: &Path, files: &FileSet, found: &[Difference], there: &BTreeMap<String, String>) -> Result<()> {
    let foreign = found.iter().find(|one| {
        let occupied = output.join(&one.path).symlink_metadata().is_ok();
        occupied && one.status != Status::Current && !there.get(&one.path).is_some_and(|text| is_generated(text))
    });
    if let Some(one) = foreign {
        let path = output.join(&one.path);
        return Err(Error::usage(format!("{} is there and was not generated", path.display()))
            .hint("move it away, or name another directory with --output"));
    }
    let tree = fs::Tree::make(output)?;
    for one in found {
        match (one.status, files.get(&one.path)) {
            (Status::Superfluous, _) => tree.remove(&one.path)?,
            (Status::Stale | Status::Missing, Some(text)) => tree.write(&one.path, text.as_bytes())?,
            _ => {}
        }
    }
    Ok(())
}

fn is_generated(text: &str) -> bool {
    crate::generate::is_marked(text)
}

fn checked(
    request: &GenerateRequest,
    output: &Path,
    found: &[Difference],
    diffs: &[String],
    beside: &Beside,
    ui: &Ui,
) -> Result<u8> {
    let stale: BTreeSet<&str> =
        found.iter().filter(|one| one.status != Status::Current).map(|one| one.path.as_str()).collect();
    if !say(request, output, found, beside, false, ui)? && !stale.is_empty() {
        for diff in diffs {
            ui.say(diff.trim_end());
        }
        ui.say(format!("{} of {} files are not current; `simpack generate` writes them", stale.len(), found.len()));
    }
    Ok(if stale.is_empty() { 0 } else { ErrorKind::Stale.exit_code() })
}

/// Says what became of the files; answers whether that was as JSON.
fn say(
    request: &GenerateRequest,
    output: &Path,
    found: &[Difference],
    beside: &Beside,
    written: bool,
    ui: &Ui,
) -> Result<bool> {
    let files = found.iter().map(|one| GeneratedFile::new(&one.path, one.status)).collect();
    let shown = output.strip_prefix("./").unwrap_or(output).display().to_string();
    let answer = Generated {
        schema: 1,
        target: request.target.to_string(),
        output: shown.clone(),
        files,
        written,
        built: beside.standing,
        otherwise: beside.otherwise.clone(),
    };
    if ui.json(&answer)? {
        return Ok(true);
    }
    let lines: Vec<String> =
        found.iter().map(|one| format!("  {:<12} {}", word(one.status, written), one.path)).collect();
    ui.say(format!("{} in {shown}\n{}", request.target, lines.join("\n")));
    Ok(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ways_lead_from_one_directory_to_another() {
        let root = tempfile::tempdir().unwrap();
        let at = |path: &str| root.path().join(path);
        fs_err::create_dir_all(at("recipes/sim")).unwrap();
        for (from, to, expected) in [
            ("recipes/sim/packaging/conda", "recipes/sim", "../.."),
            ("recipes/sim/nix", "recipes/sim", "../."),
            ("recipes/sim", "recipes/sim/.", "./."),
            ("nix/sim", "recipes/sim", "../../recipes/sim"),
            ("recipes", "recipes/sim", "./sim"),
        ] {
            assert_eq!(way(&at(from), &at(to)).unwrap(), expected, "{from} to {to}");
        }
    }
}
