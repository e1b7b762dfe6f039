//! `.conda` archives (conda package format 2): a zip that stores two packed archives, one of the files and one of what
//! describes them. They are written here, as a stream: rattler's writer reads a tree that is laid out for it, keeps the
//! archive on disk once more, and has one level for all files.

use std::collections::BTreeSet;
use std::io::{BufWriter, Write};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use rattler_conda_types::package::PackageMetadata;
use tempfile::NamedTempFile;
use zip::result::ZipError;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use super::super::reading::kept::KeptList;
use super::super::writing::epoch::zip_time;
use super::super::writing::packed_tar::PackedTar;
use super::super::{
    BuiltPackage, Content, Effort, Efforts, Format, FormatContext, Package, PackageWriter, Rendered, companions, feed,
    write_all,
};
use super::{Specs, index, info, kept};
use crate::bundle::{Artifact, BundleManifest};
use crate::error::{Error, Result};
use crate::manifest::Vendor;

/// Packages of conda, in a channel with its index.
#[derive(Debug, Clone, Copy)]
pub struct Conda;

impl Format for Conda {
    fn name(&self) -> &'static str {
        "conda"
    }

    fn about(&self) -> &'static str {
        "conda packages in a channel with its index; for conda, mamba, pixi"
    }

    fn endings(&self) -> &'static [&'static str] {
        &[".conda"]
    }

    fn has_variants(&self) -> bool {
        true
    }

    fn kept(&self, prefix: &Path, manifest: &BundleManifest) -> Option<KeptList> {
        kept::kept(prefix, manifest)
    }

    fn has_installed(&self, prefix: &Path) -> bool {
        kept::has_installed(prefix)
    }

    fn write(
        &self,
        packages: &[Package],
        context: &FormatContext<'_>,
        dir: &Path,
        jobs: NonZeroUsize,
    ) -> Result<Vec<BuiltPackage>> {
        let rendered = self.render(packages, &context.manifests.vendor)?;
        let built = write_all(&rendered, jobs, |spec, threads| {
            feed(spec.package, &companions(spec.package, context)?, CondaWriter::new(spec, dir, threads)?)
        })?;
        index(dir, context.earlier, context.now)?;
        Ok(built)
    }
}

impl Conda {
    /// Packages in conda's words.
    ///
    /// # Errors
    /// A package holds what conda has no words for.
    pub fn render<'a>(&self, packages: &'a [Package], vendor: &Vendor) -> Result<Vec<Rendered<'a>>> {
        let simulator = packages.first().map_or("", |package| &package.manifest.simulator);
        let mut specs = Specs::new(simulator, vendor);
        let rendered = packages.iter().map(|package| specs.render(package)).collect::<Result<Vec<_>>>()?;
        let mut stems = BTreeSet::new();
        match rendered.iter().map(Rendered::stem).find(|stem| !stems.insert(stem.clone())) {
            Some(twice) => Err(Error::bug(format!("two packages are named {twice}"))),
            None => Ok(rendered),
        }
    }
}

type Zip = ZipWriter<BufWriter<NamedTempFile>>;

/// A `.conda` archive in the making: first the files, then what describes them.
pub struct CondaArchive {
    part: PackedTar<Zip>,
    stem: String,
    time: u64,
    options: SimpleFileOptions,
    threads: NonZeroUsize,
}

impl CondaArchive {
    /// An archive in the directory `dir`, whose parts are named after `stem`; all entries have the time `time` in
    /// seconds since 1970, and files the efforts that `efforts` says. Compresses on so many threads.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn new(dir: &Path, stem: &str, time: u64, efforts: Efforts, threads: NonZeroUsize) -> Result<Self> {
        let options = SimpleFileOptions::default()
            .compression_method(CompressionMethod::Stored)
            .last_modified_time(zip_time(time)?)
            .large_file(true);
        let file = tempfile::Builder::new().prefix(".simpack-").tempfile_in(dir)?;
        let mut zip = ZipWriter::new(BufWriter::new(file));
        let about = serde_json::to_vec(&PackageMetadata::default())
            .map_err(|error| Error::bug("the version of a package's format does not print").because(error))?;
        zip.start_file("metadata.json", options).map_err(|error| failed(stem, error))?;
        zip.write_all(&about)?;
        zip.start_file(format!("pkg-{stem}.tar.zst"), options).map_err(|error| failed(stem, error))?;
        let part = PackedTar::new(zip, time, efforts, threads);
        Ok(Self { part, stem: stem.to_owned(), time, options, threads })
    }

    /// Adds a file whose effort is not among those that were said at the start.
    ///
    /// # Errors
    /// It cannot be read or written.
    pub fn entry(
        &mut self,
        path: &str,
        size: u64,
        executable: bool,
        effort: Effort,
        file: &fs_err::File,
    ) -> Result<()> {
        self.part.entry(path, size, executable, effort, file.file())
    }

    /// Adds a symbolic link.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn link(&mut self, path: &str, to: &str) -> Result<()> {
        self.part.link(path, to)
    }

    /// What comes from here on describes the files.
    ///
    /// # Errors
    /// The end of the files cannot be written.
    pub fn about(self) -> Result<Self> {
        let Self { part, stem, time, options, threads } = self;
        let mut zip = part.finish()?;
        zip.start_file(format!("info-{stem}.tar.zst"), options).map_err(|error| failed(&stem, error))?;
        let part = PackedTar::new(zip, time, Efforts::default(), threads);
        Ok(Self { part, stem, time, options, threads })
    }

    /// Completes it; it still has to get its name.
    ///
    /// # Errors
    /// The end cannot be written.
    pub fn finish(self) -> Result<NamedTempFile> {
        let file = self.part.finish()?.finish().map_err(|error| failed(&self.stem, error))?;
        file.into_inner().map_err(|error| Error::from(error.into_error()))
    }
}

fn failed(stem: &str, error: ZipError) -> Error {
    Error::file(format!("{stem}.conda"), "cannot be written").because(error)
}

/// Streams the package's files into the archive.
struct CondaWriter<'a> {
    spec: &'a Rendered<'a>,
    target: PathBuf,
    archive: CondaArchive,
    artifacts: Vec<Artifact>,
}

impl<'a> CondaWriter<'a> {
    fn new(spec: &'a Rendered<'a>, dir: &Path, threads: NonZeroUsize) -> Result<Self> {
        let parent = dir.join(&spec.subdir);
        fs_err::create_dir_all(&parent)?;
        let (stem, efforts) = (spec.stem(), Efforts::of(spec.package)?);
        let archive = CondaArchive::new(&parent, &stem, spec.package.time(), efforts, threads)?;
        Ok(Self { spec, target: parent.join(format!("{stem}.conda")), archive, artifacts: Vec::new() })
    }
}

impl PackageWriter for CondaWriter<'_> {
    type Output = BuiltPackage;

    fn file(&mut self, artifact: &Artifact, content: Content<'_>) -> Result<()> {
        self.artifacts.push(artifact.clone());
        self.archive.part.file(artifact, content)
    }

    fn link(&mut self, artifact: &Artifact, to: &str) -> Result<()> {
        self.artifacts.push(artifact.clone());
        self.archive.link(&artifact.path, to)
    }

    fn finish(self) -> Result<BuiltPackage> {
        let mut about = self.archive.about()?;
        for (path, bytes) in info::files(self.spec, &self.artifacts)? {
            about.part.text(&path, &bytes)?;
        }
        BuiltPackage::publish(about.finish()?, self.target, self.spec.named())
    }
}
