//! The one trait behind every package's writer, and what feeds it.

use std::io::Seek;
use std::path::PathBuf;

use crate::arch::{CudaVersion, KernelTarget};
use crate::bundle::{Artifact, ArtifactKind};
use crate::error::{Error, Result};
use crate::fs::{Digest, Tree};
use crate::package::{Choice, FormatContext, Package, PackageKind, sbom};
use crate::recipe::HostVariant;

/// A file's bytes.
#[derive(Debug, Clone, Copy)]
pub enum Content<'a> {
    /// In memory.
    Bytes(&'a [u8]),
    /// In a file of the staged tree, which was compared with its digest.
    File(&'a fs_err::File),
}

/// Takes the files of one package in ascending order of their paths.
pub trait PackageWriter {
    /// What the finished package is.
    type Output;

    /// Adds a file; `artifact` says its path, size, digest and mode.
    ///
    /// # Errors
    /// The file cannot be read or written, or has another digest than its manifest says.
    fn file(&mut self, artifact: &Artifact, content: Content<'_>) -> Result<()>;

    /// Adds a symbolic link.
    ///
    /// # Errors
    /// The path cannot be written.
    fn link(&mut self, artifact: &Artifact, to: &str) -> Result<()>;

    /// Completes the package.
    ///
    /// # Errors
    /// The end cannot be written.
    fn finish(self) -> Result<Self::Output>;
}

/// What a file of a format stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Named {
    /// Package, as the format calls it.
    pub package: String,
    /// The package that it is made of; none for what a format adds.
    pub made_of: Option<String>,
    /// Version, as the format spells it.
    pub version: String,
    /// What tells builds of a version apart; empty where the format has no such thing.
    pub build: String,
    /// Where it runs, in the format's words: conda's `linux-64`, a wheel's `any`.
    pub subdir: String,
    /// CUDA release of its device code.
    pub cuda: Option<CudaVersion>,
    /// Host variant.
    pub host: Option<HostVariant>,
    /// Target that a build of the selector stands for, and when it is taken.
    pub selects: Option<(KernelTarget, Choice)>,
}

impl Named {
    /// By the package's own words.
    pub fn of(package: &Package) -> Self {
        Self {
            package: package.name().to_owned(),
            made_of: Some(package.name().to_owned()),
            version: package.version.to_string(),
            build: String::new(),
            subdir: package.manifest.platform.map_or_else(|| "noarch".to_owned(), |platform| platform.to_string()),
            cuda: package.manifest.cuda,
            host: package.manifest.host.clone(),
            selects: match package.kind {
                PackageKind::Selector(choice) => package.manifest.target.map(|target| (target, choice)),
                _ => None,
            },
        }
    }
}

/// A package that lies on disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BuiltPackage {
    /// What it is.
    pub named: Named,
    /// File name.
    pub file_name: String,
    /// Where it lies.
    pub path: PathBuf,
    /// SHA-256 of the archive.
    pub sha256: Digest,
    /// Bytes of the archive.
    pub size: u64,
}

/// A file that simpack puts beside a package's manifest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Companion {
    /// Path below the prefix.
    pub path: String,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

/// The bill of materials of a package, which every format installs beside its manifest.
///
/// # Errors
/// It cannot be made.
pub fn companions(package: &Package, context: &FormatContext<'_>) -> Result<Vec<Companion>> {
    let bytes = sbom(package, &context.manifests.redistribution)?;
    Ok(vec![Companion { path: package.manifest.sbom_path(), bytes }])
}

/// The same with the licence texts, for formats that have no place of their own for them.
///
/// # Errors
/// As [`companions`].
pub fn with_licences(package: &Package, context: &FormatContext<'_>) -> Result<Vec<Companion>> {
    let mut beside = companions(package, context)?;
    beside.extend(package.licences.iter().map(|(name, text)| Companion {
        path: format!("share/simpack/{}/licenses/{name}", package.name()),
        bytes: text.clone().into_bytes(),
    }));
    Ok(beside)
}

/// Hands all files of a package to a writer: the manifest's artifacts, the manifest itself and its companions.
///
/// # Errors
/// The staged tree does not hold what the manifest says, or the writer fails.
pub fn feed<W: PackageWriter>(package: &Package, companions: &[Companion], mut writer: W) -> Result<W::Output> {
    let manifest_json = package.manifest_json()?;
    let manifest = Companion { path: package.manifest.path(), bytes: manifest_json };
    let own: Vec<(Artifact, &[u8])> = std::iter::once(&manifest).chain(companions).map(Companion::artifact).collect();
    let mut artifacts: Vec<&Artifact> = package.manifest.artifacts.iter().collect();
    artifacts.extend(own.iter().map(|(artifact, _)| artifact));
    artifacts.sort_by(|a, b| a.path.cmp(&b.path));
    if let Some(pair) = artifacts.windows(2).find(|pair| pair[0].path == pair[1].path) {
        return Err(Error::bug(format!("package {} holds {} twice", package.name(), pair[0].path)));
    }
    for artifact in artifacts {
        safe(package, &artifact.path)?;
        if let Some((_, bytes)) = own.iter().find(|(own, _)| own.path == artifact.path) {
            writer.file(artifact, Content::Bytes(bytes))?;
            continue;
        }
        match &artifact.kind {
            ArtifactKind::Link { to } => writer.link(artifact, to)?,
            ArtifactKind::File { sha256, size, .. } => {
                let file = staged(package, &artifact.path)?;
                unchanged(&file, *sha256, *size)?;
                writer.file(artifact, Content::File(&file))?;
            }
        }
    }
    writer.finish()
}

impl Companion {
    fn artifact(&self) -> (Artifact, &[u8]) {
        let (sha256, size) = (Digest::of(&self.bytes), self.bytes.len() as u64);
        let kind = ArtifactKind::File { sha256, size, executable: false };
        (Artifact { path: self.path.clone(), kind }, &self.bytes)
    }
}

/// Paths stay below the prefix, and out of conda's own directories.
fn safe(package: &Package, path: &str) -> Result<()> {
    let whole = path.split('/').all(|part| !part.is_empty() && part != "." && part != "..");
    match path.split('/').next() {
        Some(top) if whole && !matches!(top, "info" | "conda-meta") => Ok(()),
        _ => Err(Error::file(path, format!("package {} cannot hold this path", package.name()))
            .hint("paths in packages are relative, and `info` and `conda-meta` belong to the package manager")),
    }
}

/// Opens a file of a package's staged tree.
pub(in crate::package) fn staged(package: &Package, path: &str) -> Result<fs_err::File> {
    let root = package.root.as_ref();
    let root = root.ok_or_else(|| Error::bug(format!("package {} has files but no tree", package.name())))?;
    Tree::at(root)?.open(path)
}

/// What is packed is what was verified: the file still has the manifest's size and digest.
pub(in crate::package) fn unchanged(file: &fs_err::File, sha256: Digest, size: u64) -> Result<()> {
    if file.metadata()?.len() != size || Digest::of_open(file)? != sha256 {
        return Err(Error::file(file.path(), "changed since it was staged").hint("run the build again"));
    }
    // From the start again, for whoever packs it.
    Ok(file.file().rewind()?)
}

impl BuiltPackage {
    /// Gives a finished archive its name, in one step.
    pub(in crate::package) fn publish(archive: tempfile::NamedTempFile, target: PathBuf, named: Named) -> Result<Self> {
        archive.as_file().sync_data().map_err(|error| Error::file(&target, "cannot be written").because(error))?;
        crate::fs::set_mode(archive.path(), 0o644)?;
        let (sha256, size) = (Digest::of_file(archive.path())?, fs_err::metadata(archive.path())?.len());
        archive.persist(&target).map_err(|error| Error::file(&target, error.error))?;
        let file_name = target.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        Ok(Self { named, file_name, path: target, sha256, size })
    }
}
