//! Finds a recipe: on disk, or embedded in the binary and then unpacked once into the cache.

use std::path::{Path, PathBuf};

use super::files::{FetchedSource, LookedAt, RecipeDir};
use crate::data::Data;
use crate::error::{Error, Result};
use crate::fs::{self, Digest, DigestBuilder};
use crate::lock::{LOCK_FILE, Lock};
use crate::manifest::Manifests;
use crate::recipe::{self, RecipeFiles, RecipeMatrix, Selection, Source};
use crate::toolchain::{Store, not_asked};
use crate::ui::Ui;

/// Name of a recipe's file in its directory.
pub(crate) const RECIPE_FILE: &str = "simpack.toml";

/// Which recipe, with which choices in the place of its own.
#[derive(Debug, Clone, Default)]
pub(crate) struct RecipeRequest {
    /// A directory, a file, or an embedded name; without, the current directory's.
    pub recipe: Option<String>,
    /// What is chosen in the place of the recipe's own.
    pub selection: Selection,
    /// Fetch nothing.
    pub offline: bool,
}

/// Where a recipe came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    /// A file of the user.
    Disk,
    /// It came with the binary: nothing is written beside it.
    Embedded,
}

/// A recipe's file, and how to name it to the user.
pub(crate) struct Found {
    /// Where it can be read.
    pub file: PathBuf,
    pub origin: Origin,
    /// Its directory as the user would name it.
    place: String,
}

impl Found {
    fn on_disk(file: PathBuf, place: impl Into<String>) -> Self {
        Self { file, origin: Origin::Disk, place: place.into() }
    }

    /// Its directory in words.
    pub(crate) fn shown(&self) -> String {
        match self.origin {
            Origin::Disk => self.place.clone(),
            Origin::Embedded => format!("embedded {}", self.place),
        }
    }

    /// How the file is named in mistakes.
    pub(crate) fn path(&self) -> String {
        match self.origin {
            Origin::Disk => self.file.strip_prefix("./").unwrap_or(&self.file).display().to_string(),
            Origin::Embedded => format!("{}/{RECIPE_FILE}", self.place),
        }
    }

    /// Its text.
    ///
    /// # Errors
    /// It cannot be read, or is not UTF-8.
    pub(crate) fn text(&self) -> Result<String> {
        String::from_utf8(fs::read(&self.file)?).map_err(|error| {
            let before = &error.as_bytes()[..error.utf8_error().valid_up_to()];
            let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
            Error::recipe(format!("{}:{line}: the text is not UTF-8", self.path())).hint("save it as UTF-8")
        })
    }

    /// Its directory on disk.
    pub(crate) fn dir(&self) -> &Path {
        self.file.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."))
    }
}

/// A resolved recipe, and how to name its directory to the user.
pub(crate) struct Located {
    pub recipes: RecipeMatrix,
    pub shown: String,
    pub origin: Origin,
    /// The recipe's file below the current directory; none when it is embedded or lies elsewhere.
    pub below: Option<String>,
    /// Root of the source tree, when it is not in the recipe's directory.
    pub fetched: Option<PathBuf>,
    /// The recipe's file, where it can be read.
    pub file: PathBuf,
    /// Its text.
    pub text: String,
    /// How it is named in mistakes.
    pub path: String,
    /// What resolving it looked at.
    pub looked_at: LookedAt,
}

/// The recipe of a request, resolved; its source is fetched when it is not in the recipe's directory.
pub(crate) fn locate(
    request: &RecipeRequest,
    data: &Data,
    manifests: &Manifests,
    store: &Store,
    ui: &Ui,
) -> Result<Located> {
    let found = find(request.recipe.as_deref(), data)?;
    let text = found.text()?;
    let (path, dir) = (found.path(), found.file.parent().unwrap_or(Path::new(".")).to_owned());
    let fetched = match source_elsewhere(&text, &path, &dir) {
        Some(source) => {
            let root = store.tree(&source, &dir, ui, request.offline).map_err(|error| match request.offline {
                true => also_missing(error, &dir, store, ui),
                false => error,
            })?;
            if !store.is_confirmed(&source) {
                ui.note(format!("{}; `simpack check` asks", not_asked(&source)));
            }
            Some(root)
        }
        None => None,
    };
    let looked_at = LookedAt::default();
    looked_at.note_changes(&text, &path, &dir);
    let files = files_noted(&dir, fetched.as_deref(), &looked_at);
    let recipes = recipe::load_matrix(&text, &path, &dir, &*files, manifests, &request.selection)
        .map_err(|mistakes| recipe::as_error(&mistakes))?;
    let (shown, origin, file) = (found.shown(), found.origin, found.file);
    let below = fs_err::canonicalize(".").and_then(|here| Ok((here, fs_err::canonicalize(&file)?)));
    let below = below.ok().filter(|_| origin == Origin::Disk);
    let below = below.and_then(|(here, file)| fs::relative(&here, &file).ok());
    Ok(Located { recipes, shown, origin, below, fetched, file, text, path, looked_at })
}

/// Names what else an offline run will lack: the lock says it, the recipe cannot be resolved without its source.
fn also_missing(error: Error, dir: &Path, store: &Store, ui: &Ui) -> Error {
    let text = fs::read_to_string(&dir.join(LOCK_FILE)).unwrap_or_default();
    let tools = Lock::parse(&text, LOCK_FILE).map(|lock| lock.tools).unwrap_or_default();
    let quiet = ui.silent();
    let missing = tools.iter().map(|tool| tool.name.as_str()).filter(|name| store.fetch(name, &quiet, true).is_err());
    match missing.collect::<Vec<_>>().join(", ") {
        none if none.is_empty() => error,
        names => error.detail(format!("this run is offline and lacks {names}, too")),
    }
}

/// The source of a recipe's text, when it has to be fetched. A text with mistakes is worth no fetching, nor is one that names
/// patches and files that are not in the recipe's directory `dir`.
pub(crate) fn source_elsewhere(text: &str, path: &str, dir: &Path) -> Option<Source> {
    let file = recipe::parse(text, path).ok()?;
    let is_there = file.changes.iter().all(|change| dir.join(&change.value).exists());
    file.source.map(|source| source.value).filter(|source| is_there && !matches!(source, Source::Path(_)))
}

/// What resolving reads: the recipe's directory, and the source tree that was fetched.
pub(crate) fn files_of(dir: &Path, fetched: Option<&Path>) -> Box<dyn RecipeFiles> {
    files_noted(dir, fetched, &LookedAt::default())
}

/// The same; what is looked at is noted.
pub(super) fn files_noted(dir: &Path, fetched: Option<&Path>, looked_at: &LookedAt) -> Box<dyn RecipeFiles> {
    match fetched {
        Some(root) => Box::new(FetchedSource::new(dir.to_owned(), root.to_owned(), looked_at)),
        None => Box::new(RecipeDir::new(dir.to_owned(), looked_at)),
    }
}

/// The recipe's file: a path, an embedded name, or without either the current directory's recipe.
pub(crate) fn find(asked: Option<&str>, data: &Data) -> Result<Found> {
    let Some(asked) = asked else {
        if Path::new(RECIPE_FILE).is_file() {
            return Ok(Found::on_disk(PathBuf::from(RECIPE_FILE), "."));
        }
        return Err(Error::usage(format!("there is no {RECIPE_FILE} in this directory"))
            .hint("`simpack init NAME` starts a recipe")
            .hint("`simpack build volley` builds the embedded simulator"));
    };
    let path = Path::new(asked);
    if path.is_file() {
        return Ok(Found::on_disk(path.to_owned(), asked));
    }
    if path.is_dir() {
        let file = path.join(RECIPE_FILE);
        return match file.is_file() {
            true => Ok(Found::on_disk(file, asked.trim_end_matches('/'))),
            false => {
                Err(Error::usage(format!("{asked} holds no {RECIPE_FILE}")).hint("`simpack init NAME` starts a recipe"))
            }
        };
    }
    if !asked.contains('/')
        && let Some(found) = named(asked, data)?
    {
        return Ok(found);
    }
    let names = data.embedded_names("recipes").join(", ");
    Err(Error::usage(format!("no recipe `{asked}`"))
        .detail(format!("neither a file, nor a directory, nor an embedded recipe ({names})"))
        .hint("`simpack init NAME` starts a recipe"))
}

fn named(name: &str, data: &Data) -> Result<Option<Found>> {
    let path = format!("recipes/{name}");
    if let Some(dir) = data.dir_on_disk(&path)
        && dir.join(RECIPE_FILE).is_file()
    {
        return Ok(Some(Found::on_disk(dir.join(RECIPE_FILE), path)));
    }
    let files = data.embedded_files(&path);
    if !files.iter().any(|(file, _)| file == RECIPE_FILE) {
        return Ok(None);
    }
    let dir = unpack(name, &files)?;
    Ok(Some(Found { file: dir.join(RECIPE_FILE), origin: Origin::Embedded, place: path }))
}

/// Unpacks an embedded recipe into a directory named after its content, once.
fn unpack(name: &str, files: &[(String, &[u8])]) -> Result<PathBuf> {
    let digest =
        files.iter().fold(DigestBuilder::default(), |digest, (path, bytes)| digest.field(path).field(bytes)).finish();
    let parent = fs::cache_dir()?.join("recipes");
    let dir = parent.join(format!("{name}-{}", digest.short(12)));
    let is_whole = || {
        files.iter().all(|(path, bytes)| Digest::of_file(&dir.join(path)).is_ok_and(|found| found == Digest::of(bytes)))
    };
    if dir.is_dir() && is_whole() {
        return Ok(dir);
    }
    fs_err::create_dir_all(&parent)?;
    let fresh = tempfile::Builder::new()
        .prefix(".new-")
        .tempdir_in(&parent)
        .map_err(|error| Error::file(&parent, "cannot unpack the embedded recipe").because(error))?;
    for (path, bytes) in files {
        let target = fresh.path().join(path);
        fs_err::create_dir_all(target.parent().unwrap_or(fresh.path()))?;
        fs_err::write(target, bytes)?;
    }
    fs::set_mode(fresh.path(), 0o755)?;
    let fresh = fresh.keep();
    fs::with_lock(&parent.join("lock"), || fs::replace_dir(&fresh, &dir))?;
    Ok(dir)
}
