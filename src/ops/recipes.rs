//! Finds a recipe: on disk, or embedded in the binary and then unpacked once into the cache.

use std::path::{Path, PathBuf};

use super::recipe_dir::{FetchedSource, LookedAt, RecipeDir};
use super::request::BuildRequest;
use crate::arch::GlibcVersion;
use crate::data::Data;
use crate::error::{Error, Result};
use crate::fs::{self, Digest, DigestBuilder};
use crate::manifest::Manifests;
use crate::recipe::{self, HostToolchain, Recipe, RecipeFiles, Selection, Source};
use crate::toolchain::Store;
use crate::ui::Ui;

/// Name of a recipe's file in its directory.
pub(super) const FILE: &str = "simpack.toml";

/// The recipe that is built when none is named and none lies in the current directory.
const EMBEDDED: &str = "volley";

/// A recipe's file, and how to name its directory to the user.
pub(super) struct Found {
    pub file: PathBuf,
    pub shown: String,
}

/// A resolved recipe, and how to name its directory to the user.
pub(super) struct Located {
    pub recipe: Recipe,
    pub shown: String,
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

impl Located {
    /// Whether the recipe came with the binary: nothing is written beside it.
    pub(super) fn is_embedded(&self) -> bool {
        self.shown.starts_with(EMBEDDED_WORD)
    }
}

/// How the name of a recipe that came with the binary begins.
const EMBEDDED_WORD: &str = "embedded ";

/// The recipe of a request, resolved; its source is fetched when it is not in the recipe's directory.
pub(super) fn locate(
    request: &BuildRequest,
    data: &Data,
    manifests: &Manifests,
    store: &Store,
    ui: &Ui,
) -> Result<Located> {
    let Found { file, shown } = find(request.recipe.as_deref(), data)?;
    let host = request.system_host.map(|system| match system {
        true => HostToolchain::System { min_cxx: None },
        false => HostToolchain::Zig { glibc: GlibcVersion::new(2, 28) },
    });
    let selection =
        Selection { cuda: request.cuda, capabilities: request.capabilities.clone(), ptx: request.ptx.clone(), host };
    let text = fs_err::read_to_string(&file)?;
    let dir = file.parent().unwrap_or(Path::new(".")).to_owned();
    let path = match shown.starts_with(EMBEDDED_WORD) {
        true => format!("recipes/{EMBEDDED}/{FILE}"),
        false => file.display().to_string(),
    };
    let fetched = match source_elsewhere(&text, &path) {
        Some(source) => Some(store.source(&source, ui, request.offline)?),
        None => None,
    };
    let looked_at = LookedAt::default();
    let files = files_noted(&dir, fetched.as_deref(), &looked_at);
    let recipe = recipe::load(&text, &path, &dir, &*files, manifests, &selection)
        .map_err(|mistakes| recipe::as_error(&mistakes))?;
    let below = fs_err::canonicalize(".").and_then(|here| Ok((here, fs_err::canonicalize(&file)?)));
    let below = below.ok().and_then(|(here, file)| fs::relative(&here, &file).ok());
    let below = below.filter(|_| !shown.starts_with(EMBEDDED_WORD));
    Ok(Located { recipe, shown, below, fetched, file, text, path, looked_at })
}

/// The source of a recipe's text, when it has to be fetched. A text with mistakes is worth no fetching.
pub(super) fn source_elsewhere(text: &str, path: &str) -> Option<Source> {
    let source = recipe::parse(text, path).ok()?.source?.value;
    (!matches!(source, Source::Path(_))).then_some(source)
}

/// What resolving reads: the recipe's directory, and the source tree that was fetched.
pub(super) fn files_of(dir: &Path, fetched: Option<&Path>) -> Box<dyn RecipeFiles> {
    files_noted(dir, fetched, &LookedAt::default())
}

/// The same; what is looked at is noted.
pub(super) fn files_noted(dir: &Path, fetched: Option<&Path>, looked_at: &LookedAt) -> Box<dyn RecipeFiles> {
    match fetched {
        Some(root) => Box::new(FetchedSource::new(dir.to_owned(), root.to_owned(), looked_at)),
        None => Box::new(RecipeDir::new(dir.to_owned(), looked_at)),
    }
}

/// The recipe's file: a path, an embedded name, or without either the current directory's recipe and
/// then the embedded simulator.
pub(super) fn find(asked: Option<&str>, data: &Data) -> Result<Found> {
    let Some(asked) = asked else {
        if Path::new(FILE).is_file() {
            return Ok(Found { file: PathBuf::from(FILE), shown: ".".to_owned() });
        }
        return named(EMBEDDED, data)?.ok_or_else(|| Error::bug("the embedded recipe is missing"));
    };
    let path = Path::new(asked);
    if path.is_file() {
        return Ok(Found { file: path.to_owned(), shown: asked.to_owned() });
    }
    if path.is_dir() {
        let file = path.join(FILE);
        return match file.is_file() {
            true => Ok(Found { file, shown: asked.trim_end_matches('/').to_owned() }),
            false => Err(Error::usage(format!("{asked} holds no {FILE}")).hint("`simpack init NAME` starts a recipe")),
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
        && dir.join(FILE).is_file()
    {
        return Ok(Some(Found { file: dir.join(FILE), shown: path }));
    }
    let files = data.embedded_files(&path);
    if !files.iter().any(|(file, _)| file == FILE) {
        return Ok(None);
    }
    let dir = unpack(name, &files)?;
    Ok(Some(Found { file: dir.join(FILE), shown: format!("{EMBEDDED_WORD}{path}") }))
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
