//! What the lints look at: all bundles of one verification, and what is known beside them.

use super::{Contents, Loads, PackageFacts, PackageIndex, Rules, Stray};

/// All bundles of one verification, sorted by package.
#[derive(Debug, Clone)]
pub struct BundleFacts {
    /// What each package holds.
    pub packages: Vec<PackageFacts>,
    /// What others made, sorted by name: no promise is known of it.
    pub foreign: Vec<Contents>,
    /// What package managers are told of the packages, sorted.
    pub indexes: Vec<PackageIndex>,
    /// Members that would leave their packages, sorted.
    pub strays: Vec<Stray>,
    /// What the loader takes from the packages for the names that their files ask for.
    pub loads: Loads,
    /// What is known beside them.
    pub rules: Rules,
}

impl BundleFacts {
    /// Everything that was examined, whoever made it.
    pub fn contents(&self) -> impl Iterator<Item = &Contents> {
        self.packages.iter().map(|package| &package.contents).chain(&self.foreign)
    }
}
