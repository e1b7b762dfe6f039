//! The table of generators: which makes the files of a target.

use super::ci::github;
use super::hpc::{easybuild, spack};
use super::kernels::docs;
use super::{FileSet, Model, Target, Templates, conda, interface, nix};
use crate::error::Result;
use crate::manifest::Vendor;

impl Target {
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
