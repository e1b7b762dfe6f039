//! Packages of Python modules. Those for every Python are put where pip has all modules; directories for one version of Python
//! stay as they are below the prefix, because libraries and programs in them find each other by their places, and a file of paths
//! leads Python there.

use std::collections::BTreeSet;

use super::super::Package;
use crate::error::{Error, Result};

/// The version of Python that a package has modules for: `3.11` where files lie below `lib/python3.11/site-packages`.
///
/// # Errors
/// It has modules for several.
pub(super) fn version(package: &Package) -> Result<Option<&str>> {
    let found: BTreeSet<&str> = modules(package).map(|(version, _)| version).collect();
    if found.len() > 1 {
        let versions = found.into_iter().collect::<Vec<_>>().join(", ");
        return Err(Error::recipe(format!("{} has modules for Python {versions}", package.name()))
            .detail("a wheel is for one version")
            .hint("leave `wheel` out of --format, or make the modules a component with variants of `python`"));
    }
    Ok(found.into_iter().next())
}

/// Whether Python would find a module or a package of this name among the files of a package.
pub(super) fn has_module(package: &Package, name: &str) -> bool {
    let for_every = package.manifest.artifacts.iter().filter_map(|artifact| package.manifest.module(&artifact.path));
    modules(package).map(|(_, path)| path).chain(for_every).any(|path| {
        let top = path.split('/').next().unwrap_or(path);
        top == name || top.strip_prefix(name).is_some_and(|ending| ending.starts_with('.'))
    })
}

/// The first two parts of a wheel's tag for modules of a version: those that are compiled hold it in their names.
pub(super) fn tag(package: &Package, version: &str) -> String {
    let python = format!("cp{}", version.replace('.', ""));
    let compiled = format!(".cpython-{}-", version.replace('.', ""));
    let abi = if modules(package).any(|(_, path)| path.contains(&compiled)) { python.as_str() } else { "none" };
    format!("{python}-{abi}")
}

/// The text of the file of paths, for a prefix that lies in a directory of this name.
pub(super) fn path_file(directory: &str, version: &str) -> String {
    format!("{directory}/lib/python{version}/site-packages\n")
}

/// Files below directories of modules: the version, and the path below the directory.
fn modules(package: &Package) -> impl Iterator<Item = (&str, &str)> {
    package.manifest.artifacts.iter().filter_map(|artifact| {
        let (version, path) = artifact.path.strip_prefix("lib/python")?.split_once("/site-packages/")?;
        let is_version = |text: &str| text.split('.').all(|part| part.parse::<u8>().is_ok());
        is_version(version).then_some((version, path))
    })
}
