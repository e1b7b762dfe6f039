//! What a build follows from: a digest over all of it, and where to look whether it has changed.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::inputs::BuildInputs;
use super::request::BuildRequest;
use crate::config;
use crate::data::Data;
use crate::fs::{self, Digest, DigestBuilder, EntryKind};
use crate::lastrun::{Watched, asked, below, program};
use crate::project::{RECIPE_FILE, SYMBOLS_DIR};

/// Recipes that go before those in the program.
const RECIPES: &str = "recipes";

/// Digest over everything that decides what a build gives: the program, what it was asked for, the resolved
/// recipe, the tools and every file of the source. The plan and its keys follow from these, so it need not be
/// made. None when a part cannot be read, and then a build is not compared.
pub(super) fn origin(inputs: &BuildInputs, request: &BuildRequest) -> Option<Digest> {
    let mut digest = DigestBuilder::default()
        .field("simpack-build 8")
        .field(program()?)
        .field(serde_json::to_vec(inputs.recipes.as_slice()).ok()?)
        .field(format!("{:?}", inputs.recipes.own().tests))
        .field(serde_json::to_vec(&inputs.plan_inputs.tools).ok()?)
        .field(inputs.epoch.to_le_bytes())
        .field(format!("{:?}", inputs.plan_inputs.cuda_builds))
        .field(format!(
            "{:?}",
            (
                &request.components,
                &request.formats,
                request.sandbox,
                request.incremental,
                &request.allow,
                &request.warn,
                &request.deny
            )
        ));
    // Another key signs anew.
    if let Some(key) = &request.sign {
        digest = digest.field(Digest::of_file(key).ok()?.as_bytes());
    }
    for (path, content) in &inputs.plan_inputs.sources {
        digest = digest.field(path).field(content.as_bytes());
    }
    digest = inputs.plan_inputs.empty_directories.iter().fold(digest, |digest, path| digest.field("empty").field(path));
    // The digest of the user's manifests and templates is among the tools.
    // What earlier releases promised lies beside the recipe.
    let promised = inputs.recipes.own().dir.join(SYMBOLS_DIR);
    if promised.is_dir() {
        for entry in fs::walk(&promised).ok()? {
            if let EntryKind::File { .. } = entry.kind {
                digest = digest.field(&entry.path).field(Digest::of_file(&promised.join(&entry.path)).ok()?.as_bytes());
            }
        }
    }
    Some(digest.finish())
}

/// What a build looked at that began at `began`, if a change of it would be seen.
pub(super) fn watched(inputs: &BuildInputs, request: &BuildRequest, began: SystemTime) -> Option<Watched> {
    // A lock that is to be written, and cannot, is told each time.
    if !inputs.lock.is_current() {
        return None;
    }
    let mut looked_at: Vec<PathBuf> = inputs.looked_at.clone()?;
    looked_at.extend(config::current().file.clone());
    // Recipes have their own files; here it counts which there are.
    looked_at.push(RECIPES.into());
    looked_at.extend(config::current().path("data-dir").map(Path::to_owned));
    for dir in Data::here().chosen_dirs() {
        looked_at.extend(below(&dir)?);
        looked_at.push(dir);
    }
    looked_at.extend(request.recipe.iter().flat_map(|asked| [asked.into(), Path::new(RECIPES).join(asked)]));
    looked_at.extend(request.sign.clone());
    looked_at.push(RECIPE_FILE.into());
    Watched::new(asked(request), looked_at, began)
}
