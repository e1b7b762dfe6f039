//! Names without links: wheels hold none.
//!
//! A library lies in a wheel once, under the name that loaders ask for, its SONAME. Its other names, which only linkers
//! read, are linker scripts of one line that lead there, so that no second copy of it is ever loaded. Any other link
//! becomes a copy of its file.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::super::Package;
use crate::bundle::{Artifact, ArtifactKind};
use crate::elf;
use crate::error::{Error, Result};
use crate::fs::Content;

/// What stands at a path in the place of what a package has there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Entry {
    /// The package's file at this path.
    File(String),
    /// This text.
    Text(String),
}

/// The files of a package by path, without links; `all` are the packages that links may lead into.
///
/// # Errors
/// A link leads nowhere, to a directory, or to a file of another package that is no library.
pub(super) fn without_links(package: &Package, all: &[Package]) -> Result<BTreeMap<String, Entry>> {
    let names = Names::of(package, all)?;
    let mut entries = BTreeMap::new();
    for Artifact { path, kind } in &package.manifest.artifacts {
        match kind {
            ArtifactKind::File { .. } => match names.moved(path) {
                Some(soname) => {
                    entries.insert(soname.to_owned(), Entry::File(path.clone()));
                    entries.insert(path.clone(), script(path, soname));
                }
                None => drop(entries.entry(path.clone()).or_insert_with(|| Entry::File(path.clone()))),
            },
            ArtifactKind::Link { .. } => {
                let target = names.target(package, path)?;
                let place = names.moved(&target).unwrap_or(&target);
                if place != path {
                    entries.insert(path.clone(), names.instead(package, path, &target, place)?);
                }
            }
        }
    }
    Ok(entries)
}

/// The names of files in a distribution as one package sees them.
struct Names<'a> {
    /// Links by path.
    links: BTreeMap<&'a str, &'a str>,
    /// Files by path.
    files: BTreeSet<&'a str>,
    /// Libraries that some link leads to, and the path that their SONAME gives them.
    libraries: BTreeMap<String, String>,
}

impl<'a> Names<'a> {
    /// Of two packages with one path, the own one's counts.
    fn of(package: &'a Package, all: &'a [Package]) -> Result<Self> {
        let (mut links, mut files) = (BTreeMap::new(), BTreeSet::new());
        let mut roots: BTreeMap<&str, &Path> = BTreeMap::new();
        for one in all.iter().chain([package]) {
            for Artifact { path, kind } in &one.manifest.artifacts {
                match kind {
                    ArtifactKind::Link { to } => drop(links.insert(path.as_str(), to.as_str())),
                    ArtifactKind::File { .. } => {
                        files.insert(path.as_str());
                        roots.extend(one.root.as_deref().map(|root| (path.as_str(), root)));
                    }
                }
            }
        }
        let mut names = Self { links, files, libraries: BTreeMap::new() };
        let targets: BTreeSet<String> = names.links.keys().filter_map(|link| names.end(link)).collect();
        for target in targets {
            let Some(root) = roots.get(target.as_str()) else { continue };
            let content = Content::open(&root.join(&target))?;
            let soname = match elf::is_elf(content.bytes()) {
                true => elf::facts(content.bytes()).ok().and_then(|facts| facts.soname),
                false => None,
            };
            if let Some(soname) = soname {
                let place = format!("{}{soname}", directory(&target));
                // Where no link has that name, the library keeps its own.
                let place = if names.links.contains_key(place.as_str()) { place } else { target.clone() };
                names.libraries.insert(target, place);
            }
        }
        Ok(names)
    }

    /// Where a chain of links ends, if at a file.
    fn end(&self, link: &str) -> Option<String> {
        let mut path = link.to_owned();
        // A chain is no longer than there are links.
        for _ in 0..=self.links.len() {
            match self.links.get(path.as_str()) {
                Some(to) => path = joined(&path, to)?,
                None => return self.files.contains(path.as_str()).then_some(path),
            }
        }
        None
    }

    fn target(&self, package: &Package, link: &str) -> Result<String> {
        self.end(link).ok_or_else(|| {
            let what = format!("is a link of {} that leads to no file of the distribution", package.name());
            Error::file(link, what)
                .hint("wheels hold no links: install a file in its place, or leave `wheel` out of --format")
        })
    }

    /// The path by its SONAME of a library that lies under another name.
    fn moved(&self, path: &str) -> Option<&str> {
        self.libraries.get(path).map(String::as_str).filter(|place| *place != path)
    }

    /// What stands in the place of a link.
    fn instead(&self, package: &Package, link: &str, target: &str, place: &str) -> Result<Entry> {
        let own = || package.manifest.artifacts.iter().any(|artifact| artifact.path == target);
        match self.libraries.contains_key(target) {
            true => Ok(script(link, place)),
            false if own() => Ok(Entry::File(target.to_owned())),
            false => Err(Error::file(link, format!("is a link of {} into another package", package.name()))
                .hint("wheels hold no links: install a file in its place, or leave `wheel` out of --format")),
        }
    }
}

/// A linker script that leads from one path to another; linkers look beside the script first.
fn script(from: &str, to: &str) -> Entry {
    Entry::Text(format!("INPUT({})\n", relative(from, to)))
}

/// `lib/` of `lib/libx.so`.
fn directory(path: &str) -> &str {
    path.rfind('/').map_or("", |slash| &path[..=slash])
}

/// The path that a link's text means; none for one that leaves the tree.
fn joined(link: &str, to: &str) -> Option<String> {
    let mut parts: Vec<&str> = directory(link).split('/').filter(|part| !part.is_empty()).collect();
    for part in to.split('/') {
        match part {
            "" if to.starts_with('/') => return None,
            "" | "." => {}
            ".." => drop(parts.pop()?),
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

/// A path as seen from the directory of another.
fn relative(from: &str, to: &str) -> String {
    let (from, to): (Vec<&str>, Vec<&str>) = (directory(from).split_terminator('/').collect(), to.split('/').collect());
    let common = from.iter().zip(&to[..to.len() - 1]).take_while(|(a, b)| a == b).count();
    let up = std::iter::repeat_n("..", from.len() - common);
    up.chain(to[common..].iter().copied()).collect::<Vec<_>>().join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_between_files() {
        assert_eq!(relative("lib/libx.so", "lib/libx.so.1"), "libx.so.1");
        assert_eq!(relative("lib/a/libx.so", "lib/libx.so.1"), "../libx.so.1");
        assert_eq!(relative("libx.so", "lib/libx.so.1"), "lib/libx.so.1");
        assert_eq!(joined("lib/a", "../b/c").as_deref(), Some("b/c"));
        assert_eq!((joined("lib/a", "../../b"), joined("a", "/b")), (None, None));
    }
}
