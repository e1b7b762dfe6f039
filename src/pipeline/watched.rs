//! What the last build looked at, by stamps: while request, program, environment and all these files are as they were, a build
//! that has nothing to do is known before anything is read.
//!
//! A stamp is trusted only when the file had been left alone for a while before the run began that read it: what
//! changes in the same instant as it is read could change again without another time stamp. Until then
//! everything is read and digested.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use super::inputs::BuildInputs;
use super::request::BuildRequest;
use super::unchanged;
use crate::config;
use crate::fs::{self, Digest, DigestBuilder, Stamp};
use crate::project::RECIPE_FILE;

/// File of the work directory.
const FILE: &str = "watched.json";
/// Version of that file.
const SCHEMA: u32 = 1;
/// Directories of data that goes before what is in the program.
const DATA: [&str; 3] = ["manifests", "templates", "recipes"];
/// Variables that shells set anew for every command, and that nothing here reads.
const RESTLESS: [&str; 4] = ["_", "OLDPWD", "PWD", "SHLVL"];

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Watched {
    schema: u32,
    /// Digest of what was asked, by which program, where, and in which environment.
    asked: Digest,
    /// What follows from it and from the files: as [`unchanged::origin`] says.
    from: Digest,
    /// Every file and directory that was looked at or for; none where there is nothing.
    paths: BTreeMap<String, Option<Stamp>>,
}

/// What [`unchanged::origin`] would answer, if nothing of what the last build looked at has changed.
pub(crate) fn watched_origin(request: &BuildRequest) -> Option<Digest> {
    let text = std::fs::read(request.work.join(FILE)).ok()?;
    let last: Watched = serde_json::from_slice(&text).ok()?;
    let is_same = last.schema == SCHEMA
        && asked(request)? == last.asked
        && last.paths.iter().all(|(path, stamp)| Stamp::of(Path::new(path)) == *stamp);
    is_same.then_some(last.from)
}

/// Remembers what a run looked at that began at `began` and ended with what `from` stands for. Where a file was changed since
/// shortly before, or cannot be watched, nothing is remembered: the next run reads everything.
pub(crate) fn remember_watched(from: Digest, ground: &BuildInputs, request: &BuildRequest, began: SystemTime) {
    let file = request.work.join(FILE);
    let text = watched(from, ground, request, began).and_then(|watched| serde_json::to_vec(&watched).ok());
    // What is left of an earlier run does no harm, and this file only saves time.
    let _ = match text {
        Some(text) => fs::write_renamed(&file, &text).ok(),
        None => std::fs::remove_file(&file).ok(),
    };
}

fn watched(from: Digest, ground: &BuildInputs, request: &BuildRequest, began: SystemTime) -> Option<Watched> {
    // A lock that is to be written, and cannot, is told each time.
    if !ground.lock.is_current() {
        return None;
    }
    let mut looked_at: Vec<PathBuf> = ground.looked_at.clone()?;
    looked_at.extend(config::current().file.clone());
    for dir in DATA.map(Path::new) {
        looked_at.push(dir.to_owned());
        // Recipes have their own files; here it counts which there are.
        if dir.is_dir() && dir != Path::new("recipes") {
            looked_at.extend(below(dir)?);
        }
    }
    looked_at.extend(request.recipe.iter().flat_map(|asked| [asked.into(), Path::new("recipes").join(asked)]));
    looked_at.push(RECIPE_FILE.into());
    let mut paths = BTreeMap::new();
    for path in looked_at {
        let path = std::path::absolute(path).ok()?;
        let stamp = Stamp::of(&path);
        if stamp.as_ref().is_some_and(|stamp| !stamp.is_settled_before(began)) {
            return None;
        }
        paths.insert(path.to_str()?.to_owned(), stamp);
    }
    Some(Watched { schema: SCHEMA, asked: asked(request)?, from, paths })
}

/// Everything below a directory.
pub(crate) fn below(dir: &Path) -> Option<Vec<PathBuf>> {
    walkdir::WalkDir::new(dir).follow_links(true).into_iter().map(|entry| Some(entry.ok()?.into_path())).collect()
}

/// Digest over the request, the program, the directory it runs in and its environment, which has the settings, too.
fn asked(request: &BuildRequest) -> Option<Digest> {
    let mut digest = DigestBuilder::default()
        .field("simpack-asked 1")
        .field(unchanged::program()?)
        .field(std::env::current_dir().ok()?.as_os_str().as_encoded_bytes())
        .field(format!("{request:?}"));
    let mut variables: Vec<_> = std::env::vars_os().collect();
    variables.sort();
    for (name, value) in variables.iter().filter(|(name, _)| !RESTLESS.iter().any(|restless| name == restless)) {
        digest = digest.field(name.as_encoded_bytes()).field(value.as_encoded_bytes());
    }
    Some(digest.finish())
}
