//! `simpack lock`, and what a build does with the lock beside its recipe.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Serialize;

use super::recipes::{Located, locate};
use super::request::{BuildRequest, CudaSource};
use crate::data::Data;
use crate::error::{Error, Result};
use crate::fs::{self, Digest, DigestBuilder, EntryKind};
use crate::lock::{Change, LOCK_EDITION, Lock, LockedHost, LockedSource, Settled, Update, settle};
use crate::manifest::Manifests;
use crate::near::nearest;
use crate::recipe::{self, BuildDriver, HostToolchain, Recipe, Selection, Source};
use crate::toolchain::{Pins, Store, without_login};
use crate::ui::Ui;

/// Name of the lock beside a recipe.
pub(super) const FILE: &str = "simpack.lock";

/// What is asked of the verb.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LockRequest {
    /// Recipe: a directory, a file, or an embedded name.
    pub recipe: Option<String>,
    /// What may change.
    pub update: Update,
    /// Write nothing; a lock that would change is an error.
    pub check: bool,
    /// Fetch nothing.
    pub offline: bool,
}

/// The answer of the verb as JSON.
#[derive(Serialize, JsonSchema)]
pub struct Answer<'a> {
    /// Always 1.
    schema: u32,
    /// Where the lock is.
    path: String,
    /// Whether it differs from the one that was there.
    changed: bool,
    /// Whether it was written.
    written: bool,
    /// How it differs.
    changes: &'a [Change],
    /// The lock that holds.
    lock: &'a Lock,
}

/// The lock of a recipe: the one beside it, and the one that holds.
pub(super) struct LockState {
    /// Where it is, or would be.
    pub path: PathBuf,
    /// Whether there is one.
    pub exists: bool,
    /// The recipe came with the binary, so nothing is written beside it.
    embedded: bool,
    pub settled: Settled,
}

/// Writes or checks the lock of a recipe; answers the exit code.
///
/// # Errors
/// The recipe has mistakes, its source cannot be had, or `check` finds a lock that would change.
pub fn lock(request: &LockRequest, ui: &Ui) -> Result<u8> {
    let data = Data::here();
    let manifests = Manifests::load(&data)?;
    let store = Store::open(fs::cache_dir()?)?;
    let asked = BuildRequest { recipe: request.recipe.clone(), offline: request.offline, ..BuildRequest::default() };
    let located = locate(&asked, &data, &manifests, &store, ui)?;
    let state = LockState::of(&located, &manifests, store.pins(), &request.update)?;
    if let Update::Name(name) = &request.update {
        known(name, &state.settled.lock)?;
    }
    if request.check {
        state.must_hold()?;
    }
    let written = state.write()?;
    let settled = &state.settled;
    let answer = Answer {
        schema: 1,
        path: state.path.display().to_string(),
        changed: !settled.changes.is_empty(),
        written,
        changes: &settled.changes,
        lock: &settled.lock,
    };
    if !ui.json(&answer)? {
        ui.say(words(&state, written));
        let fresh = fresh(&located, &manifests, store.pins())?;
        for change in settle(Some(&settled.lock), fresh, &Update::All).changes {
            if let Some(note) = newer(&change) {
                ui.note(note);
            }
        }
    }
    Ok(0)
}

/// A wheel that could be updated, in words.
fn newer(change: &Change) -> Option<String> {
    let project = change.what.strip_prefix("wheel ")?;
    let version = |text: &Option<String>| text.as_deref()?.split(' ').next().map(str::to_owned);
    let (locked, now) = (version(&change.locked)?, version(&change.now)?);
    Some(format!("{project} {locked} is locked, this simpack pins {now}: simpack lock --update {project}"))
}

/// Refuses a name that `--update` cannot mean.
fn known(name: &str, lock: &Lock) -> Result<()> {
    let names = lock.names();
    if names.iter().any(|known| known == name) {
        return Ok(());
    }
    let mut error = Error::usage(format!("the lock has no `{name}`"));
    if name.contains('/') {
        error = error.hint(format!("a recipe stands before the option: simpack lock {name} --update"));
    }
    if let Some(near) = nearest(name, names.iter().cloned()) {
        error = error.hint(format!("did you mean `{near}`?"));
    }
    Err(error.hint(format!("it has {}", names.join(", "))))
}

fn words(state: &LockState, written: bool) -> String {
    let path = state.path.display();
    let mut text = String::new();
    if state.exists {
        for change in &state.settled.changes {
            text.push_str(&format!("  {}\n", line(change)));
        }
    }
    let lock = &state.settled.lock;
    let wheels: usize = lock.tools.iter().map(|tool| tool.wheels.len()).sum();
    let done = match (written, state.exists) {
        (false, _) => "is up to date",
        (true, false) => "written",
        (true, true) => "updated",
    };
    let source = if lock.source.is_some() { ", the source" } else { "" };
    text.push_str(&format!("{path} {done}: {} tools, {wheels} wheels{source}", lock.tools.len()));
    text
}

/// A difference in words.
fn line(change: &Change) -> String {
    let word = |text: &Option<String>| text.as_deref().unwrap_or("nothing").to_owned();
    format!("{}: {} -> {}", change.what, word(&change.locked), word(&change.now))
}

impl LockState {
    /// Reads the lock beside a recipe and settles it with what the recipe asks for.
    ///
    /// # Errors
    /// The lock cannot be read, or the files of a fetched commit are not the locked ones.
    pub(super) fn of(located: &Located, manifests: &Manifests, pins: &Pins, update: &Update) -> Result<Self> {
        let path = located.file.parent().unwrap_or(Path::new(".")).join(FILE);
        let shown = path.strip_prefix("./").unwrap_or(&path).to_owned();
        let old = match path.is_file() {
            true if *update == Update::All => {
                fs_err::read_to_string(&path).ok().and_then(|text| Lock::parse(&text, FILE).ok())
            }
            true => Some(Lock::parse(&fs_err::read_to_string(&path)?, &shown.display().to_string())?),
            false => None,
        };
        let exists = path.is_file();
        let fresh = fresh(located, manifests, pins)?;
        if *update == Update::Nothing {
            same_files(old.as_ref(), &fresh)?;
        }
        let settled = settle(old.as_ref(), fresh, update);
        Ok(Self { path: shown, exists, embedded: located.is_embedded(), settled })
    }

    /// Refuses a lock that is absent or would change.
    pub(super) fn must_hold(&self) -> Result<()> {
        let path = self.path.display();
        let hint = "run `simpack lock` on the recipe and commit the file";
        if !self.exists {
            return Err(Error::recipe(format!("there is no {path}")).hint(hint));
        }
        if self.settled.changes.is_empty() {
            return Ok(());
        }
        let error = Error::recipe(format!("{path} would change"));
        Err(self.settled.changes.iter().fold(error, |error, change| error.detail(line(change))).hint(hint))
    }

    /// Whether there is nothing to write.
    pub(super) fn is_current(&self) -> bool {
        self.embedded || self.exists && self.settled.changes.is_empty()
    }

    /// Writes the lock when it is new or has changed; answers whether it did.
    pub(super) fn write(&self) -> Result<bool> {
        if self.is_current() {
            return Ok(false);
        }
        fs::write_atomic(&self.path, self.settled.lock.text()?.as_bytes())?;
        Ok(true)
    }

    /// Writes the lock before a build; answers what to say about it. A recipe that cannot be written
    /// beside is built all the same.
    pub(super) fn keep(&self) -> Option<String> {
        let path = self.path.display();
        match self.write() {
            Ok(false) => None,
            Ok(true) if !self.exists => Some(format!("lock  {path} written: commit it")),
            Ok(true) => {
                let lines: Vec<String> =
                    self.settled.changes.iter().map(|change| format!("  {}", line(change))).collect();
                Some(format!("lock  {path} has changed with its recipe\n{}", lines.join("\n")))
            }
            Err(error) => Some(format!("lock  {path} is not written: {error}")),
        }
    }

    /// The pins with the lock's files in the place of their own.
    pub(super) fn pins(&self, pins: &Pins) -> Result<Pins> {
        let mut pins = pins.clone();
        for tool in &self.settled.lock.tools {
            pins.replace(&tool.name, &tool.wheels)?;
        }
        Ok(pins)
    }

    /// Refuses what the command line chooses beside the lock.
    pub(super) fn refuse_choices(&self, request: &BuildRequest) -> Result<()> {
        let lock = &self.settled.lock;
        let hint = "leave `--locked` out for a build with other compilers than the recipe's";
        if request.cuda_source == CudaSource::System {
            return Err(Error::usage("`--locked` and `--toolchain system` exclude each other")
                .detail("no lock can hold the machine's own nvcc")
                .hint(hint));
        }
        if let Some(cuda) = request.cuda.filter(|cuda| !lock.cuda.contains(cuda)) {
            return Err(Error::usage(format!("CUDA {cuda} is not in {}", self.path.display())).hint(hint));
        }
        let is_system = matches!(lock.host, Some(LockedHost::System { .. }));
        match request.system_host {
            Some(system) if lock.host.is_some() && system != is_system => {
                Err(Error::usage(format!("{} has another host compiler than `--host`", self.path.display())).hint(hint))
            }
            _ => Ok(()),
        }
    }
}

/// The files of a commit must be those that were locked with it.
fn same_files(old: Option<&Lock>, fresh: &Lock) -> Result<()> {
    let (
        Some(LockedSource::Git { url, rev, tree: Some(locked) }),
        Some(LockedSource::Git { url: now_url, rev: now_rev, tree: Some(found) }),
    ) = (old.and_then(|old| old.source.as_ref()), fresh.source.as_ref())
    else {
        return Ok(());
    };
    if url != now_url || rev != now_rev || locked == found {
        return Ok(());
    }
    Err(Error::recipe(format!("{url} at {rev} has other files than the lock says"))
        .detail(format!("locked  {locked}"))
        .detail(format!("found   {found}"))
        .hint("somebody changed the lock or the repository: find out which; `simpack lock --update source` accepts it"))
}

/// What the recipe and the pins say today. The command line's choices do not count: the lock is the recipe's.
fn fresh(located: &Located, manifests: &Manifests, pins: &Pins) -> Result<Lock> {
    let Located { text, path, file, fetched, looked_at, .. } = located;
    let dir = file.parent().unwrap_or(Path::new("."));
    let files = super::recipes::files_noted(dir, fetched.as_deref(), looked_at);
    let own = recipe::load(text, path, dir, &*files, manifests, &Selection::default());
    let own = own.as_ref().unwrap_or(&located.recipe);
    let listed = recipe::parse(text, path).ok().and_then(|file| file.matrix.cuda).unwrap_or_default();
    let mut cuda: Vec<_> = listed.into_iter().map(|release| release.value).collect();
    cuda.push(own.cuda);
    cuda.sort();
    cuda.dedup();
    if own.groups.is_empty() {
        cuda.clear();
    }
    let mut names = BTreeSet::new();
    for pin in pins.all() {
        if pin.cuda.is_some_and(|release| cuda.contains(&release)) {
            names.insert(pin.name.clone());
        }
    }
    let (host, tools) = host_tools(own);
    names.extend(tools.iter().map(|name| (*name).to_owned()));
    let tools = names.iter().map(|name| Ok(pins.get(name)?.locked())).collect::<Result<Vec<_>>>()?;
    Ok(Lock { edition: LOCK_EDITION, cuda, host, source: source(&own.source, fetched.as_deref())?, tools })
}

/// The host compiler of a recipe that builds for the host, and the pinned tools for it.
fn host_tools(recipe: &Recipe) -> (Option<LockedHost>, Vec<&'static str>) {
    let drivers: Vec<BuildDriver> =
        recipe.components.iter().filter_map(|component| Some(component.build.as_ref()?.driver)).collect();
    if drivers.is_empty() {
        return (None, Vec::new());
    }
    let mut tools = Vec::new();
    if drivers.contains(&BuildDriver::Cmake) {
        tools.extend(["cmake", "ninja"]);
    }
    let host = match &recipe.host {
        HostToolchain::Zig { glibc } => {
            tools.push("zig");
            LockedHost::Zig { glibc: *glibc }
        }
        HostToolchain::System { min_cxx } => LockedHost::System { cxx: *min_cxx },
    };
    (Some(host), tools)
}

fn source(source: &Source, fetched: Option<&Path>) -> Result<Option<LockedSource>> {
    Ok(match without_login(source) {
        Source::Path(_) => None,
        Source::Git { url, rev } => Some(LockedSource::Git { url, rev, tree: fetched.map(tree).transpose()? }),
        Source::Url { url, sha256 } => Some(LockedSource::Url { url, sha256 }),
        Source::Pypi { name, version, sha256 } => Some(LockedSource::Pypi { name, version, sha256 }),
    })
}

/// Digest over every file and link of a tree, with execute bits.
fn tree(root: &Path) -> Result<Digest> {
    let mut digest = DigestBuilder::default().field("simpack-tree 1");
    for entry in fs::walk(root)? {
        digest = match entry.kind {
            EntryKind::Directory => continue,
            EntryKind::Link(to) => digest.field("link").field(&entry.path).field(to),
            EntryKind::File { executable, .. } => {
                let bytes = Digest::of_file(&root.join(&entry.path))?;
                let kind = if executable { "program" } else { "file" };
                digest.field(kind).field(&entry.path).field(bytes.as_bytes())
            }
        };
    }
    Ok(digest.finish())
}
