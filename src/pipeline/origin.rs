//! What a build follows from: a digest over all of it, and where to look whether it has changed.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::inputs::BuildInputs;
use super::request::BuildRequest;
use crate::config;
use crate::fs::{self, Digest, DigestBuilder, EntryKind};
use crate::lastrun::{Watched, asked, below, program};
use crate::project::{RECIPE_FILE, SYMBOLS_DIR};

/// Directories of data that goes before what is in the program.
const DATA: [&str; 3] = ["manifests", "templates", "recipes"];

/// Digest over everything that decides what a build gives: the program, what it was asked for, the resolved
/// recipe, the tools and every file of the source. The plan and its keys follow from these, so it need not be
/// made. None when a part cannot be read, and then a build is not compared.
pub(super) fn origin(inputs: &BuildInputs, request: &BuildRequest) -> Option<Digest> {
    let mut digest = DigestBuilder::default()
        .field("simpack-build 4")
        .field(program()?)
        .field(serde_json::to_vec(&inputs.recipe).ok()?)
        .field(serde_json::to_vec(&inputs.plan_inputs.tools).ok()?)
        .field(inputs.epoch.to_le_bytes())
        .field(format!("{:?}", inputs.plan_inputs.cuda_builds))
        .field(format!("{:?}", (&request.components, request.sandbox, &request.allow, &request.warn, &request.deny)));
    for (path, content) in &inputs.plan_inputs.sources {
        digest = digest.field(path).field(content.as_bytes());
    }
    // Manifests and templates on disk go before those in the program.
    // What earlier releases promised lies beside the recipe.
    let promised = inputs.recipe.dir.join(SYMBOLS_DIR);
    for dir in [Path::new("manifests"), Path::new("templates"), &promised].into_iter().filter(|dir| dir.is_dir()) {
        for entry in fs::walk(dir).ok()? {
            if let EntryKind::File { .. } = entry.kind {
                digest = digest.field(&entry.path).field(Digest::of_file(&dir.join(&entry.path)).ok()?.as_bytes());
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
    for dir in DATA.map(Path::new) {
        looked_at.push(dir.to_owned());
        // Recipes have their own files; here it counts which there are.
        if dir.is_dir() && dir != Path::new("recipes") {
            looked_at.extend(below(dir)?);
        }
    }
    looked_at.extend(request.recipe.iter().flat_map(|asked| [asked.into(), Path::new("recipes").join(asked)]));
    looked_at.push(RECIPE_FILE.into());
    Watched::new(asked(request), looked_at, began)
}
