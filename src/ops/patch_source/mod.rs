//! `simpack patch-source`: a recipe's source as a tree that may be changed, and a patch of what was changed in it.

mod run;
mod tree;

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Serialize;

use crate::toolchain::Altered;

pub use run::patch_source;

/// What is asked of the verb.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PatchSourceRequest {
    /// Recipe: a directory, a file, or an embedded name.
    pub recipe: Option<String>,
    /// Which of `[sources.NAME]`; without, `[source]` or the only one.
    pub source: Option<String>,
    /// What is done.
    pub work: SourceWork,
    /// Fetch nothing.
    pub offline: bool,
}

/// What is done with a source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SourceWork {
    /// It is written into this directory, patched and with its overlay.
    Edit(PathBuf),
    /// A patch of this name is made of what differs in a changed tree.
    From {
        /// The changed tree.
        tree: PathBuf,
        /// File name of the patch.
        name: String,
    },
}

/// The answer of the verb as JSON.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct PatchedSource {
    /// Always 1.
    schema: u32,
    /// Directory of the tree.
    tree: String,
    /// The new patch; none with `--edit`, or where nothing was changed.
    patch: Option<String>,
    /// The recipe's patches of this source, in their order; a new one is the last.
    patches: Vec<String>,
    /// What the new patch changes.
    altered: Vec<Altered>,
    /// What was changed in the tree, but is carried by no patch.
    not_carried: Vec<String>,
}
