//! What a user may point at: a bundle, a prefix, a directory of packages, one package; and what others
//! made: wheels, conda packages, archives, libraries, trees.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use tempfile::TempDir;

use super::held::{Held, ROOM, held};
use super::unpack::{is_package, is_searched, layer, unpack};
use super::{PackageIndex, Stray};
use crate::bundle::{Bundle, manifests_below};
use crate::container::{ContainerError, Refusal};
use crate::elf;
use crate::error::{Error, ErrorKind, Result};
use crate::fs::{self, Content, Digest, Entry, EntryKind};
use crate::gpu;
use crate::package::{PythonProject, deb, oci, projects, site_directories};
use crate::parallel::{side_by_side, threads};
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
    /// Bytes of packages that may be held in memory instead.
    pub(super) room: AtomicU64,
}

/// Files that simpack did not make: nothing is known of what they promise.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Foreign {
    /// What findings call it: a package's file name, a directory's or a file's name.
    pub name: String,
    /// Directory that its paths are below.
    pub root: PathBuf,
    /// Which files below it are meant.
    pub extent: Extent,
    /// Platform tags of a wheel, as its file name or its metadata have them.
    pub platform: Option<String>,
    /// What it says of itself, if it is a wheel or an installed project of Python.
    pub project: Option<Arc<PythonProject>>,
    /// The environment that it is installed in, as the user named it: what is in one meets in one process.
    pub environment: Option<String>,
}

/// Which files below a directory are meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Extent {
    /// All of them.
    All,
    /// One, named by the user: what lies around it is not known.
    One(String),
    /// Those of an installed project, as it lists them; paths may lead above the directory.
    Listed(Vec<String>),
}

impl Foreign {
    /// A file or directory of which nothing else is known.
    fn unknown(name: String, root: PathBuf, extent: Extent) -> Self {
        Self { name, root, extent, platform: None, project: None, environment: None }
    }

    /// Its files and links. What a list names and is not there, or is no file, is left out.
    ///
    /// # Errors
    /// A directory cannot be read.
    pub fn entries(&self) -> Result<Vec<Entry>> {
        match &self.extent {
            Extent::All => {
                let mut entries = fs::walk(&self.root)?;
                entries.retain(|entry| entry.kind != EntryKind::Directory);
                Ok(entries)
            }
            Extent::One(file) => {
                let size = fs_err::metadata(self.root.join(file))?.len();
                Ok(vec![Entry { path: file.clone(), kind: EntryKind::File { size, executable: false } }])
            }
            Extent::Listed(paths) => Ok(paths.iter().filter_map(|path| listed(&self.root, path)).collect()),
        }
    }
}

/// A file of a list as a walk would have found it.
fn listed(root: &Path, path: &str) -> Option<Entry> {
    let data = root.join(path).symlink_metadata().ok()?;
    let kind = if data.is_file() {
        let executable = std::os::unix::fs::MetadataExt::mode(&data) & 0o100 != 0;
        EntryKind::File { size: data.len(), executable }
    } else if data.is_symlink() {
        EntryKind::Link(fs_err::read_link(root.join(path)).ok()?.to_str()?.to_owned())
    } else {
        return None;
    };
    Some(Entry { path: path.to_owned(), kind })
}

/// Opens a bundle, an installed prefix, a directory of bundles or packages (a channel too), a package, or
/// what simpack did not make: a library, cubin, fatbin or PTX file, a static archive, any other directory.
///
/// # Errors
/// A path does not exist, or holds nothing that a lint looks at.
pub fn open<P: AsRef<Path>>(paths: &[P]) -> Result<Opened> {
    Opened::default().with(paths)
}

/// As [`open`], for [`Opened::verify`] alone: small packages are held in memory, and their bundles lie nowhere on a disk.
///
/// # Errors
/// As [`open`].
pub fn open_to_verify<P: AsRef<Path>>(paths: &[P]) -> Result<Opened> {
    Opened { room: AtomicU64::new(ROOM), ..Opened::default() }.with(paths)
}

impl Opened {
    fn with<P: AsRef<Path>>(self, paths: &[P]) -> Result<Self> {
        let mut opened = self;
        for path in paths.iter().map(AsRef::as_ref) {
            let before = opened.count();
            if path.is_dir() {
                opened.directory(path)?;
            } else if is_package(path) && path.is_file() {
                opened.packages(&[path.to_owned()])?;
            } else if path.is_file() && fs_err::metadata(path)?.len() == 0 {
                opened.gap(&path.file_name().unwrap_or_default().to_string_lossy(), "the file is empty");
            } else if path.is_file() && is_code(path)? {
                opened.library(path)?;
            } else {
                let what = if path.exists() { "is no package, library or device code" } else { "does not exist" };
                return Err(Error::usage(format!("{} {what}", path.display())).hint(
                "give a directory (dist/), a .conda, .whl, .deb, .tar.zst, .tar.bz2 or .tar.gz file, a library, or device code",
            ));
            }
            if opened.count() == before {
                return Err(Error::usage(format!("{} holds nothing to examine", path.display())).hint(
                    "`simpack build` leaves packages in dist/; libraries and others' packages are examined too",
                ));
            }
        }
        opened
            .bundles
            .sort_by_key(|Bundle { manifest, .. }| (manifest.package.clone(), manifest.target, manifest.cuda));
        Ok(opened)
    }
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
        || gpu::is_wgsl(bytes)
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
        if self.environment(dir)? {
            return Ok(());
        }
        let before = self.count();
        let mut packages = BTreeSet::new();
        for entry in walkdir::WalkDir::new(dir).min_depth(1).max_depth(4).sort_by_file_name() {
            let entry = entry.map_err(|error| Error::file(dir, error))?;
            if entry.file_type().is_file() && is_searched(entry.path()) {
                packages.insert(entry.path().to_owned());
            } else if entry.file_type().is_file() && entry.file_name() == oci::LAYOUT {
                packages.extend(self.layers(entry.path().parent().unwrap_or(dir))?);
            } else if entry.file_type().is_dir() && entry.depth() == 1 {
                self.tree(entry.path(), &entry.path().display().to_string())?;
            }
        }
        let packages: Vec<PathBuf> = packages.into_iter().collect();
        self.packages(&packages)?;
        if self.count() == before {
            let name = base_name(dir)?;
            self.add_foreign(Foreign::unknown(name, dir.to_owned(), Extent::All))?;
        }
        Ok(())
    }

    /// The layers of an image layout: archives that are named by their digests. No link is followed on the way to them.
    fn layers(&mut self, layout: &Path) -> Result<Vec<PathBuf>> {
        let mut layers = Vec::new();
        let blobs = layout.join(oci::BLOBS);
        for entry in walkdir::WalkDir::new(layout).min_depth(3).max_depth(3).sort_by_file_name() {
            let entry = entry.map_err(|error| Error::file(layout, error))?;
            if entry.path().parent() != Some(&blobs) {
                continue;
            }
            let name = entry.file_name().to_string_lossy().into_owned();
            if !entry.file_type().is_file() {
                self.gap(&name, "is no file, and no blob");
            } else if Digest::of_file(entry.path())?.to_string() != name {
                self.gap(&name, "has other bytes than its name says, which is their digest");
            } else if layer(entry.path()).is_some() {
                layers.push(entry.into_path());
            }
        }
        Ok(layers)
    }

    /// Adds what others made, if there is any file in it; answers whether there is.
    fn add_foreign(&mut self, foreign: Foreign) -> Result<bool> {
        let has_files = !foreign.entries()?.is_empty();
        if has_files {
            self.foreign.push(foreign);
        }
        Ok(has_files)
    }

    /// An environment of Python: each installed project by itself, and beside them what belongs to none. Answers whether
    /// it is one.
    fn environment(&mut self, dir: &Path) -> Result<bool> {
        let sites = site_directories(dir);
        let environment = dir.display().to_string();
        let mut owned: BTreeSet<PathBuf> = BTreeSet::new();
        for site in &sites {
            for project in projects(site) {
                let paths: Vec<String> = project.files.iter().flatten().map(|file| file.path.clone()).collect();
                let inside: Vec<String> = paths.into_iter().filter(|path| leads_into(dir, site, path)).collect();
                owned.extend(inside.iter().filter_map(|path| normal(&site.join(path))));
                self.foreign.push(Foreign {
                    name: project.label(),
                    root: site.clone(),
                    extent: Extent::Listed(inside),
                    platform: project.platform.clone(),
                    project: Some(Arc::new(project)),
                    environment: Some(environment.clone()),
                });
            }
        }
        if !sites.is_empty() {
            let (entries, _) = fs::walk_all(dir)?;
            let is_left = |entry: &Entry| {
                entry.kind != EntryKind::Directory
                    && !entry.path.contains("__pycache__/")
                    && normal(&dir.join(&entry.path)).is_some_and(|path| !owned.contains(&path))
            };
            let left = entries.into_iter().filter(is_left).map(|entry| entry.path).collect();
            let name = format!("{} (files of no project)", base_name(dir)?);
            let rest = Foreign::unknown(name, dir.to_owned(), Extent::Listed(left));
            self.add_foreign(Foreign { environment: Some(environment), ..rest })?;
        }
        Ok(!sites.is_empty())
    }

    /// One file, which is its own subject. One that belongs to an installed project is seen in its place there.
    fn library(&mut self, path: &Path) -> Result<()> {
        let name = fs::utf8(Path::new(path.file_name().unwrap_or_default()))?.to_owned();
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let (root, file) = in_site(path).unwrap_or_else(|| (parent.to_owned(), name));
        self.foreign.push(Foreign::unknown(file.clone(), root, Extent::One(file)));
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

    /// The same for an unpacked package: the files of a wheel, and of a layer below `opt`, lie below the directory of
    /// their simulator.
    fn unpacked_tree(&mut self, root: &Path, name: &str) -> Result<bool> {
        let mut made = self.tree(root, name)?;
        let layer = root.join(oci::ABOVE);
        let above =
            if name.ends_with(".whl") { Some(root.to_owned()) } else { (!made && layer.is_dir()).then_some(layer) };
        if let Some(above) = above {
            for entry in fs_err::read_dir(above)? {
                let below = entry?.path();
                made |= below.is_dir() && self.tree(&below, name)?;
            }
        }
        Ok(made)
    }

    /// Adds packages: those that can be held are read side by side.
    fn packages(&mut self, paths: &[PathBuf]) -> Result<()> {
        let read = side_by_side(paths, threads(), || (), |(), path| held(path, &self.room));
        for (path, read) in paths.iter().zip(read) {
            match read {
                Some(Held { record, bundles }) => {
                    let cuda = bundles.last().and_then(|(manifest, _)| manifest.cuda);
                    self.indexes.extend(record.map(|record| PackageIndex { record, cuda }));
                    let bundle = |(manifest, files)| Bundle { root: path.clone(), manifest, files };
                    self.bundles.extend(bundles.into_iter().map(bundle));
                }
                None => self.package(path)?,
            }
        }
        Ok(())
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
                let made = self.unpacked_tree(dir.path(), &name)? || self.tree(&dir.path().join(deb::PREFIX), &name)?;
                let cuda = self.bundles.last().filter(|_| made).and_then(|bundle| bundle.manifest.cuda);
                self.indexes.extend(index.map(|record| PackageIndex { record, cuda }));
                let project = projects(dir.path()).into_iter().next().filter(|_| name.ends_with(".whl"));
                let foreign = Foreign {
                    platform: platform(&name).map(str::to_owned),
                    project: project.map(Arc::new),
                    ..Foreign::unknown(distribution(&name), dir.path().to_owned(), Extent::All)
                };
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
            subject: subject.into(),
            topic: "manifest".to_owned(),
            reason: reason.to_owned(),
        });
    }
}

fn base_name(dir: &Path) -> Result<String> {
    Ok(fs_err::canonicalize(dir)?.file_name().unwrap_or_default().to_string_lossy().into_owned())
}

/// The directory of installed projects that a file lies below, and its path there: `$ORIGIN/../..` of a file leads to
/// another project's directory, which only that place tells.
fn in_site(path: &Path) -> Option<(PathBuf, String)> {
    let path = std::path::absolute(path).ok()?;
    let site = path.ancestors().skip(1).find(|dir| site_directories(dir) == [*dir])?;
    Some((site.to_owned(), path.strip_prefix(site).ok()?.to_str()?.to_owned()))
}

/// A path without `.` and `..`, links not looked at; none of one that leads above its root.
fn normal(path: &Path) -> Option<PathBuf> {
    let mut found = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir if !found.pop() => return None,
            Component::ParentDir => {}
            other => found.push(other),
        }
    }
    Some(found)
}

/// Whether what a list names lies below the environment, links followed: a list may name anything.
fn leads_into(environment: &Path, site: &Path, path: &str) -> bool {
    let parent = site.join(path).parent().map(Path::to_owned);
    let real = parent.and_then(|parent| fs_err::canonicalize(parent).ok());
    let environment = fs_err::canonicalize(environment).ok();
    real.zip(environment).is_some_and(|(real, environment)| real.starts_with(environment))
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
