//! Search paths of what ships: where a file finds the libraries of its own distribution, then those of its environment,
//! then the driver's.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::bundle::{Bundle, BundleManifest};
use crate::elf::edit::State;
use crate::elf::{SearchEntry, search_entry};
use crate::engine::Staged;
use crate::error::Result;
use crate::fs::{self, Entry, EntryKind, Tree};
use crate::manifest::Manifests;
use crate::parallel::until_failure;
use crate::patch::{self, PatchSpec};
use crate::recipe::{ComponentKind, KernelForm, Recipe};
use crate::verify::ReplacedSearchPath;

/// Where the libraries of a distribution lie, beside `lib`, where all find theirs.
#[derive(Debug, Default)]
pub(super) struct Libraries {
    /// Directories below the prefix, by the name of a file in them.
    by_name: BTreeMap<String, BTreeSet<String>>,
    /// All directories that hold one.
    directories: BTreeSet<String>,
}

impl Libraries {
    /// Those of staged bundles, and of what is still to be cut.
    pub(super) fn of(staged: &Staged) -> Result<Self> {
        let mut found = Self::default();
        for bundle in &staged.bundles {
            for entry in fs::walk(&bundle.root)? {
                if !matches!(entry.kind, EntryKind::Directory) {
                    found.add(&entry.path);
                }
            }
        }
        staged.fat.iter().for_each(|fat| found.add(&fat.path));
        Ok(found)
    }

    fn add(&mut self, path: &str) {
        let (directory, name) = path.rsplit_once('/').unwrap_or(("", path));
        if name.ends_with(".so") || name.contains(".so.") {
            self.by_name.entry(name.to_owned()).or_default().insert(directory.to_owned());
            self.directories.insert(directory.to_owned());
        }
    }

    /// Directories of the prefix that a file searches, which is installed as `installed`: those that its build let it
    /// search and that hold libraries, then that of each library it needs, where there is one such, then `lib`.
    fn directories(&self, state: &State, installed: &str) -> Vec<String> {
        let here = installed.rsplit_once('/').map_or("", |(directory, _)| directory);
        let texts = state.rpath.iter().chain(&state.runpath);
        let built = texts.flat_map(|text| text.split(':')).filter_map(|entry| match search_entry(entry, here) {
            SearchEntry::Prefix(directory) if self.directories.contains(&directory) => Some(directory),
            _ => None,
        });
        let mut found: Vec<String> = Vec::new();
        built.for_each(|directory| push(&mut found, directory));
        for needed in &state.needed {
            let Some(places) = self.by_name.get(needed) else { continue };
            if !places.contains("lib") && !places.iter().any(|place| found.contains(place)) && places.len() == 1 {
                places.iter().for_each(|place| push(&mut found, place.clone()));
            }
        }
        push(&mut found, "lib".to_owned());
        found
    }
}

fn push(list: &mut Vec<String>, item: String) {
    if !list.contains(&item) {
        list.push(item);
    }
}

/// Sets the search path of every host file of a bundle. Files of vendors stay as they are: they may be passed on unchanged
/// alone. On up to `jobs` threads. Answers whose search path was another.
pub(super) fn patch(
    recipe: &Recipe,
    manifests: &Manifests,
    libraries: &Libraries,
    bundle: &Bundle,
    jobs: usize,
) -> Result<Vec<ReplacedSearchPath>> {
    let is_plugin = bundle.manifest.form() == Some(KernelForm::Library);
    if !is_plugin
        && !matches!(bundle.manifest.component, ComponentKind::Core | ComponentKind::Rtc | ComponentKind::Python)
    {
        return Ok(Vec::new());
    }
    let mut entries = fs::walk(&bundle.root)?;
    let is_vendors = |path: &str| manifests.redistribution.terms(path.rsplit('/').next().unwrap_or(path)).is_some();
    entries.retain(|entry| matches!(entry.kind, EntryKind::File { .. }) && !is_vendors(&entry.path));
    let tree = Tree::at(&bundle.root)?;
    let one = |entry: &Entry| {
        let path = entry.path.as_str();
        let patched = set(recipe, manifests, libraries, &tree.place(path)?, path)?;
        if patched.is_changed {
            bundle.files.forget(path);
        }
        Ok(patched.replaced_in(bundle, path))
    };
    Ok(until_failure(&entries, jobs, one)?.into_iter().flatten().collect())
}

/// What became of a file's search path.
#[derive(Debug, Clone, Default)]
pub(super) struct Patched {
    is_changed: bool,
    /// The search path that its build gave it.
    built: Option<String>,
}

impl Patched {
    /// What is to be said of the file at `path` of a bundle.
    pub(super) fn replaced_in(&self, bundle: &Bundle, path: &str) -> Option<ReplacedSearchPath> {
        let BundleManifest { package, cuda, .. } = &bundle.manifest;
        let built = self.built.clone()?;
        Some(ReplacedSearchPath { package: package.clone(), cuda: *cuda, path: path.to_owned(), built })
    }
}

/// The same for one file, which is installed as `installed` below the prefix; what no loader sees stays as it is.
pub(super) fn set(
    recipe: &Recipe,
    manifests: &Manifests,
    libraries: &Libraries,
    path: &Path,
    installed: &str,
) -> Result<Patched> {
    let spec = |state: &State| {
        let own = libraries.directories(state, installed);
        let mut runpath: Vec<String> = own.iter().map(|directory| patch::origin_to(directory, installed)).collect();
        runpath.extend(recipe.driver.directories.iter().cloned());
        PatchSpec { runpath, tag: recipe.driver.tag }
    };
    let outcome = patch::apply_if_loaded(path, &spec, &manifests.drivers)?;
    let Some(outcome) = outcome else { return Ok(Patched::default()) };
    let built = outcome.changes.iter().filter(|change| ["rpath", "runpath"].contains(&change.what.as_str()));
    let built: Vec<&str> = built.filter_map(|change| change.from.as_deref()).collect();
    Ok(Patched { is_changed: outcome.changed(), built: (!built.is_empty()).then(|| built.join(":")) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn libraries(paths: &[&str]) -> Libraries {
        let mut libraries = Libraries::default();
        paths.iter().for_each(|path| libraries.add(path));
        libraries
    }

    #[test]
    fn private_libraries_are_found_where_they_lie() {
        let found =
            libraries(&["lib/libsim.so.1", "site/sim.libs/libpart.so", "site/a/libtwice.so", "site/b/libtwice.so"]);
        let state = |needed: &[&str], runpath: Option<&str>| State {
            needed: needed.iter().map(|name| (*name).to_owned()).collect(),
            runpath: runpath.map(str::to_owned),
            ..State::default()
        };
        let of = |state: State| found.directories(&state, "site/sim/_sim.so");
        assert_eq!(of(state(&["libsim.so.1", "libc.so.6"], None)), ["lib"]);
        assert_eq!(of(state(&["libpart.so"], None)), ["site/sim.libs", "lib"]);
        // What a build said holds where libraries are, and nowhere else.
        assert_eq!(of(state(&[], Some("$ORIGIN/../sim.libs:/build/lib:$ORIGIN/../none"))), ["site/sim.libs", "lib"]);
        // Nobody knows which of two is meant, unless the build says so.
        assert_eq!(of(state(&["libtwice.so"], None)), ["lib"]);
        assert_eq!(of(state(&["libtwice.so"], Some("$ORIGIN/../b"))), ["site/b", "lib"]);
    }
}
