//! `simpack toolchain`: what can be had, what is here, and what exactly it is.

use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::data::Data;
use crate::error::Result;
use crate::lastrun::VersionCache;
use crate::lock::{LOCK_FILE, Update};
use crate::manifest::Manifests;
use crate::project::{Choice, LockState, RecipeRequest, locate};
use crate::table::{Column, Table};
use crate::toolchain::{PinnedToolchain, Provenance, Status, Store, SystemSearch, Toolchain, system_cuda};
use crate::ui::{Ui, size};

/// The name under which `show` looks at the CUDA that is installed on the machine.
const SYSTEM: &str = "system";

#[derive(Serialize)]
struct Listing {
    schema: u32,
    toolchains: Vec<Status>,
}

#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
struct Shown<'a> {
    schema: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<Status>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pins: Option<&'a PinnedToolchain>,
    #[serde(skip_serializing_if = "Option::is_none")]
    program: Option<PathBuf>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cuda: Option<Toolchain>,
    #[serde(skip_serializing_if = "Option::is_none")]
    provenance: Option<Provenance>,
}

/// Lists the pinned toolchains and which of them are in the cache.
///
/// # Errors
/// The data files are wrong or the cache cannot be read.
pub fn list(store: &Store, ui: &Ui) -> Result<()> {
    let toolchains = store.status();
    if ui.json(&Listing { schema: 1, toolchains: toolchains.clone() })? {
        return Ok(());
    }
    let columns = [
        Column::words("name"),
        Column::words("version"),
        Column::number("fetch").spare(0),
        Column::words("cache"),
        Column::words("for"),
    ];
    let row = |status: &Status| {
        let cache = status.unpacked_bytes.map_or("not here".to_owned(), |bytes| format!("{} on disk", size(bytes)));
        [status.name.clone(), version(status), size(status.download_bytes), cache, status.about.clone()]
    };
    let mut text = Table::new(columns).indented().rows(toolchains.iter().map(row)).text();
    let here = toolchains.iter().filter(|status| status.root.is_some()).count();
    text.push_str(&format!("{here} of {} are here", toolchains.len()));
    ui.say(text);
    Ok(())
}

/// Fetches the named toolchains, or all of them; of a recipe, those that its lock names. Wheels are those of
/// the lock of `recipe`, or of the current directory's.
///
/// # Errors
/// A name or the recipe is wrong, or something cannot be fetched.
pub fn fetch(store: Store, names: &[String], recipe: Option<&str>, offline: bool, ui: &Ui) -> Result<()> {
    let here = || Path::new(LOCK_FILE).is_file().then_some(".");
    let (store, all) = match recipe.or_else(here) {
        None => (store, None),
        Some(asked) => {
            let state = locked(asked, &store, offline, ui)?;
            ui.detail(format!("lock       {}", state.path.display()));
            let pins = state.pins()?;
            let tools = state.settled.lock.tools.iter().map(|tool| tool.name.clone()).collect();
            (store.pins_from(pins), recipe.map(|_| tools))
        }
    };
    let all: Vec<String> = all.unwrap_or_else(|| store.pins().all().iter().map(|pin| pin.name.clone()).collect());
    let names = if names.is_empty() { &all } else { names };
    // A wrong name is found before anything is fetched.
    for name in names {
        store.pins().get(name)?;
    }
    let mut lines = Vec::new();
    for name in names {
        let root = store.fetch(name, ui, offline)?;
        lines.push(format!("  {name:<10} {}", root.display()));
    }
    let toolchains = store.status().into_iter().filter(|status| names.contains(&status.name)).collect();
    if !ui.json(&Listing { schema: 1, toolchains })? {
        ui.say(if lines.is_empty() { "the recipe needs none".to_owned() } else { lines.join("\n") });
    }
    Ok(())
}

/// The lock of a recipe, as it holds.
fn locked(recipe: &str, store: &Store, offline: bool, ui: &Ui) -> Result<LockState> {
    let data = Data::here();
    let manifests = Manifests::load(&data)?;
    let asked = RecipeRequest { recipe: Some(recipe.to_owned()), offline, ..RecipeRequest::default() };
    let located = locate(&asked, &data, &manifests, store, ui)?;
    LockState::of(&located, &manifests, store.pins(), &Update::Nothing, Choice::Nobody)
}

/// Shows one toolchain: paths, versions, digests. `system` is the CUDA found through `CUDA_HOME` or
/// `PATH`.
///
/// # Errors
/// There is no such toolchain, or it is not here.
pub fn show(store: &Store, name: &str, ui: &Ui) -> Result<()> {
    let shown = if name == SYSTEM { show_system()? } else { show_pinned(store, name, ui)? };
    if ui.json(&shown)? {
        return Ok(());
    }
    let mut lines = vec![name.to_owned()];
    let mut line = |what: &str, value: String| lines.push(format!("  {what:<10} {value}"));
    if let Some(status) = &shown.status {
        line("for", status.about.clone());
        match &status.root {
            Some(root) => line("root", root.display().to_string()),
            None => line("root", format!("not here ({} to fetch)", size(status.download_bytes))),
        }
    }
    if let Some(program) = &shown.program {
        line("program", program.display().to_string());
    }
    if let Some(cuda) = &shown.cuda {
        line("cuda", cuda.cuda.to_string());
        if shown.status.is_none() {
            line("root", cuda.root.display().to_string());
        }
        line("nvcc", cuda.nvcc.display().to_string());
        let nvrtc = cuda.nvrtc.as_ref().map_or("none".to_owned(), |nvrtc| nvrtc.library.display().to_string());
        line("nvrtc", nvrtc);
        line("digest", cuda.digest.to_string());
        for (part, version) in cuda.versions.iter().filter(|_| shown.pins.is_none()) {
            line("part", format!("{part} {version}"));
        }
    } else if let Some(status) = &shown.status {
        line("digest", status.digest.to_string());
    }
    for wheel in shown.pins.iter().flat_map(|pin| &pin.wheels) {
        line("wheel", format!("{} {}  {}  sha256 {}", wheel.project, wheel.version, size(wheel.size), wheel.sha256));
    }
    ui.say(lines.join("\n"));
    if shown.status.is_some_and(|status| status.root.is_none()) {
        ui.note(format!("next: simpack toolchain fetch {name}"));
    }
    Ok(())
}

fn show_system() -> Result<Shown<'static>> {
    let cuda = system_cuda(&SystemSearch::from_env(), None, &VersionCache::default())?;
    let provenance = Some(cuda.describe());
    Ok(Shown { schema: 1, status: None, pins: None, program: None, cuda: Some(cuda), provenance })
}

fn show_pinned<'a>(store: &'a Store, name: &str, ui: &Ui) -> Result<Shown<'a>> {
    let pin = store.pins().get(name)?;
    let status = store.status().into_iter().find(|status| status.name == name);
    let root = status.as_ref().and_then(|status| status.root.clone());
    let cuda = match (&root, pin.cuda) {
        (Some(_), Some(cuda)) => Some(store.cuda_wheels(cuda, ui, true)?),
        _ => None,
    };
    let program = root.filter(|_| cuda.is_none()).map(|root| root.join(&pin.program));
    let provenance = cuda.as_ref().map(Toolchain::describe);
    Ok(Shown { schema: 1, status, pins: Some(pin), program, cuda, provenance })
}

/// The release of a CUDA toolchain, the version of a tool.
fn version(status: &Status) -> String {
    match status.name.strip_prefix("cuda-") {
        Some(release) => release.to_owned(),
        None => status.versions.values().next().cloned().unwrap_or_default(),
    }
}
