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

pub use escape::{
    cmake, easyconfig, github_text, markdown, nix_string, pkg_config, python, shell, shell_filled, yaml, yaml_recipe,
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

use std::fmt;

use crate::error::Result;
use crate::manifest::Vendor;

/// What texts are generated for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Target {
    /// A recipe of rattler-build, with what conda-forge wants beside it.
    Conda,
    /// A flake, an overlay and a package in the style of nixpkgs.
    Nix,
    /// A CMake config package.
    Cmake,
    /// Files of pkg-config.
    Pkgconfig,
    /// A workflow of GitHub that builds the matrix.
    Github,
    /// A package of Spack.
    Spack,
    /// Easyconfigs of EasyBuild, one a CUDA release.
    Easybuild,
    /// A page in Markdown about the kernels: parameters, buffers, structures.
    Docs,
}

impl Target {
    /// All targets.
    pub const ALL: [Self; 8] =
        [Self::Conda, Self::Nix, Self::Cmake, Self::Pkgconfig, Self::Github, Self::Spack, Self::Easybuild, Self::Docs];

    /// Whether its texts name packages, so that the model needs them.
    pub fn names_packages(self) -> bool {
        self == Self::Conda
    }

    /// Whether its texts compile the device code themselves, without simpack.
    pub fn compiles(self) -> bool {
        matches!(self, Self::Conda | Self::Nix | Self::Spack | Self::Easybuild)
    }

    /// Whether its texts compile shaders: it has glslc among its packages.
    pub fn compiles_shaders(self) -> bool {
        matches!(self, Self::Conda | Self::Nix)
    }

    /// Whether its texts name an archive of a package index by address or file.
    pub fn fetches(self) -> bool {
        matches!(self, Self::Conda | Self::Nix | Self::Spack | Self::Easybuild)
    }

    /// Whether its texts follow from the recipe alone, whatever was built.
    pub fn follows_from_recipe(self) -> bool {
        matches!(self, Self::Github | Self::Docs)
    }

    /// Its files for a model. `vendor` are the libraries that packages may depend on.
    ///
    /// # Errors
    /// The model holds what the target cannot express, or a template is wrong.
    pub fn files(self, model: &Model, vendor: &Vendor, templates: &Templates) -> Result<FileSet> {
        match self {
            Self::Conda => conda::files(model, vendor, templates),
            Self::Nix => nix::files(model, templates),
            Self::Cmake => interface::cmake(model, templates),
            Self::Pkgconfig => interface::pkg_config(model, templates),
            Self::Github => github::files(model, templates),
            Self::Spack => spack::files(model, templates),
            Self::Easybuild => easybuild::files(model, templates),
            Self::Docs => docs::files(model, templates),
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Conda => "conda",
            Self::Nix => "nix",
            Self::Cmake => "cmake",
            Self::Pkgconfig => "pkgconfig",
            Self::Github => "github",
            Self::Spack => "spack",
            Self::Easybuild => "easybuild",
            Self::Docs => "docs",
        })
    }
}
