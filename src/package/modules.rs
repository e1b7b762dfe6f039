//! Modules for every Python: clients of conda and installers of wheels put them into the Python of an environment, others have no
//! place for them.

use super::Package;
use crate::error::{Error, Result};

/// Refuses modules for every Python in a format that has no place for them.
///
/// # Errors
/// A package holds some.
pub(super) fn refuse_modules(packages: &[Package], format: &str) -> Result<()> {
    match packages.iter().find(|package| package.manifest.is_for_every_python()) {
        Some(package) => {
            Err(Error::recipe(format!("{} holds modules for every Python in `site-packages`", package.name()))
                .detail(
                    "installers of conda packages and of wheels put them into the Python of an environment; other formats have no place for them",
                )
                .hint(format!("leave `{format}` out of --format")))
        }
        None => Ok(()),
    }
}
