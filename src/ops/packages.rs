//! Bundles to packages: search paths first, packages and the channel last.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroUsize;
use std::path::Path;

use super::job::Job;
use crate::bundle::{ArtifactKind, Bundle};
use crate::elf;
use crate::error::{Error, Result};
use crate::fs::{self, Digest, EntryKind};
use crate::pack::{self, Surroundings};
use crate::patch::{self, PatchSpec};
use crate::recipe::{ComponentKind, Recipe};

/// A package that was written.
pub(super) struct Packed {
    pub name: String,
    pub version: String,
    pub build: String,
    pub subdir: String,
    pub bytes: u64,
    pub sha256: Digest,
}

/// Sets the search path of every host file of a bundle: `$ORIGIN`-relative to the libraries of the
/// distribution, then the driver directories.
pub(super) fn patch(recipe: &Recipe, bundle: &Bundle) -> Result<()> {
    if !matches!(bundle.manifest.component, ComponentKind::Core | ComponentKind::Rtc) {
        return Ok(());
    }
    for entry in fs::walk(&bundle.root)? {
        let EntryKind::File { .. } = entry.kind else { continue };
        let path = bundle.root.join(&entry.path);
        if elf::is_elf(&fs_err::read(&path)?) {
            let spec = PatchSpec::for_file(&entry.path, &recipe.driver.directories, recipe.driver.tag);
            patch::apply(&path, &spec)?;
        }
    }
    Ok(())
}
