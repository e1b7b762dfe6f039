//! What a user may point at: a bundle, a prefix, a directory of packages, one package; and what others
//! made: wheels, conda packages, archives, libraries, trees.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::unpack::{is_package, is_searched, unpack};
use super::{PackageIndex, Stray};
use crate::bundle::{Bundle, manifests_below};
use crate::container::{ContainerError, Refusal};
use crate::elf;
use crate::error::{Error, ErrorKind, Result};
use crate::fs::{self, Content, Entry, EntryKind};
use crate::gpu;
use crate::report::Incomplete;

/// Bundles and others' files of what was pointed at, with the directories that packages were unpacked into.
#[derive(Debug, Default)]
pub struct Opened {
    /// Bundles, sorted by package.
    pub bundles: Vec<Bundle>,
    /// What simpack did not make.
    pub foreign: Vec<Foreign>,
    /// What package managers are told of the packages.
    pub indexes: Vec<PackageIndex>,
    /// Members that would leave their packages; they are among `incomplete`, too.
    pub strays: Vec<Stray>,
    /// Packages that hold nothing, or a broken manifest: they cannot be examined.
    pub incomplete: Vec<Incomplete>,
    /// Unpacked packages; they go away with this value.
    pub(super) unpacked: Vec<TempDir>,
}

/// Files that simpack did not make: nothing is known of what they promise.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Foreign {
    /// What findings call it: a package's file name, a directory's or a file's name.
    pub name: String,
    /// Directory that its paths are below.
    pub root: PathBuf,
    /// The one file of it, `/`-joined; all below `root` without.
    pub file: Option<String>,
    /// Platform tags of a wheel, as its file name has them.
    pub platform: Option<String>,
}

impl Foreign {
    /// Its files and links.
    ///
    /// # Errors
    /// A directory cannot be read.
    pub fn entries(&self) -> Result<Vec<Entry>> {
        let Some(file) = &self.file else {
            let mut entries = fs::walk(&self.root)?;
            entries.retain(|entry| entry.kind != EntryKind::Directory);
            return Ok(entries);
        };
        let size = fs_err::metadata(self.root.join(file))?.len();
        Ok(vec![Entry { path: file.clone(), kind: EntryKind::File { size, executable: false } }])
    }
}

/// Opens a bundle, an installed prefix, a directory of bundles or packages (a channel too), a package, or
/// what simpack did not make: a library, cubin, fatbin or PTX file, a static archive, any other directory.
///
/// # Errors
/// A path does not exist, or holds nothing that a lint looks at.
pub fn open<P: AsRef<Path>>(paths: &[P]) -> Result<Opened> {
    let mut opened = Opened::default();
    for path in paths.iter().map(AsRef::as_ref) {
        let before = opened.count();
        if path.is_dir() {
            opened.directory(path)?;
        } else if is_package(path) && path.is_file() {
            opened.package(path)?;
        } else if path.is_file() && fs_err::metadata(path)?.len() == 0 {
            opened.gap(&path.file_name().unwrap_or_default().to_string_lossy(), "the file is empty");
        } else if path.is_file() && is_code(path)? {
            opened.library(path)?;
        } else {
            let what = if path.exists() { "is no package, library or device code" } else { "does not exist" };
            return Err(Error::usage(format!("{} {what}", path.display())).hint(
                "give a directory (dist/), a .conda, .tar.bz2, .whl, .tar.zst or .tar.gz file, a library, or device code",
            ));
        }
        if opened.count() == before {
            return Err(Error::usage(format!("{} holds nothing to examine", path.display()))
                .hint("`simpack build` leaves packages in dist/; libraries and others' packages are examined too"));
        }
    }
    opened.bundles.sort_by_key(|Bundle { manifest, .. }| (manifest.package.clone(), manifest.target, manifest.cuda));
    Ok(opened)
}

/// Whether a file is of a kind that the readers know.
fn is_code(path: &Path) -> Result<bool> {
    let content = Content::open(path)?;
    let bytes = content.bytes();
    Ok(elf::is_elf(bytes)
        || bytes.starts_with(b"!<arch>\n")
        || bytes.starts_with(b"!<thin>\n")
        || gpu::is_fatbin(bytes)
        || gpu::is_ptx(bytes)
        || gpu::is_spirv(bytes)
        || gpu::is_offload_bundle(bytes))
}

impl Opened {
    /// The same, where nothing can be said without all of it.
    ///
    /// # Errors
    /// A package, or its manifest, is damaged.
    pub fn complete(self) -> Result<Self> {
        let mut gaps = self.incomplete.iter().map(|gap| format!("{}: {}", gap.subject, gap.reason));
        match gaps.next() {
            None => Ok(self),
            Some(first) => Err(gaps.fold(Error::new(ErrorKind::Incomplete, first), |error, gap| error.detail(gap))),
        }
    }

    /// How many things were found, good or not.
    fn count(&self) -> usize {
        self.bundles.len() + self.foreign.len() + self.incomplete.len()
    }

    /// A tree with manifests is a bundle or a prefix; any other directory is searched for packages
    /// and for bundles directly below it, and without any is what somebody else made.
    fn directory(&mut self, dir: &Path) -> Result<()> {
        if self.tree(dir, &dir.display().to_string())? {
            return Ok(());
        }
        let before = self.count();
        let mut packages = BTreeSet::new();
        for entry in walkdir::WalkDir::new(dir).min_depth(1).max_depth(4).sort_by_file_name() {
            let entry = entry.map_err(|error| Error::file(dir, error))?;
            if entry.file_type().is_file() && is_searched(entry.path()) {
                packages.insert(entry.path().to_owned());
            } else if entry.file_type().is_dir() && entry.depth() == 1 {
                self.tree(entry.path(), &entry.path().display().to_string())?;
            }
        }
        packages.iter().try_for_each(|package| self.package(package))?;
        if self.count() == before {
            let name = fs_err::canonicalize(dir)?.file_name().unwrap_or_default().to_string_lossy().into_owned();
            self.add_foreign(Foreign { name, root: dir.to_owned(), file: None, platform: None })?;
        }
        Ok(())
    }

    /// Adds what others made, if there is any file in it; answers whether there is.
    fn add_foreign(&mut self, foreign: Foreign) -> Result<bool> {
        let has_files = !foreign.entries()?.is_empty();
        if has_files {
            self.foreign.push(foreign);
        }
        Ok(has_files)
    }

    /// One file, which is its own subject.
    fn library(&mut self, path: &Path) -> Result<()> {
        let name = fs::utf8(Path::new(path.file_name().unwrap_or_default()))?.to_owned();
        let root = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        self.foreign.push(Foreign { file: Some(name.clone()), root: root.to_owned(), platform: None, name });
        Ok(())
    }

    /// Bundles of a tree with `share/simpack/*/simpack.json`; answers whether there were any.
    fn tree(&mut self, root: &Path, name: &str) -> Result<bool> {
        let found = manifests_below(root)?;
        let any = !found.is_empty();
        for found in found {
            match found.manifest {
                Ok(manifest) => self.bundles.push(Bundle::new(root.to_owned(), manifest)),
                Err(reason) => self.gap(name, &reason.to_string()),
            }
        }
        Ok(any)
    }

    fn package(&mut self, path: &Path) -> Result<()> {
        let dir = tempfile::Builder::new().prefix("simpack-verify-").tempdir()?;
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let mut refused = Vec::new();
        let index = unpack(path, dir.path(), &mut |error| refused.push(error));
        for error in refused {
            self.gap(&name, &error.to_string());
            if let ContainerError::Refused { path, why: why @ (Refusal::Name | Refusal::LinkOut) } = error {
                self.strays.push(Stray { package: name.clone(), member: path, why: why.to_string() });
            }
        }
        match index {
            Err(reason) => self.gap(&name, &format!("cannot be unpacked: {reason}")),
            Ok(index) => {
                let made = self.tree(dir.path(), &name)?;
                let cuda = self.bundles.last().filter(|_| made).and_then(|bundle| bundle.manifest.cuda);
                self.indexes.extend(index.map(|record| PackageIndex { record, cuda }));
                let platform = platform(&name).map(str::to_owned);
                let foreign = Foreign { name: distribution(&name), root: dir.path().to_owned(), file: None, platform };
                if !made && !self.add_foreign(foreign)? {
                    self.gap(&name, "holds no files");
                }
                self.unpacked.push(dir);
            }
        }
        Ok(())
    }

    fn gap(&mut self, subject: &str, reason: &str) {
        self.incomplete.push(Incomplete {
            subject: subject.to_owned(),
            topic: "manifest".to_owned(),
            reason: reason.to_owned(),
        });
    }
}

/// Name and version of a wheel (`neuron_gpu-8.2.2` of `neuron_gpu-8.2.2-cp311-cp311-linux_x86_64.whl`; binary
/// distribution format, file name convention); the file's name of anything else.
fn distribution(file: &str) -> String {
    let mut parts = file.split('-');
    match (file.ends_with(".whl"), parts.next(), parts.next()) {
        (true, Some(name), Some(version)) => format!("{name}-{version}"),
        _ => file.to_owned(),
    }
}

/// The platform tags of a wheel's file name: its last part, which dots divide further.
fn platform(file: &str) -> Option<&str> {
    file.strip_suffix(".whl")?.rsplit_once('-').map(|(_, tags)| tags)
}
