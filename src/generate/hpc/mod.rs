//! Recipes of the package managers of clusters.

pub(super) mod easybuild;
pub(super) mod spack;
