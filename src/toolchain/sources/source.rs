//! The sources of recipes in the user's cache: each fetched and unpacked once, whole or not at all.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use url::Url;

use super::super::store::{Store, remove_leftovers};
use super::{archive, git, releases};
use crate::error::{Error, ErrorKind, Result};
use crate::fs::{Digest, DigestBuilder, flush, set_mode, with_lock_or_wait, write_atomic};
use crate::index_page::{Link, file_name, shown};
use crate::recipe::{Source, SourcePart};
use crate::toolchain::transfer::fetch::{Event, Fetcher, Goal, Progress};
use crate::toolchain::transfer::settings::IndexSettings;
use crate::ui::{Ui, size};

/// Written last beside a tree: a tree with it is whole. It is no part of the source.
const MARK: &str = "source.json";

/// Raised when unpacking changes, so that old trees are not used.
const LAYOUT: &str = "1";

/// What to do about a file whose digest is not the recipe's.
const OTHERWISE: &str = "the recipe's `sha256` names other bytes: find out which of the two is right";

/// What `source.json` says; written by simpack, not by people.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Mark {
    schema: u32,
    key: Digest,
    source: Source,
    /// Where the same bytes were found to be, too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    also: Vec<Source>,
    /// Directory of the files below the mark's.
    root: String,
}

impl Mark {
    fn is_from(&self, source: &Source) -> bool {
        let source = without_login(source);
        self.source == source || self.also.contains(&source)
    }

    fn write(&self, dir: &Path) -> Result<()> {
        let text = serde_json::to_string_pretty(self)
            .map_err(|error| Error::bug("a source's description does not print as JSON").because(error))?;
        write_atomic(&dir.join(MARK), text.as_bytes())
    }
}

impl Store {
    /// The root of a recipe's source tree in `<cache>/sources/`, fetched when it is not here. The same
    /// bytes are the same tree, whatever their address was.
    ///
    /// # Errors
    /// It cannot be fetched, or is not what the recipe pins, or holds what would land outside the tree;
    /// a source that is a path is the caller's.
    pub fn source(&self, source: &Source, ui: &Ui, offline: bool) -> Result<PathBuf> {
        let key = key(source)?;
        let dir = self.place(key);
        // A tree that is whole needs neither lock nor write: the cache may be read-only.
        if let Some(root) = whole(&dir, key) {
            return Ok(root);
        }
        let lock = self.dir.join("sources").join(format!(".{key}.lock"));
        let waiting = || ui.note(format!("source  {}: waiting for another simpack that fetches it", name(source)));
        let made = with_lock_or_wait(&lock, waiting, || match whole(&dir, key) {
            Some(root) => Ok(root),
            None => self.make_source(source, key, ui, offline),
        });
        made.map_err(|error| named(error, &self.dir, source, offline))
    }

    /// Whether a source in the cache is known to lie where the recipe says: it came from there, or was found there since.
    /// An archive is found by its digest alone, whatever address stands beside it.
    pub fn is_confirmed(&self, source: &Source) -> bool {
        if matches!(source, Source::Composed(_)) {
            return source.fetched().into_iter().all(|source| self.is_confirmed(source));
        }
        let found = key(source).ok().and_then(|key| marked(&self.place(key), key));
        found.is_some_and(|(mark, _)| matches!(source, Source::Git { .. }) || mark.is_from(source))
    }

    /// Fetches a source that lies in the cache from the recipe's address once more, to see that it is there; remembers it.
    ///
    /// # Errors
    /// It cannot be had there, or something else is.
    pub fn confirm(&self, source: &Source, ui: &Ui) -> Result<()> {
        if matches!(source, Source::Composed(_)) {
            return source.fetched().into_iter().try_for_each(|source| self.confirm(source, ui));
        }
        if self.is_confirmed(source) {
            return Ok(());
        }
        let key = key(source)?;
        let confirmed = || {
            let aside = tempfile::Builder::new().prefix(&temporary(key)).tempdir_in(self.dir.join("sources"))?;
            self.transfer(source, aside.path().to_owned(), ui, false)?;
            let dir = self.place(key);
            if let Some((mut mark, _)) = marked(&dir, key) {
                mark.also.push(without_login(source));
                // Who may not write into the cache asks again the next time.
                let _ = mark.write(&dir);
            }
            Ok(())
        };
        confirmed().map_err(|error| named(error, &self.dir, source, false))
    }

    /// Where the tree of a key lies.
    fn place(&self, key: Digest) -> PathBuf {
        place_of(&self.dir, key)
    }

    /// Address, without login data, of a file that the user's package index has: what other builders fetch.
    ///
    /// # Errors
    /// There is no index, it cannot be asked, or it has no such file.
    pub fn listed(&self, project: &str, version: &str, sha256: &str, offline: bool) -> Result<String> {
        let settings = match &self.settings {
            Some(settings) => settings.clone(),
            None => IndexSettings::discover()?,
        };
        let fetcher = Fetcher::new(&settings, self.dir.join("downloads"), self.pace, offline);
        let url = releases::address(&fetcher, project, version, digest(sha256)?, &|_| ())?;
        Ok(if url.scheme() == "file" { url.to_string() } else { shown(&url) })
    }

    fn make_source(&self, source: &Source, key: Digest, ui: &Ui, offline: bool) -> Result<PathBuf> {
        self.keep(source, key, &mut |tree| match source {
            Source::Path(_) | Source::Composed(_) => Err(no_path()),
            Source::Git { url, rev } => {
                ui.note(format!("source  {}", name(source)));
                if !self.take_vendored_tree(key, tree)? {
                    git::checkout(url, rev, tree, offline)?;
                }
                Ok(tree.to_owned())
            }
            archive @ (Source::Url { .. } | Source::Pypi { .. }) => self.archive(archive, tree, ui, offline),
        })
    }

    /// Makes a tree beside its place, and gives it its name; `make` fills an empty directory and answers the root in it.
    pub(in crate::toolchain) fn keep(
        &self,
        source: &Source,
        key: Digest,
        make: &mut dyn FnMut(&Path) -> Result<PathBuf>,
    ) -> Result<PathBuf> {
        let (sources, dir) = (self.dir.join("sources"), self.place(key));
        let temporary = temporary(key);
        remove_leftovers(&sources, &temporary);
        let fresh = tempfile::Builder::new().prefix(&temporary).tempdir_in(&sources)?;
        let tree = fresh.path().join("tree");
        fs_err::create_dir(&tree)?;
        let root = make(&tree)?;
        let below = root
            .strip_prefix(fresh.path())
            .map_err(|_| Error::bug("a source tree is not where it was unpacked"))?
            .to_owned();
        // The archive's name for its top directory may be no text; ours is.
        let below = match below.to_str() {
            Some(below) => below.to_owned(),
            None => {
                fs_err::rename(&root, fresh.path().join("root"))?;
                "root".to_owned()
            }
        };
        let mark = Mark { schema: 1, key, source: without_login(source), also: Vec::new(), root: below.clone() };
        flush(fresh.path())?;
        mark.write(fresh.path())?;
        set_mode(fresh.path(), 0o755)?;
        if dir.exists() {
            // Without a mark: it was never whole.
            fs_err::remove_dir_all(&dir)?;
        }
        let fresh = fresh.keep();
        fs_err::rename(&fresh, &dir).inspect_err(|_| {
            let _ = fs_err::remove_dir_all(&fresh);
        })?;
        Ok(dir.join(below))
    }

    /// Brings an archive and unpacks it into `tree`; answers the directory of the files.
    fn archive(&self, source: &Source, tree: &Path, ui: &Ui, offline: bool) -> Result<PathBuf> {
        let downloads = self.dir.join("downloads");
        fs_err::create_dir_all(&downloads)?;
        let sha256 = sha256(source)?;
        self.take_vendored(std::iter::once(sha256))?;
        let kept = downloads.join(sha256.to_string());
        let file = match kept.is_file() {
            true => kept.clone(),
            false => self.transfer(source, downloads, ui, offline)?,
        };
        let bytes = fs_err::metadata(&file)?.len();
        let root = archive::unpack(&file, tree)?;
        // Unpacked and checked: the archive would only take space.
        let _ = fs_err::remove_file(kept);
        ui.note(format!("source  {}, {}", name(source), size(bytes)));
        Ok(root)
    }

    /// The archive of a source, fetched into `downloads` from where the recipe says; a local file stays where it is.
    pub(in crate::toolchain) fn transfer(
        &self,
        source: &Source,
        downloads: PathBuf,
        ui: &Ui,
        offline: bool,
    ) -> Result<PathBuf> {
        let settings = match (&self.settings, source) {
            (Some(settings), _) => settings.clone(),
            (None, Source::Pypi { .. }) => IndexSettings::discover()?,
            (None, Source::Url { url, .. }) if url.starts_with("file:") => IndexSettings::default(),
            // An address needs no index: of pip's settings only those for the connection count.
            (None, _) => IndexSettings::discover().unwrap_or_default(),
        };
        let fetcher = Fetcher::new(&settings, downloads, self.pace, offline);
        let bar = ui.bytes("source", 0);
        bar.set_message(name(source));
        let progress = |event| match event {
            Event::Size(bytes) => bar.set_length(bytes),
            Event::Came(bytes) => bar.inc(bytes),
            Event::Lost(bytes) => bar.dec(bytes),
            Event::Again(line) => ui.note(format!("source  {line}")),
        };
        let fetched = fetch(&fetcher, source, &progress);
        bar.finish_and_clear();
        fetched
    }
}

fn fetch(fetcher: &Fetcher, source: &Source, progress: Progress) -> Result<PathBuf> {
    match source {
        Source::Url { url, sha256 } => {
            let (sha256, url) = (digest(sha256)?, address(url)?);
            let file = file_name(&url).filter(|file| !file.is_empty()).unwrap_or_else(|| shown(&url));
            let goal = Goal { file: &file, sha256, size: None, otherwise: OTHERWISE.into() };
            fetcher.link(&Link { url: url.clone(), sha256: None }, &goal, progress)
        }
        Source::Pypi { name, version, sha256 } => releases::bring(fetcher, name, version, digest(sha256)?, progress),
        Source::Path(_) | Source::Git { .. } | Source::Composed(_) => Err(no_archive()),
    }
}

/// The digest that a recipe pins.
pub(in crate::toolchain) fn sha256(source: &Source) -> Result<Digest> {
    match source {
        Source::Url { sha256, .. } | Source::Pypi { sha256, .. } => digest(sha256),
        Source::Path(_) | Source::Git { .. } | Source::Composed(_) => Err(no_archive()),
    }
}

/// Beginning of the names of what becomes the tree of a key.
fn temporary(key: Digest) -> String {
    format!(".new-{}-", key.short(16))
}

/// Digest that names the tree in the cache.
pub(in crate::toolchain) fn key(source: &Source) -> Result<Digest> {
    let key = DigestBuilder::default().field(LAYOUT);
    Ok(match source {
        Source::Path(_) | Source::Composed(_) => return Err(no_path()),
        // Submodules may be named relative to the repository, so its address counts.
        Source::Git { url, rev } => key.field("git 2").field(url).field(rev).finish(),
        Source::Url { sha256, .. } | Source::Pypi { sha256, .. } => key.field("archive").field(sha256).finish(),
    })
}

/// Where the tree of a key lies in a cache.
pub(in crate::toolchain) fn place_of(cache: &Path, key: Digest) -> PathBuf {
    cache.join("sources").join(key.to_string())
}

/// The root of a tree that is whole.
pub(in crate::toolchain) fn whole(dir: &Path, key: Digest) -> Option<PathBuf> {
    marked(dir, key).map(|(_, root)| root)
}

/// What is said of a tree that is whole, and where it lies.
fn marked(dir: &Path, key: Digest) -> Option<(Mark, PathBuf)> {
    let text = fs_err::read_to_string(dir.join(MARK)).ok()?;
    let mark: Mark = serde_json::from_str(&text).ok()?;
    let root = dir.join(&mark.root);
    (mark.schema == 1 && mark.key == key && root.is_dir()).then_some((mark, root))
}

fn no_path() -> Error {
    Error::bug("a source that is a path needs no fetching")
}

fn no_archive() -> Error {
    Error::bug("only archives are fetched as one file")
}

fn digest(text: &str) -> Result<Digest> {
    text.parse().map_err(|why: String| Error::recipe(why).hint("`sha256sum FILE` prints it"))
}

/// The address of an archive.
fn address(text: &str) -> Result<Url> {
    let hint = "write https://..., http://..., or file:///... with an absolute path";
    let url = Url::parse(text)
        .map_err(|error| Error::recipe(format!("`{text}` is not an address")).because(error).hint(hint))?;
    match url.scheme() {
        "http" | "https" | "file" => Ok(url),
        scheme => Err(Error::recipe(format!("an archive cannot come by `{scheme}:`")).hint(hint)),
    }
}

/// A source for messages.
pub(in crate::toolchain) fn name(source: &Source) -> String {
    match without_login(source) {
        Source::Path(path) => path,
        Source::Git { url, rev } => format!("{url} at {}", rev.get(..12).unwrap_or(&rev)),
        Source::Url { url, .. } => url,
        Source::Pypi { name, version, .. } => format!("{name} {version} of the package index"),
        Source::Composed(parts) => {
            parts.iter().filter_map(|part| part.source.as_ref()).map(name).collect::<Vec<_>>().join(", ")
        }
    }
}

/// What is said of a source that was found by its digest alone.
pub(crate) fn not_asked(source: &Source) -> String {
    format!("source  {}: taken from the cache by its digest, and not asked for there", name(source))
}

/// A source whose addresses hold no login data.
pub fn without_login(source: &Source) -> Source {
    let clean = |text: &str| match Url::parse(text) {
        Ok(url) if matches!(url.scheme(), "http" | "https") => shown(&url),
        _ => text.to_owned(),
    };
    match source {
        Source::Git { url, rev } => Source::Git { url: clean(url), rev: rev.clone() },
        Source::Url { url, sha256 } => Source::Url { url: clean(url), sha256: sha256.clone() },
        Source::Composed(parts) => {
            let part =
                |part: &SourcePart| SourcePart { source: part.source.as_ref().map(without_login), ..part.clone() };
            Source::Composed(parts.iter().map(part).collect())
        }
        other => other.clone(),
    }
}

/// Says which source failed, and what can be done about the cache.
fn named(error: Error, cache: &Path, source: &Source, offline: bool) -> Error {
    let mut said = error.to_string();
    if let Some(cause) = std::error::Error::source(&error) {
        said.push_str(&format!(": {cause}"));
    }
    let kind = if error.kind() == ErrorKind::File { ErrorKind::Toolchain } else { error.kind() };
    let mut named = Error::new(kind, format!("cannot get the source {}", name(source))).detail(said);
    for detail in error.details() {
        named = named.detail(detail);
    }
    for hint in error.hints() {
        named = named.hint(hint);
    }
    if offline {
        named = named.hint("run the same command once without --offline: the source stays in the cache");
    }
    if error.kind() == ErrorKind::File {
        named = named.hint(format!("the cache is {}; SIMPACK_CACHE_DIR names another", cache.display()));
    }
    named
}
