//! Generates recipes for other package managers and build systems from one model.
//!
//! [`Model`] is the resolved recipe, one entry a CUDA release, and the packages that simpack itself would make of it. Each
//! target is a pure function from the model to a [`FileSet`]. The texts are templates, data below `templates/generate`;
//! what a template prints goes through an escaping filter of its target, or it is an error.

mod ci;
mod conda;
mod crossing;
mod escape;
mod files;
mod generators;
mod globs;
mod hpc;
mod integrity;
mod interface;
mod kernels;
mod model;
mod nix;
mod render;
mod target;

pub use ci::github::matrix;
pub use ci::gitlab::pipeline;
pub use escape::{
    FILLED, cmake, easyconfig, github_text, markdown, nix_string, pkg_config, python, shell, shell_filled, yaml,
    yaml_recipe,
};
pub use files::{Difference, FileSet, MARK, Status, is_marked};
pub use globs::{expression, extended};
pub use integrity::sri;
pub use kernels::kernel_table::KernelTable;
pub use kernels::structures::with_structures;
pub use model::{
    Axis, AxisValue, Build, BuildVariant, CopyBuild, Group, Host, Library, Listed, Model, ModelPart, ModelSource,
    Needed, Output, Release, Revision, ShaderModule, Use, library_base, licence_ids,
};
pub use render::Templates;
pub use target::Target;
