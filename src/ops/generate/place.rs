//! What of the machine that generates enters texts.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::generate::Revision;

/// What to do about a recipe of which a target has no texts.
pub(super) const WITHOUT_RECIPE: &str =
    "`simpack build` makes its packages, and `simpack generate github` a workflow that calls it";

/// What of this machine enters texts.
pub(super) struct Place {
    /// The source.
    pub source: PathBuf,
    /// Way from the generated files to the source.
    pub output: String,
    /// Way from them to the recipe's directory.
    pub recipe_dir: String,
    /// The recipe's directory below the current one.
    pub recipe: String,
    /// Licence texts at the top of the source.
    pub licences: Vec<String>,
    /// Addresses of what a package index has, by the directory of the source tree that it becomes.
    pub addresses: BTreeMap<String, String>,
    /// Where workflows install simpack from.
    pub simpack: Option<Revision>,
}
