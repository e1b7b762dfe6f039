//! `simpack vendor`: everything that a lock names, in one directory for machines without a network.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Serialize;

use crate::amount::count;
use crate::data::Data;
use crate::error::{Error, Result};
use crate::fs;
use crate::lock::Update;
use crate::manifest::Manifests;
use crate::printable;
use crate::project::{Choice, LockState, RecipeRequest, locate, package_files};
use crate::toolchain::{Store, Vendored, VendoredFile, VendoredTree};
use crate::ui::{Ui, size};

/// What is asked of the verb.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VendorRequest {
    /// Recipe: a directory, a file, or an embedded name.
    pub recipe: Option<String>,
    /// The directory.
    pub output: PathBuf,
    /// Refuse to differ from the recipe's lock.
    pub locked: bool,
    /// Fetch nothing.
    pub offline: bool,
}

/// The answer of the verb as JSON.
#[derive(Serialize, JsonSchema)]
pub struct VendorAnswer {
    /// Always 1.
    schema: u32,
    /// The directory.
    path: String,
    /// The lock whose files it holds.
    lock: String,
    /// Files, sorted by name; each lies below `files/` under its digest.
    files: Vec<VendoredFile>,
    /// Trees of repositories.
    trees: Vec<VendoredTree>,
}

/// Brings everything that the lock of a recipe names into a directory; answers the exit code.
///
/// # Errors
/// The recipe has mistakes, the directory holds something else, or a file cannot be had.
pub fn vendor(request: &VendorRequest, ui: &Ui) -> Result<u8> {
    let (offline, data) = (request.offline, Data::here());
    let manifests = Manifests::load(&data)?;
    let store = Store::open(fs::cache_dir()?)?;
    let asked = RecipeRequest { recipe: request.recipe.clone(), offline, ..RecipeRequest::default() };
    let located = locate(&asked, &data, &manifests, &store, ui)?;
    let choice = match request.locked {
        true => Choice::Nobody,
        false => Choice::Channels { store: &store, offline, ui },
    };
    let state = LockState::of(&located, &manifests, store.pins(), &Update::Nothing, choice)?;
    if request.locked {
        state.must_hold()?;
    }
    if let Some(note) = state.keep() {
        ui.note(note);
    }
    let pins = state.pins()?;
    let store = store.pins_from(pins);
    let (lock, recipe) = (&state.settled.lock, located.recipes.own());
    let tools: Vec<String> = lock.tools.iter().map(|tool| tool.name.clone()).collect();
    let packages = package_files(recipe, lock)?;
    if request.output.is_file() {
        return Err(Error::usage(format!("{} is a file", request.output.display())));
    }
    let Vendored { files, trees, .. } =
        store.vendor(&tools, Some(&recipe.source), &packages, &request.output, (ui, offline))?;
    let answer = VendorAnswer {
        schema: 1,
        path: request.output.display().to_string(),
        lock: state.path.display().to_string(),
        files,
        trees,
    };
    if !ui.json(&answer)? {
        let bytes = answer.files.iter().fold(0_u64, |sum, file| sum.saturating_add(file.size));
        let trees =
            if answer.trees.is_empty() { String::new() } else { format!(", {}", count(answer.trees.len(), "tree")) };
        let dir = printable::word(&answer.path).into_owned();
        ui.say(format!(
            "{} ({}){trees} in {}/, all that {} names\nthere: SIMPACK_VENDOR_DIR={dir} simpack build --offline --locked",
            count(answer.files.len(), "file"),
            size(bytes),
            answer.path,
            answer.lock,
        ));
    }
    Ok(0)
}
