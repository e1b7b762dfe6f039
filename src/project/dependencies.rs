//! The packages of channels that builds are given: chosen for the lock, and put into a prefix.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use url::Url;

use crate::bundle::Versions;
use crate::error::{Error, Result};
use crate::index_page::shown;
use crate::lock::{DEPENDENCIES, Lock, LockedDependencies, LockedPackage};
use crate::package::conda::{ChannelIndex, Installation, Wanted, Wishes, solve};
use crate::recipe::{HostVariant, Need, Recipe};
use crate::toolchain::{IntoPrefix, PackageFile, Store};
use crate::ui::Ui;

/// What the builds of a recipe ask of its channels, by host variant, where they need any package. No package is chosen
/// yet.
pub(super) fn asked(recipe: &Recipe) -> BTreeMap<Option<HostVariant>, LockedDependencies> {
    let channels: Vec<String> = recipe.channels.iter().map(|channel| without_login(channel)).collect();
    let ask = |needs: BTreeSet<Need>| LockedDependencies {
        channels: channels.clone(),
        needs: needs.iter().filter(|need| need.is_of_channel()).map(ToString::to_string).collect(),
        glibc: recipe.host.glibc_ceiling(),
        packages: Vec::new(),
    };
    let asked = recipe.needs().into_iter().map(|(host, needs)| (host, ask(needs)));
    asked.filter(|(_, asked)| !asked.needs.is_empty()).collect()
}

/// Chooses packages for what is asked, as far as possible those that are preferred.
pub(super) fn choose(
    recipe: &Recipe,
    asked: &LockedDependencies,
    preferred: &[&LockedPackage],
    store: &Store,
    offline: bool,
    ui: &Ui,
) -> Result<Vec<LockedPackage>> {
    let mut indexes = Vec::new();
    for channel in &recipe.channels {
        let before = indexes.len();
        for subdir in [recipe.platform.to_string(), "noarch".to_owned()] {
            let index = store.channel_index(&address(channel, &recipe.dir)?, &subdir, ui, offline)?;
            indexes.extend(index.map(|bytes| ChannelIndex { channel: without_login(channel), subdir, bytes }));
        }
        if indexes.len() == before {
            return Err(Error::recipe(format!("{} is no channel of conda", without_login(channel)))
                .detail(format!("it has neither {}/repodata.json nor noarch/repodata.json", recipe.platform)));
        }
    }
    let wishes = Wishes {
        specs: asked.needs.clone(),
        glibc: asked.glibc,
        preferred: preferred.iter().map(|package| (package.name.clone(), package.url.clone())).collect(),
    };
    let chosen = solve(&indexes, &wishes).map_err(|why| {
        let error = Error::recipe("no packages of the channels fit together as the recipe asks");
        let error = why.into_iter().filter(|line| !line.trim().is_empty()).take(20).fold(error, Error::detail);
        let error = error.detail(format!("asked: {}", asked.needs.join(", ")));
        match asked.glibc {
            Some(glibc) => {
                error.hint(format!("packages may need glibc {glibc} at most, for which the host part is built"))
            }
            None => error,
        }
    })?;
    let locked = chosen.into_iter().map(|package| LockedPackage {
        name: package.name,
        version: package.version,
        build: package.build,
        url: package.url,
        sha256: package.sha256,
        size: package.size,
    });
    Ok(locked.collect())
}

/// The packages of a prefix.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Dependencies {
    /// The prefix that holds them.
    pub root: PathBuf,
    /// The packages, sorted by name.
    packages: Vec<InstalledPackage>,
    /// Ranges of the recipe, by package.
    ranges: BTreeMap<String, String>,
}

/// What is known of a package in a prefix.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) struct InstalledPackage {
    name: String,
    version: String,
    /// Names of its shared libraries.
    libraries: Vec<String>,
    /// Match specs that whoever is built with it depends on.
    exports: Vec<String>,
}

/// The prefixes of locked packages by host variant. They are fetched and unpacked when they are not in the cache.
pub(crate) fn dependencies(
    recipe: &Recipe,
    lock: &Lock,
    store: &Store,
    offline: bool,
    ui: &Ui,
) -> Result<BTreeMap<Option<HostVariant>, Dependencies>> {
    let mut needs = recipe.needs();
    let mut found = BTreeMap::new();
    for (host, locked) in lock.given().filter(|(_, locked)| !locked.packages.is_empty()) {
        let files = files(recipe, locked)?;
        let (root, packages) = store.prefix(&files, &Packages(&locked.packages), ui, offline)?;
        let needs = needs.remove(&host.cloned()).unwrap_or_default();
        let needs = needs.iter().filter(|need| need.is_of_channel() && !need.versions().is_empty());
        let ranges = needs.map(|need: &Need| (need.name().to_owned(), need.versions().to_owned())).collect();
        found.insert(host.cloned(), Dependencies { root, packages, ranges });
    }
    Ok(found)
}

/// The files of all packages that builds are given, each once.
///
/// # Errors
/// The lock names a package of no channel of the recipe.
pub(crate) fn package_files(recipe: &Recipe, lock: &Lock) -> Result<Vec<PackageFile>> {
    let mut found: Vec<PackageFile> = Vec::new();
    for (_, locked) in lock.given() {
        for file in files(recipe, locked)? {
            if !found.contains(&file) {
                found.push(file);
            }
        }
    }
    Ok(found)
}

fn files(recipe: &Recipe, locked: &LockedDependencies) -> Result<Vec<PackageFile>> {
    let otherwise = format!(
        "the channel has other bytes than simpack.lock says: find out why, or `simpack lock --update {DEPENDENCIES}`"
    );
    let one = |package: &LockedPackage| {
        Ok(PackageFile {
            file: package.file().to_owned(),
            url: file_address(package, recipe)?,
            sha256: package.sha256,
            size: package.size,
            otherwise: otherwise.clone(),
        })
    };
    locked.packages.iter().map(one).collect()
}

/// The address of a locked package, with the login data that the recipe has for its channel.
fn file_address(package: &LockedPackage, recipe: &Recipe) -> Result<Url> {
    let of = |channel: &String| {
        let rest = package.url.strip_prefix(&without_login(channel))?.strip_prefix('/')?;
        Some((channel.clone(), rest.to_owned()))
    };
    let Some((channel, rest)) = recipe.channels.iter().find_map(of) else {
        return Err(Error::stale(format!("{} is of no channel of the recipe", package.url))
            .hint("run `simpack lock` on the recipe and commit the file"));
    };
    address(&format!("{channel}/{rest}"), &recipe.dir)
}

/// The address of a channel, or of a file in it.
fn address(text: &str, dir: &Path) -> Result<Url> {
    if text.contains("://") {
        return Url::parse(text).map_err(|error| Error::recipe(format!("`{text}` is not an address")).because(error));
    }
    let place = dir.join(text);
    let place = fs_err::canonicalize(&place).unwrap_or(std::path::absolute(place)?);
    Url::from_file_path(&place).map_err(|()| Error::bug(format!("{} has no address", place.display())))
}

/// A channel whose address holds no login data.
fn without_login(channel: &str) -> String {
    match Url::parse(channel) {
        Ok(url) if matches!(url.scheme(), "http" | "https") => shown(&url).trim_end_matches('/').to_owned(),
        _ => channel.to_owned(),
    }
}

/// Puts locked packages into a prefix.
struct Packages<'a>(&'a [LockedPackage]);

impl IntoPrefix for Packages<'_> {
    type Known = Vec<InstalledPackage>;

    fn install(&self, unpacked: &[PathBuf], tree: &Path, place: &Path) -> Result<Self::Known> {
        let python = self.0.iter().find(|package| package.name == "python");
        let mut installation = Installation::new(tree, place, python.map(|package| package.version.as_str()))?;
        let install = |(package, from): (&LockedPackage, &PathBuf)| {
            let installed = installation.add(from).map_err(|error| {
                let named = Error::toolchain(format!("{}: {error}", package.file()));
                error.hints().iter().fold(named, |named, hint| named.hint(hint))
            })?;
            let libraries = installed.files.iter().filter_map(|path| path.strip_prefix("lib/")?.rsplit('/').next());
            Ok(InstalledPackage {
                name: package.name.clone(),
                version: package.version.clone(),
                libraries: libraries.filter(|name| name.contains(".so")).map(str::to_owned).collect(),
                exports: installed.exports,
            })
        };
        self.0.iter().zip(unpacked).map(install).collect()
    }
}

impl Dependencies {
    /// All shared libraries, each with its package.
    pub(crate) fn libraries(&self) -> BTreeMap<String, String> {
        let of = |package: &InstalledPackage| {
            let name = package.name.clone();
            package.libraries.clone().into_iter().map(move |library| (library, name.clone()))
        };
        self.packages.iter().flat_map(of).collect()
    }

    /// The package that has a library which a file needs, and the versions of it that do: what the packages say
    /// themselves, else what the recipe says, else all from the one that was built with.
    pub(crate) fn provider(&self, needed: &str) -> Option<(String, Versions)> {
        let package = self.packages.iter().find(|package| package.libraries.iter().any(|name| name == needed))?;
        // Its own word comes before that of a package which splits its libraries off.
        let others = self.packages.iter().filter(|other| other.name != package.name);
        let exports = std::iter::once(package).chain(others).flat_map(|package| &package.exports);
        let exported = exports.filter(|spec| Wanted::read(spec).is_ok_and(|spec| spec.name() == Some(&package.name)));
        let exported = exported.map(|spec| spec.split_once(' ').map_or("", |(_, versions)| versions.trim()).to_owned());
        let versions = exported.into_iter().next().or_else(|| self.ranges.get(&package.name).cloned());
        let versions = versions.unwrap_or_else(|| format!(">={}", package.version));
        Some((package.name.clone(), Versions::written(&versions)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(name: &str, library: &str, exports: &[&str]) -> InstalledPackage {
        InstalledPackage {
            name: name.to_owned(),
            version: "1.10.8".to_owned(),
            libraries: vec![library.to_owned()],
            exports: exports.iter().map(|spec| (*spec).to_owned()).collect(),
        }
    }

    #[test]
    fn versions_are_the_packages_word_then_the_recipes_then_what_was_built_with() {
        let found = Dependencies {
            root: PathBuf::new(),
            packages: vec![
                package("hdf5", "libhdf5.so.103", &["hdf5 >=1.10.8,<1.10.9.0a0"]),
                package("libboost", "libboost_x.so.1", &[]),
                package("libboost-devel", "none.so", &["libboost >=1.84,<1.85.0a0"]),
                package("openmpi", "libmpi.so.40", &["other >=1"]),
                package("zlib", "libz.so.1", &[]),
            ],
            ranges: BTreeMap::from([("openmpi".to_owned(), ">=4,<6".to_owned())]),
        };
        let versions = |library: &str| found.provider(library).map(|(name, versions)| format!("{name} {versions}"));
        assert_eq!(versions("libhdf5.so.103").unwrap(), "hdf5 >=1.10.8,<1.10.9.0a0");
        assert_eq!(versions("libboost_x.so.1").unwrap(), "libboost >=1.84,<1.85.0a0");
        assert_eq!(versions("libmpi.so.40").unwrap(), "openmpi >=4,<6");
        assert_eq!(versions("libz.so.1").unwrap(), "zlib >=1.10.8");
        assert_eq!(versions("libc.so.6"), None);
    }

    #[test]
    fn login_data_stay_out_of_the_lock() {
        assert_eq!(without_login("https://ada:secret@conda.example.org/forge"), "https://conda.example.org/forge");
        assert_eq!(without_login("channel/ours"), "channel/ours");
        assert_eq!(without_login("file:///srv/channel"), "file:///srv/channel");
    }
}
