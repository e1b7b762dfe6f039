//! What an interface is taken from: a baseline, an ELF file, a directory, packages.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::abi::{BASELINE_SCHEMA, Baseline, Interface};
use crate::arch::Version;
use crate::arch::VersionPolicy;
use crate::elf::{self, Facts, FileKind, is_elf};
use crate::error::{Error, Result};
use crate::fs::{self, Content, EntryKind};
use crate::verify;

/// A package's name, and the policy of its version, when it says that.
pub(super) type Provider = (String, Option<VersionPolicy>);

/// One ELF file that takes part in dynamic linking.
pub(super) struct Loaded {
    /// Where it lies, below what was pointed at.
    pub path: String,
    /// Where it lies on disk.
    pub on_disk: PathBuf,
    /// What it says.
    pub facts: Facts,
    /// Package, when it says its name.
    pub package: Option<Provider>,
}

/// What was pointed at, opened.
pub(super) struct Subject {
    /// Its name.
    pub name: String,
    /// Release, when a manifest says it.
    pub release: Option<Version>,
    /// ELF files, sorted by path.
    pub files: Vec<Loaded>,
    /// Files that could not be read as ELF although they begin like one, with the reason.
    pub unreadable: Vec<(String, String)>,
    /// Whether it is one file, which the user named: whatever it is, that is what is meant.
    pub is_file: bool,
    /// Keeps unpacked packages on disk.
    _opened: Option<verify::Opened>,
}

impl Subject {
    /// Opens an ELF file, a directory of any origin, or packages: simpack's, conda's, wheels.
    ///
    /// # Errors
    /// The path does not exist or holds no ELF file.
    pub(super) fn open(path: &Path) -> Result<Self> {
        if !path.exists() {
            return Err(Error::usage(format!("{} does not exist", path.display())));
        }
        let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
        let (files, unreadable) = (Vec::new(), Vec::new());
        let mut subject = Self { name, release: None, files, unreadable, is_file: false, _opened: None };
        if path.is_file() && is_elf(Content::open(path)?.bytes()) {
            subject.is_file = true;
            subject.add(path, &subject.name.clone(), None)?;
        } else if path.is_file() || holds_packages(path) {
            subject.packages(path)?;
        } else {
            subject.tree(path)?;
        }
        match subject.files.is_empty() && subject.unreadable.is_empty() {
            true => Err(Error::usage(format!("{} holds no ELF file", path.display()))
                .hint("give a library, a directory, a package or a baseline")),
            false => Ok(subject),
        }
    }

    fn tree(&mut self, root: &Path) -> Result<()> {
        for entry in fs::walk(root)? {
            if let EntryKind::File { .. } = entry.kind {
                self.add(&root.join(&entry.path), &entry.path, None)?;
            }
        }
        Ok(())
    }

    fn packages(&mut self, path: &Path) -> Result<()> {
        let opened = verify::open(&[path])?;
        let mut seen = BTreeSet::new();
        for bundle in &opened.bundles {
            let manifest = &bundle.manifest;
            self.release = Some(manifest.version);
            // A distribution holds each package as .conda and as .tar.zst.
            if !seen.insert((&manifest.package, manifest.target)) {
                continue;
            }
            for artifact in &manifest.artifacts {
                let file = bundle.root.join(&artifact.path);
                if file.symlink_metadata().is_ok_and(|data| data.is_file()) {
                    let package = (manifest.package.clone(), Some(manifest.policy));
                    self.add(&file, &format!("{}: {}", manifest.package, artifact.path), Some(package))?;
                }
            }
        }
        for foreign in &opened.foreign {
            // A conda package says which release it is, and so does the name of a wheel, `numpy-2.3.5`.
            let index = opened.indexes.first().map(|index| index.record.version.as_str());
            let version = index.or_else(|| foreign.name.rsplit_once('-').map(|(_, version)| version));
            let alone = opened.foreign.len() == 1;
            let release = version.and_then(|version| version.parse().ok()).filter(|_| alone);
            self.release = self.release.take().or(release);
            let package = opened.indexes.first().filter(|_| alone).map(|index| (index.record.name.clone(), None));
            for entry in foreign.entries()? {
                if let EntryKind::File { .. } = entry.kind {
                    self.add(&foreign.root.join(&entry.path), &entry.path, package.clone())?;
                }
            }
        }
        self.unreadable.extend(opened.incomplete.iter().map(|gap| (gap.subject.to_string(), gap.reason.clone())));
        self._opened = Some(opened);
        Ok(())
    }

    fn add(&mut self, path: &Path, name: &str, package: Option<Provider>) -> Result<()> {
        let content = Content::open(path)?.sparse();
        if !is_elf(content.bytes()) {
            return Ok(());
        }
        match elf::facts(content.bytes()) {
            Ok(facts) if facts.dynamic => {
                self.files.push(Loaded { path: name.to_owned(), on_disk: path.to_owned(), facts, package });
            }
            Ok(_) => {}
            Err(error) => self.unreadable.push((name.to_owned(), error.to_string())),
        }
        Ok(())
    }

    /// The shared libraries that others link with, or the one file that the user named.
    pub(super) fn libraries(&self) -> impl Iterator<Item = &Loaded> {
        let libraries = self.files.iter().filter(|file| file.facts.kind == FileKind::Library);
        libraries.filter(|file| self.is_file || !file.is_module())
    }

    /// The one library of a file that the user named.
    pub(super) fn named(&self) -> Option<&Loaded> {
        self.libraries().next().filter(|_| self.is_file)
    }

    /// The interfaces of all shared libraries. Of different libraries with one name, each goes by its path.
    pub(super) fn baseline(&self, release: Option<Version>) -> Baseline {
        let mut by_name: BTreeMap<String, Vec<(&Loaded, Interface)>> = BTreeMap::new();
        for file in self.libraries() {
            by_name.entry(file.library()).or_default().push((file, Interface::of(&file.facts)));
        }
        let mut libraries = BTreeMap::new();
        for (name, files) in by_name {
            if files.iter().all(|(_, interface)| *interface == files[0].1) {
                libraries.extend(files.into_iter().next().map(|(_, interface)| (name, interface)));
            } else {
                libraries.extend(files.into_iter().map(|(file, interface)| (file.path.clone(), interface)));
            }
        }
        let release = release.or(self.release);
        Baseline { schema: BASELINE_SCHEMA, subject: self.name.clone(), release, libraries }
    }
}

impl Loaded {
    /// Whether it is a module of Python, which the interpreter opens by its path: nobody links with it.
    fn is_module(&self) -> bool {
        self.facts.soname.is_none() && self.facts.exports.iter().any(|export| export.name.starts_with("PyInit_"))
    }

    /// SONAME, or the file's name.
    pub(super) fn library(&self) -> String {
        let file = || self.path.rsplit(['/', ' ']).next().unwrap_or(&self.path).to_owned();
        self.facts.soname.clone().unwrap_or_else(file)
    }
}

/// Whether a path is that of a recorded baseline.
pub(super) fn is_baseline(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "json")
}

/// A recorded baseline.
///
/// # Errors
/// It cannot be read, or is none.
pub(super) fn read_baseline(path: &Path) -> Result<Baseline> {
    Baseline::parse(Content::open(path)?.bytes()).map_err(|error| Error::file(path, error))
}

/// A directory with a manifest, or with packages directly in it or in a channel's subdirectories.
fn holds_packages(path: &Path) -> bool {
    let package = |path: &Path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        [".conda", ".tar.zst", ".whl"].iter().any(|end| name.ends_with(end))
    };
    path.join("share/simpack").is_dir()
        || walkdir::WalkDir::new(path).max_depth(3).into_iter().flatten().any(|entry| package(entry.path()))
}
