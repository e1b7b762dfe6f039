//! What formats know beside the packages.

use std::path::Path;

use crate::manifest::Manifests;
use crate::recipe::Recipe;

/// What formats know beside the packages.
#[derive(Debug, Clone, Copy)]
pub struct FormatContext<'a> {
    /// The distribution's recipe, for what it says of a format.
    pub recipe: &'a Recipe,
    /// Vendor libraries, capabilities, releases.
    pub manifests: &'a Manifests,
    /// The directory whose place the format's takes: what an index says of when it first had a package is kept.
    pub earlier: Option<&'a Path>,
    /// The time at which an index has what it did not have before.
    pub now: jiff::Timestamp,
}
