//! Prefixes with packages: what is there, whether it is what it was, what it would load.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::bundle::{ArtifactKind, BundleManifest, FoundManifest, manifests, wheel_prefixes};
use crate::elf::is_elf;
use crate::elf::library_stem;
use crate::elf::resolve::{
    End, Environment, FileId, LoadedObject, Loader, NeedKind, Open, Process, Remembered, Resolution, Rule, file_name,
};
use crate::fs::{Digest, Root};
use crate::machine::{DamagedPackage, InstalledPackage, Loads, Prefix, PrefixKind, VendorFile, VendorLoad};
use crate::manifest::{Manifests, opened};

use super::Snapshot;
use super::search::library;

/// What conda notes of a package is smaller than this, in bytes.
const LARGEST_NOTE: u64 = 64 << 20;

/// What is needed to look at a prefix.
pub(super) struct PrefixScanner<'a> {
    pub(super) root: &'a Root,
    pub(super) loader: &'a Loader,
    pub(super) environment: &'a Environment,
    pub(super) manifests: &'a Manifests,
    pub(super) snapshot: &'a Snapshot,
    /// The files as loaders see them: programs of a prefix share nearly all that they load.
    pub(super) files: Remembered<Root>,
    /// Names that a file opens, by the file.
    pub(super) opened: RefCell<HashMap<FileId, Vec<String>>>,
}

impl PrefixScanner<'_> {
    /// The prefixes that are asked for, whatever is in them; without, those of the environment that have packages.
    pub(super) fn prefixes(&self, asked: &[String]) -> Vec<Prefix> {
        let usual = if asked.is_empty() { self.usual() } else { asked.to_vec() };
        let mut seen = BTreeSet::new();
        let mut found = Vec::new();
        for path in usual {
            let Some(real) = self.root.real(&path) else { continue };
            if !seen.insert(real) {
                continue;
            }
            let manifests = manifests(self.root, &path);
            let wheels = wheel_prefixes(self.root, &path);
            // An environment that holds nothing but wheels is what these are.
            if !manifests.is_empty() || !asked.is_empty() && wheels.is_empty() {
                found.push(self.prefix(&path, manifests));
            }
            found.extend(wheels.iter().map(|place| self.wheels(place)));
        }
        found
    }

    fn usual(&self) -> Vec<String> {
        let named = ["CONDA_PREFIX", "VIRTUAL_ENV"].iter().filter_map(|name| self.snapshot.value(name));
        let mut all: Vec<String> = named.map(str::to_owned).collect();
        all.extend(self.snapshot.nix_profiles.iter().cloned());
        all.extend(
            self.snapshot.home.iter().flat_map(|home| [format!("{home}/.nix-profile"), format!("{home}/.local")]),
        );
        all.extend(["/run/current-system/sw", "/usr/local", "/usr", "/opt/conda"].map(str::to_owned));
        all
    }

    /// The directory of a simulator's wheels.
    fn wheels(&self, place: &str) -> Prefix {
        Prefix { kind: PrefixKind::Wheels, ..self.prefix(place, manifests(self.root, place)) }
    }

    fn prefix(&self, path: &str, manifests: Vec<FoundManifest>) -> Prefix {
        let at = |below: &str| self.root.exists(&format!("{path}/{below}"));
        let kind = if at("conda-meta") {
            PrefixKind::Conda
        } else if at("pyvenv.cfg") {
            PrefixKind::Venv
        } else if self.root.real(path).is_some_and(|real| real.starts_with("/nix/store/")) {
            PrefixKind::Nix
        } else {
            PrefixKind::Directory
        };
        let (mut packages, mut damaged) = (Vec::new(), Vec::new());
        for found in manifests {
            match found.manifest {
                Ok(manifest) => packages.push(self.package(path, manifest)),
                Err(error) => damaged.push(DamagedPackage { path: found.path, reason: error.to_string() }),
            }
        }
        Prefix { path: path.to_owned(), kind, packages, damaged, vendor: self.vendor(path) }
    }

    fn package(&self, prefix: &str, manifest: BundleManifest) -> InstalledPackage {
        let (mut missing, mut changed, mut loads) = (Vec::new(), Vec::new(), Vec::new());
        for artifact in &manifest.artifacts {
            let path = self.place(prefix, &manifest, &artifact.path);
            let ArtifactKind::File { sha256, size, .. } = &artifact.kind else {
                if !self.root.exists(&path) {
                    missing.push(artifact.path.clone());
                }
                continue;
            };
            let Ok(file) = self.root.open(&path) else {
                missing.push(artifact.path.clone());
                continue;
            };
            let bytes = file.bytes();
            if bytes.len() as u64 != *size || Digest::of(bytes) != *sha256 {
                changed.push(artifact.path.clone());
            }
            let host = artifact.path.starts_with("bin/") || artifact.path.contains(".so");
            if host && is_elf(bytes) {
                loads.extend(self.loads(&path, &artifact.path));
            }
        }
        let channel = self.channel(prefix, &manifest);
        InstalledPackage { manifest, channel, missing, changed, loads }
    }

    /// Where a file of a package is: that of a module for every Python is the installer's choice.
    fn place(&self, prefix: &str, manifest: &BundleManifest, path: &str) -> String {
        let plain = format!("{prefix}/{path}");
        let Some(module) = manifest.module(path).filter(|_| !self.root.exists(&plain)) else { return plain };
        let lib = format!("{prefix}/lib");
        let pythons = self.root.names(&lib).into_iter().filter(|name| name.starts_with("python3"));
        let mut places = pythons.map(|python| format!("{lib}/{python}/site-packages/{module}"));
        places.find(|place| self.root.exists(place)).unwrap_or(plain)
    }

    /// As conda notes it; one that bears a password or a token is not taken.
    fn channel(&self, prefix: &str, manifest: &BundleManifest) -> Option<String> {
        let directory = format!("{prefix}/conda-meta");
        let start = format!("{}-{}-", manifest.package, manifest.version);
        let name = self.root.names(&directory).into_iter().find(|name| name.starts_with(&start))?;
        let text = self.root.text(&format!("{directory}/{name}"), LARGEST_NOTE)?;
        let note: serde_json::Value = serde_json::from_str(&text).ok()?;
        let channel = note["channel"].as_str()?.trim_end_matches('/');
        (!channel.is_empty() && !channel.contains('@') && !channel.contains("/t/")).then(|| channel.to_owned())
    }

    /// What an ELF file would load; none when no loader takes it.
    fn loads(&self, path: &str, below: &str) -> Option<Loads> {
        let with = self.resolution(path, self.environment)?;
        let plain = Environment { library_path: None, ..self.environment.clone() };
        let without = self.environment.library_path.as_ref().and_then(|_| self.resolution(path, &plain));
        let paths = |resolution: &Resolution| -> BTreeMap<String, String> {
            let found = resolution.links.iter().filter_map(|link| match link.end {
                End::Found { object, .. } => Some((link.name.clone(), resolution.objects[object].path.clone())),
                _ => None,
            });
            found.collect()
        };
        let before = without.as_ref().map(paths).unwrap_or_default();
        let mut vendor: BTreeMap<String, VendorLoad> = BTreeMap::new();
        for link in &with.links {
            let End::Found { object, .. } = link.end else { continue };
            let known = self.manifests.vendor.library(&link.name).is_some()
                || self.manifests.vendor.driver(&link.name).is_some();
            let Some(by) = link.by.as_ref().filter(|by| known && !matches!(by, Rule::Loaded)) else { continue };
            let path = with.objects[object].path.clone();
            let instead_of = before.get(&link.name).filter(|other| **other != path).cloned();
            vendor.entry(link.name.clone()).or_insert_with(|| VendorLoad {
                name: link.name.clone(),
                by: by.to_string(),
                path,
                instead_of,
            });
        }
        let lacks = with.missing_versions.iter().filter(|lack| with.objects[lack.from].kind != Some(NeedKind::Dlopen));
        let mut lacks: Vec<String> =
            lacks.map(|lack| format!("{} of {}", lack.version, with.objects[lack.object].path)).collect();
        lacks.sort();
        lacks.dedup();
        let mut missing: Vec<String> = with.failures().map(|link| link.name.clone()).collect();
        missing.sort();
        missing.dedup();
        Some(Loads { file: below.to_owned(), missing, lacks, vendor: vendor.into_values().collect() })
    }

    /// The process of a file: what it needs, and what it opens by name.
    fn resolution(&self, path: &str, environment: &Environment) -> Option<Resolution> {
        let mut process = Process::start(&self.files, self.loader, environment, path).ok()?;
        let mut looked = 0;
        while looked < process.objects().len() {
            let object = &process.objects()[looked];
            // What the driver opens is no concern of the package, and its libraries are the largest of all.
            let is_driver = self.manifests.vendor.driver(file_name(&object.path)).is_some();
            let names = match object.calls_dlopen && object.id.is_some() && !is_driver {
                true => self.opened_by(object),
                false => Vec::new(),
            };
            for name in names {
                process.open(&Open { from: looked, name });
            }
            looked += 1;
        }
        Some(process.finish())
    }

    /// The names that a file opens: it is searched once, whoever loads it.
    fn opened_by(&self, object: &LoadedObject) -> Vec<String> {
        let names = || {
            let file = self.root.open(&object.path).ok()?;
            let own = object.soname.clone().unwrap_or_else(|| file_name(&object.path).to_owned());
            Some(opened(file.bytes(), &own, &self.manifests.loaders, &self.manifests.vendor))
        };
        match object.id {
            Some(id) => self.opened.borrow_mut().entry(id).or_insert_with(|| names().unwrap_or_default()).clone(),
            None => names().unwrap_or_default(),
        }
    }

    /// The vendor's libraries, and others of which two in a process hurt, where package managers put them.
    fn vendor(&self, prefix: &str) -> Vec<VendorFile> {
        let mut directories = vec![format!("{prefix}/lib"), format!("{prefix}/lib64")];
        directories.extend(["x86_64-linux", "sbsa-linux"].map(|target| format!("{prefix}/targets/{target}/lib")));
        for lib in ["lib", "lib64"] {
            let pythons = self.root.names(&format!("{prefix}/{lib}")).into_iter();
            for python in pythons.filter(|name| name.starts_with("python3.")) {
                let packages = format!("{prefix}/{lib}/{python}/site-packages");
                for name in self.root.names(&packages) {
                    let package = format!("{packages}/{name}");
                    if name == "nvidia" {
                        let parts = self.root.names(&package).into_iter();
                        directories.extend(parts.map(|part| format!("{package}/{part}/lib")));
                    } else if name.ends_with(".libs") {
                        directories.push(package);
                    } else {
                        directories.push(format!("{package}/lib"));
                        directories.push(format!("{package}/.libs"));
                        directories.push(format!("{package}/.data/lib"));
                    }
                }
            }
        }
        let mut found: BTreeMap<String, VendorFile> = BTreeMap::new();
        let real_prefix = self.root.real(prefix).unwrap_or_else(|| prefix.to_owned());
        for directory in directories {
            for name in self.root.names(&directory) {
                let plain = unmangled(&name);
                let is_known = self.manifests.vendor.library(&plain).is_some()
                    || self.manifests.foreign.family(library_stem(&plain)).is_some();
                if !is_known || !plain.contains(".so") {
                    continue;
                }
                let Some(real) = self.root.real(&format!("{directory}/{name}")) else { continue };
                let Some(object) = library(self.root, &real, self.loader.machine) else { continue };
                let Ok(file) = self.root.open(&real) else { continue };
                let soname = object.soname.map_or(plain, |soname| unmangled(&soname));
                let below = real.strip_prefix(&format!("{real_prefix}/")).unwrap_or(&real).to_owned();
                let size = file.bytes().len() as u64;
                found.insert(below.clone(), VendorFile { path: below, soname, size });
            }
        }
        found.into_values().collect()
    }
}

/// `libcudart.so.12` of `libcudart-3f9c21a7.so.12`, as auditwheel names copies that it puts into wheels.
fn unmangled(name: &str) -> String {
    let Some((stem, rest)) = name.split_once(".so") else { return name.to_owned() };
    match stem.rsplit_once('-') {
        Some((stem, hash)) if hash.len() >= 8 && hash.bytes().all(|byte| byte.is_ascii_hexdigit()) => {
            format!("{stem}.so{rest}")
        }
        _ => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_of_wheels_bear_a_hash() {
        assert_eq!(unmangled("libcudart-3f9c21a7.so.12.1.105"), "libcudart.so.12.1.105");
        assert_eq!(unmangled("libnvrtc-builtins.so.13.0"), "libnvrtc-builtins.so.13.0");
        assert_eq!(unmangled("libvolley.so.1"), "libvolley.so.1");
    }
}
