//! The files of a source tree with their digests: what a plan's keys are made of.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::ignored::Ignored;
use crate::config;
use crate::error::{Error, Result};
use crate::fs::{self, Digest, DigestBuilder};
use crate::recipe::{BuildSpec, Generator, Inputs, Recipe, Source};

/// A source tree as it was found.
pub(crate) struct Scanned {
    /// Every file that may count, by its path below the root.
    pub files: BTreeMap<String, Digest>,
    /// Those of them that the tree leaves out: they count only where the recipe names them.
    pub left_out: BTreeSet<String>,
    /// Directories that hold nothing at all: a build may write into one that it does not make.
    pub empty: BTreeSet<String>,
    /// All places that a change of the tree would show at: files, directories, and links that lead nowhere.
    pub looked_at: Vec<PathBuf>,
}

/// Every file below the source's `root` but the files and directories in `outside` (the build's own output may lie in the
/// source tree). The directory of version control does not count. Of a directory of the user what it leaves out counts
/// only as far as the recipe names it; what was fetched counts whole.
///
/// # Errors
/// A file cannot be read, is none, or a link leads out of the tree to a place that the user's setting does not allow: a
/// source of others must not bring the user's own files into a package.
pub(crate) fn scan(recipe: &Recipe, root: &Path, outside: &[&Path]) -> Result<Scanned> {
    let outside: Vec<_> = outside.iter().filter_map(|dir| fs_err::canonicalize(dir).ok()).collect();
    let root = fs_err::canonicalize(root)?;
    let mut allowed = vec![root.clone()];
    let places = config::current().text(ALLOWED).unwrap_or_default();
    allowed
        .extend(places.split(':').filter(|place| !place.is_empty()).filter_map(|dir| fs_err::canonicalize(dir).ok()));
    let mut ignored = matches!(recipe.source, Source::Path(_)).then(|| Ignored::below(&root));
    let named = Named::by(recipe)?;
    let mut found =
        Scanned { files: BTreeMap::new(), left_out: BTreeSet::new(), empty: BTreeSet::new(), looked_at: Vec::new() };
    let mut entries = walkdir::WalkDir::new(&root).follow_links(true).into_iter();
    while let Some(entry) = entries.next() {
        let entry = match entry {
            Ok(entry) => entry,
            // A link to nothing, or to a directory above it, adds no file.
            Err(error) if error.depth() > 0 && leads_nowhere(&error) => {
                found.looked_at.extend(error.path().map(Path::to_owned));
                continue;
            }
            Err(error) => return Err(Error::file(&root, error)),
        };
        let is_dir = entry.file_type().is_dir();
        let left_out = ignored.as_mut().map_or(Ok(false), |ignored| ignored.leaves_out(&entry))?;
        let path = fs::relative(&root, entry.path())?;
        let is_named = || match is_dir {
            true => named.may_name_below(&path),
            false => named.name(&path),
        };
        let is_repository = is_dir && entry.file_name() == GIT;
        if is_repository || (left_out && !is_named()) || outside.iter().any(|dir| entry.path() == dir) {
            if is_dir {
                entries.skip_current_dir();
            }
            continue;
        }
        if entry.path_is_symlink() {
            let target = fs_err::canonicalize(entry.path())?;
            if !allowed.iter().any(|place| target.starts_with(place)) {
                return Err(leads_out(&root, entry.path(), &target));
            }
        }
        if !entry.file_type().is_file() && !is_dir {
            return Err(Error::file(entry.path(), fs::NO_FILE));
        }
        if is_dir && !left_out && entry.depth() > 0 && fs_err::read_dir(entry.path())?.next().is_none() {
            found.empty.insert(path.clone());
        }
        if !is_dir {
            found.files.insert(path.clone(), Digest::of_file(entry.path())?);
            if left_out {
                found.left_out.insert(path);
            }
        }
        found.looked_at.push(entry.into_path());
    }
    found.looked_at.extend(ignored.into_iter().flat_map(|ignored| ignored.read));
    Ok(found)
}

/// Digest over the files of a source that count whatever the recipe names.
pub(crate) fn source_digest(files: &BTreeMap<String, Digest>, left_out: &BTreeSet<String>) -> Digest {
    let counted = files.iter().filter(|(path, _)| !left_out.contains(*path));
    counted.fold(DigestBuilder::default(), |all, (path, digest)| all.field(path).field(digest.as_bytes())).finish()
}

/// The directory of version control.
const GIT: &str = ".git";

/// What a recipe names of its source, one way or another.
struct Named<'a> {
    inputs: Vec<Inputs>,
    sources: BTreeSet<&'a str>,
}

impl<'a> Named<'a> {
    fn by(recipe: &'a Recipe) -> Result<Self> {
        let builds = recipe.components.iter().filter_map(|component| component.build.as_ref());
        let of_builds = builds.filter(|build| build.inputs.is_some()).map(BuildSpec::reads);
        let of_generators = recipe.groups.iter().filter_map(|group| group.generator.as_ref()).map(Generator::reads);
        let of_structures = recipe.host_structures().map(|(_, structures)| structures.reads());
        let inputs = of_builds.chain(of_generators).chain(of_structures).collect::<Result<_>>()?;
        let sources = recipe.groups.iter().flat_map(|group| &group.sources).map(String::as_str).collect();
        Ok(Self { inputs, sources })
    }

    fn may_name_below(&self, dir: &str) -> bool {
        let is_below = |source: &&str| source.strip_prefix(dir).is_some_and(|rest| rest.starts_with('/'));
        self.sources.iter().any(is_below) || self.inputs.iter().any(|inputs| inputs.may_name_below(dir))
    }

    fn name(&self, path: &str) -> bool {
        self.sources.contains(path) || self.inputs.iter().any(|inputs| inputs.name(path))
    }
}

/// The setting with places that links of a source may lead to.
const ALLOWED: &str = "source-links";

fn leads_out(root: &Path, link: &Path, target: &Path) -> Error {
    let link = fs::relative(root, link).unwrap_or_else(|_| link.display().to_string());
    Error::file(root, format!("the link {link} of the source leads out of it"))
        .detail(format!("to: {}", target.display()))
        .hint("put a copy there; or, if you trust the source with that place, name it in the setting `source-links`")
}

fn leads_nowhere(error: &walkdir::Error) -> bool {
    let is_link = error.path().and_then(|path| path.symlink_metadata().ok()).is_some_and(|data| data.is_symlink());
    let is_missing = error.io_error().is_some_and(|error| error.kind() == std::io::ErrorKind::NotFound);
    is_link && (is_missing || error.loop_ancestor().is_some())
}

/// The source tree on disk.
pub(crate) fn source_root(recipe: &Recipe, fetched: Option<PathBuf>) -> Result<PathBuf> {
    match (&recipe.source, fetched) {
        (Source::Path(path), _) => {
            let root = recipe.dir.join(path);
            match root.is_dir() {
                true => Ok(root),
                false => Err(Error::recipe(format!("the source {} is not a directory", root.display()))),
            }
        }
        (_, Some(root)) => Ok(root),
        (_, None) => Err(Error::bug("a source was resolved before it was fetched")),
    }
}
