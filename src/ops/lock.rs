//! `simpack lock`: writes or checks the digests of everything that a build takes from outside.

use schemars::JsonSchema;
use serde::Serialize;

use crate::amount::count;
use crate::data::Data;
use crate::error::{Error, Result};
use crate::fs;
use crate::lock::{Change, Lock, Update, settle};
use crate::manifest::Manifests;
use crate::near::nearest;
use crate::project::{Choice, LockState, RecipeRequest, change_in_words, fresh_lock, locate};
use crate::toolchain::Store;
use crate::ui::Ui;

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

/// Writes or checks the lock of a recipe; answers the exit code.
///
/// # Errors
/// The recipe has mistakes, its source cannot be had, or `check` finds a lock that would change.
pub fn lock(request: &LockRequest, ui: &Ui) -> Result<u8> {
    let data = Data::here();
    let manifests = Manifests::load(&data)?;
    let store = Store::open(fs::cache_dir()?)?;
    let asked = RecipeRequest { recipe: request.recipe.clone(), offline: request.offline, ..RecipeRequest::default() };
    let located = locate(&asked, &data, &manifests, &store, ui)?;
    let choice = match request.check {
        true => Choice::Nobody,
        false => Choice::Channels { store: &store, offline: request.offline, ui },
    };
    let state = LockState::of(&located, &manifests, store.pins(), &request.update, choice)?;
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
        let fresh = fresh_lock(&located, &manifests, store.pins())?;
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
            text.push_str(&format!("  {}\n", change_in_words(change)));
        }
    }
    let lock = &state.settled.lock;
    let wheels: usize = lock.tools.iter().map(|tool| tool.wheels.len()).sum();
    let done = match (written, state.exists) {
        (false, _) => "is up to date",
        (true, false) => "written",
        (true, true) => "updated",
    };
    let given: usize = lock.given().map(|(_, dependencies)| dependencies.packages.len()).sum();
    let packages = if lock.given().next().is_some() { format!(", {}", count(given, "package")) } else { String::new() };
    let source = if lock.source.is_some() { ", the source" } else { "" };
    let (tools, wheels) = (count(lock.tools.len(), "tool"), count(wheels, "wheel"));
    text.push_str(&format!("{path} {done}: {tools}, {wheels}{packages}{source}"));
    text
}
