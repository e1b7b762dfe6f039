//! The lock beside a recipe: read, settled with what the recipe asks for today, written.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::dependencies::{asked, choose};
use super::locate::{Located, Origin, files_noted};
use crate::arch::CudaVersion;
use crate::error::{Error, Result};
use crate::fs;
use crate::lock::{
    Change, Kept, LOCK_EDITION, LOCK_FILE, Lock, LockedDependencies, LockedHost, LockedPackage, LockedPart,
    LockedSource, LockedVariant, LockedWheel, Settled, Update, kept, settle,
};
use crate::manifest::Manifests;
use crate::printable::word;
use crate::recipe::{self, HostVariant, Recipe, Selection, Source, SourcePart};
use crate::toolchain::{PartDigests, PinnedToolchain, Pins, Store, tree_digest, without_login};
use crate::ui::Ui;

/// Who chooses packages of channels, where those of the lock are not what the recipe asks for.
#[derive(Clone, Copy)]
pub(crate) enum Choice<'a> {
    /// The channels are asked.
    Channels {
        /// Where they are asked from.
        store: &'a Store,
        /// No network is used.
        offline: bool,
        /// Who is told of it.
        ui: &'a Ui,
    },
    /// Nobody: the lock is refused, or nobody looks at them.
    Nobody,
}

impl Choice<'_> {
    /// The packages that hold for what is asked.
    fn packages(
        self,
        recipe: &Recipe,
        host: Option<&HostVariant>,
        asked: &LockedDependencies,
        old: Option<&Lock>,
        update: &Update,
    ) -> Result<Vec<LockedPackage>> {
        match (kept(old, host, asked, update), self) {
            (Kept::All(old), _) => Ok(old.packages.clone()),
            // Those of before: that something else is asked for is told anyhow.
            (_, Choice::Nobody) => {
                let before = old.and_then(|old| old.given_to(host));
                Ok(before.map(|before| before.packages.clone()).unwrap_or_default())
            }
            (Kept::Prefer(preferred), Choice::Channels { store, offline, ui }) => {
                choose(recipe, asked, &preferred, store, offline, ui)
            }
        }
    }
}

/// The lock of a recipe: the one beside it, and the one that holds.
pub(crate) struct LockState {
    /// Where it is, or would be.
    pub path: PathBuf,
    text: LockText,
    /// Whether there is one.
    pub exists: bool,
    /// The recipe came with the binary, so nothing is written beside it.
    embedded: bool,
    pub settled: Settled,
    /// The pins of the recipe's tools: with the libraries that it uses.
    pins: Pins,
}

impl LockState {
    /// Reads the lock beside a recipe and settles it with what the recipe asks for.
    ///
    /// # Errors
    /// The lock cannot be read, or the files of a fetched commit are not the locked ones.
    pub(crate) fn of(
        located: &Located,
        manifests: &Manifests,
        pins: &Pins,
        update: &Update,
        choice: Choice<'_>,
    ) -> Result<Self> {
        let path = located.file.parent().unwrap_or(Path::new(".")).join(LOCK_FILE);
        let shown = path.strip_prefix("./").unwrap_or(&path).to_owned();
        let exists = path.is_file();
        let text = match exists {
            true if *update == Update::All => fs::read_to_string(&path).unwrap_or_default(),
            true => fs::read_to_string(&path)?,
            false => String::new(),
        };
        let old = match exists {
            true if *update == Update::All => Lock::parse(&text, LOCK_FILE).ok(),
            true => Some(Lock::parse(&text, &shown.display().to_string())?),
            false => None,
        };
        let text = LockText { path: shown.clone(), text };
        let asked = Asked::of(located, manifests, pins);
        if let Some(old) = &old {
            right_digests(old, &text, &asked.pins, update)?;
        }
        let mut fresh = asked.lock(located)?;
        let own = located.recipes.own();
        if let Some(asked) = &mut fresh.dependencies {
            asked.packages = choice.packages(own, None, asked, old.as_ref(), update)?;
        }
        for LockedVariant { host, dependencies: asked } in &mut fresh.variants {
            asked.packages = choice.packages(own, Some(host), asked, old.as_ref(), update)?;
        }
        if *update == Update::Nothing {
            same_files(old.as_ref(), &fresh)?;
        }
        let settled = settle(old.as_ref(), fresh, update);
        let embedded = located.origin == Origin::Embedded;
        Ok(Self { path: shown, text, exists, embedded, settled, pins: asked.pins })
    }

    /// Refuses a lock that is absent or would change.
    pub(crate) fn must_hold(&self) -> Result<()> {
        let path = self.path.display();
        let hint = "run `simpack lock` on the recipe and commit the file";
        if !self.exists {
            return Err(Error::stale(format!("there is no {path}")).hint(hint));
        }
        if self.settled.changes.is_empty() {
            return Ok(());
        }
        let error = Error::stale(format!("{path} would change"));
        Err(self.settled.changes.iter().fold(error, |error, change| error.detail(change_in_words(change))).hint(hint))
    }

    /// Whether there is nothing to write.
    pub(crate) fn is_current(&self) -> bool {
        self.embedded || self.exists && self.settled.changes.is_empty()
    }

    /// Writes the lock when it is new or has changed; answers whether it did.
    pub(crate) fn write(&self) -> Result<bool> {
        if self.is_current() {
            return Ok(false);
        }
        fs::write_atomic(&self.path, self.settled.lock.text()?.as_bytes())?;
        Ok(true)
    }

    /// Writes the lock before a build; answers what to say about it. A recipe that cannot be written
    /// beside is built all the same.
    pub(crate) fn keep(&self) -> Option<String> {
        let path = self.path.display();
        match self.write() {
            Ok(false) => None,
            Ok(true) if !self.exists => Some(format!("lock  {path} written: commit it")),
            Ok(true) => {
                let lines: Vec<String> =
                    self.settled.changes.iter().map(|change| format!("  {}", change_in_words(change))).collect();
                Some(format!("lock  {path} has changed with its recipe\n{}", lines.join("\n")))
            }
            Err(error) => Some(format!("lock  {path} is not written: {error}")),
        }
    }

    /// The pins with the lock's files in the place of their own.
    pub(crate) fn pins(&self) -> Result<Pins> {
        let mut pins = self.pins.clone();
        for tool in &self.settled.lock.tools {
            pins.replace(&tool.name, &tool.wheels, |wheel| self.text.place(wheel))?;
        }
        Ok(pins)
    }
}

/// The text of a lock, in which people look for what is wrong.
struct LockText {
    path: PathBuf,
    text: String,
}

impl LockText {
    /// Where the digest of a file stands: `simpack.lock:16`; none when it is not in the lock.
    fn place(&self, wheel: &LockedWheel) -> Option<String> {
        let digest = wheel.sha256.to_string();
        let line = self.text.lines().position(|line| line.contains(&digest))? + 1;
        Some(format!("{}:{line}", self.path.display()))
    }
}

/// A package index never gives two files one name: where the lock has other bytes for a file than this simpack's pins,
/// the lock is wrong, and nothing need be fetched to know.
fn right_digests(lock: &Lock, text: &LockText, pins: &Pins, update: &Update) -> Result<()> {
    for tool in lock.tools.iter().filter(|tool| !update.names(&tool.name)) {
        let Ok(pinned) = pins.get(&tool.name) else { continue };
        for wheel in tool.wheels.iter().filter(|wheel| !update.names(&wheel.project)) {
            let right = pinned
                .locked()
                .wheels
                .into_iter()
                .find(|right| (&right.version, &right.file) == (&wheel.version, &wheel.file));
            let Some(right) = right.filter(|right| (right.sha256, right.size) != (wheel.sha256, wheel.size)) else {
                continue;
            };
            let place = text.place(wheel).unwrap_or_else(|| text.path.display().to_string());
            let dir = text.path.parent().filter(|dir| !dir.as_os_str().is_empty());
            let recipe = dir.map(|dir| format!(" {}", word(&dir.display().to_string()))).unwrap_or_default();
            return Err(Error::stale(format!("{place}: the digest of {} is wrong", wheel.file))
                .detail(format!("the lock says  sha256 {}, {} bytes", wheel.sha256, wheel.size))
                .detail(format!("the file has   sha256 {}, {} bytes", right.sha256, right.size))
                .hint("take the lock back from version control if nobody meant to change it")
                .hint(format!("or write this entry anew: simpack lock{recipe} --update {}", wheel.project)));
        }
    }
    Ok(())
}

/// A difference in words.
pub(crate) fn change_in_words(change: &Change) -> String {
    let word = |text: &Option<String>| text.as_deref().unwrap_or("nothing").to_owned();
    format!("{}: {} -> {}", change.what, word(&change.locked), word(&change.now))
}

/// The files of a source must be those that were locked with it.
fn same_files(old: Option<&Lock>, fresh: &Lock) -> Result<()> {
    let (Some(old), Some(fresh)) = (old.and_then(|old| old.source.as_ref()), fresh.source.as_ref()) else {
        return Ok(());
    };
    let (what, locked, found) = match (old, fresh) {
        (
            LockedSource::Git { url, rev, tree: Some(locked) },
            LockedSource::Git { url: now_url, rev: now_rev, tree: Some(found) },
        ) if url == now_url && rev == now_rev => (format!("{url} at {rev}"), locked, found),
        (
            LockedSource::Composed { tree: Some(locked), parts },
            LockedSource::Composed { tree: Some(found), parts: now },
        ) if parts == now => ("the source tree".to_owned(), locked, found),
        _ => return Ok(()),
    };
    if locked == found {
        return Ok(());
    }
    Err(Error::recipe(format!("{what} has other files than the lock says"))
        .detail(format!("locked  {locked}"))
        .detail(format!("found   {found}"))
        .hint("somebody changed the lock or the repository: find out which; `simpack lock --update source` accepts it"))
}

/// What the recipe and the pins say today. The command line's choices do not count: the lock is the recipe's.
pub(crate) fn fresh_lock(located: &Located, manifests: &Manifests, pins: &Pins) -> Result<Lock> {
    Asked::of(located, manifests, pins).lock(located)
}

/// What a recipe asks for, whatever was chosen of it on the command line.
struct Asked {
    recipe: Recipe,
    /// Its CUDA releases, ascending; none where it compiles for none.
    cuda: Vec<CudaVersion>,
    /// Those of them whose compiler is pinned.
    pinned: Vec<CudaVersion>,
    /// The pins, with the libraries that it uses.
    pins: Pins,
}

impl Asked {
    fn of(located: &Located, manifests: &Manifests, pins: &Pins) -> Self {
        let Located { text, path, file, fetched, looked_at, .. } = located;
        let dir = file.parent().unwrap_or(Path::new("."));
        let files = files_noted(dir, fetched.as_deref(), looked_at);
        let own = recipe::load(text, path, dir, &*files, manifests, &Selection::default());
        let recipe = own.unwrap_or_else(|_| located.recipes.own().clone());
        let matrix = recipe::parse(text, path).map(|file| file.matrix).unwrap_or_default();
        let mut cuda: Vec<_> = matrix.cuda.iter().flatten().map(|release| release.value).collect();
        cuda.push(recipe.cuda);
        cuda.sort();
        cuda.dedup();
        if !recipe.is_cuda() {
            cuda.clear();
        }
        let mut pins = pins.clone();
        let pinned: Vec<_> = cuda.iter().copied().filter(|release| matrix.is_pinned(*release)).collect();
        for release in &pinned {
            pins.add_libraries(*release, recipe.toolkit_libraries());
        }
        Self { recipe, cuda, pinned, pins }
    }

    /// The lock that holds where there is none yet.
    fn lock(&self, located: &Located) -> Result<Lock> {
        let Self { recipe, cuda, pinned, pins } = self;
        let dir = located.file.parent().unwrap_or(Path::new("."));
        let is_pinned = |pin: &&PinnedToolchain| pin.cuda.is_some_and(|release| pinned.contains(&release));
        let mut names: BTreeSet<String> = pins.all().iter().filter(is_pinned).map(|pin| pin.name.clone()).collect();
        let (host, tools) = host_tools(recipe);
        names.extend(tools.iter().map(|name| (*name).to_owned()));
        let tools = names.iter().map(|name| Ok(pins.get(name)?.locked())).collect::<Result<Vec<_>>>()?;
        let source = source(&recipe.source, dir, located.fetched.as_deref())?;
        let mut needs = asked(recipe);
        let dependencies = needs.remove(&None);
        let variants =
            needs.into_iter().filter_map(|(host, dependencies)| Some(LockedVariant { host: host?, dependencies }));
        let (edition, cuda, variants) = (LOCK_EDITION, cuda.clone(), variants.collect());
        Ok(Lock { edition, cuda, host, source, tools, dependencies, variants })
    }
}

/// The host compiler of a recipe that builds for the host, and the pinned tools for it.
fn host_tools(recipe: &Recipe) -> (Option<LockedHost>, Vec<&'static str>) {
    let mut builds = recipe.components.iter().filter_map(|component| component.build.as_ref());
    if builds.all(|build| build.driver.system().tools().is_empty()) {
        // The compiler that nvcc calls may be held to a glibc all the same.
        let held = recipe.host.system_glibc().filter(|_| recipe.is_cuda());
        return (None, held.and_then(|_| recipe.host.pinned()).into_iter().collect());
    }
    let mut tools: Vec<_> = recipe.build_tools().into_iter().collect();
    tools.extend(recipe.host.pinned());
    (Some(LockedHost::from(&recipe.host)), tools)
}

fn source(source: &Source, dir: &Path, fetched: Option<&Path>) -> Result<Option<LockedSource>> {
    let tree = || fetched.map(tree_digest).transpose();
    Ok(match without_login(source) {
        Source::Path(_) => None,
        Source::Git { url, rev } => Some(LockedSource::Git { url, rev, tree: tree()? }),
        Source::Url { url, sha256 } => Some(LockedSource::Url { url, sha256 }),
        Source::Pypi { name, version, sha256 } => Some(LockedSource::Pypi { name, version, sha256 }),
        Source::Composed(parts) => {
            let part = |part: &SourcePart| {
                let PartDigests { overlay, patches } = PartDigests::of(part, dir)?;
                let of = part.source.as_ref().map(|of| source_of_part(of, dir)).transpose()?.flatten();
                Ok(LockedPart { into: part.into.clone(), overlay, patches, source: of })
            };
            Some(LockedSource::Composed { tree: tree()?, parts: parts.iter().map(part).collect::<Result<_>>()? })
        }
    })
}

/// The digest over the whole tree speaks for its files.
fn source_of_part(part: &Source, dir: &Path) -> Result<Option<LockedSource>> {
    source(part, dir, None)
}
