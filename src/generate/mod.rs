//! Generates recipes for other package managers and build systems from one model.
//!
//! [`Model`] is the resolved recipe, one entry a CUDA release, and the packages that simpack itself would make of it. Each
//! target is a pure function from the model to a [`FileSet`]. The texts are templates, data below `templates/generate`;
//! what a template prints goes through an escaping filter of its target, or it is an error.

mod conda;
mod docs;
mod easybuild;
mod escape;
mod files;
mod generators;
mod github;
mod gitlab;
mod globs;
mod integrity;
mod interface;
mod kernel_table;
mod model;
mod nix;
mod render;
mod spack;
mod structures;
mod target;

pub use escape::{
    FILLED, cmake, easyconfig, github_text, markdown, nix_string, pkg_config, python, shell, shell_filled, yaml,
    yaml_recipe,
};
pub use files::{Difference, FileSet, MARK, Status, is_marked};
pub use github::matrix;
pub use gitlab::pipeline;
pub use globs::extended;
pub use integrity::sri;
pub use kernel_table::KernelTable;
pub use model::{
    Axis, AxisValue, Build, BuildVariant, CopyBuild, Group, Host, Library, Listed, Model, ModelSource, Needed, Output,
    Release, Revision, Use, library_base, licence_ids,
};
pub use render::Templates;
pub use structures::with_structures;
pub use target::Target;
