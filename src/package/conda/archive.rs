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

use super::super::epoch::zip_time;
use super::super::tar::PackedTar;
use super::super::{
    BuiltPackage, Content, Efforts, Format, FormatContext, Package, PackageWriter, Rendered, companions, feed,
    write_all,
};
use super::{Specs, index, info};
use crate::bundle::Artifact;
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

/// Streams the package's files into the first packed archive.
struct CondaWriter<'a> {
    spec: &'a Rendered<'a>,
    target: PathBuf,
    options: SimpleFileOptions,
    files: PackedTar<Zip>,
    artifacts: Vec<Artifact>,
    threads: NonZeroUsize,
}

impl<'a> CondaWriter<'a> {
    fn new(spec: &'a Rendered<'a>, dir: &Path, threads: NonZeroUsize) -> Result<Self> {
        let parent = dir.join(&spec.subdir);
        fs_err::create_dir_all(&parent)?;
        let target = parent.join(format!("{}.conda", spec.stem()));
        let options = SimpleFileOptions::default()
            .compression_method(CompressionMethod::Stored)
            .last_modified_time(zip_time(spec.package)?)
            .large_file(true);
        let file = tempfile::Builder::new().prefix(".simpack-").tempfile_in(parent)?;
        let mut zip = ZipWriter::new(BufWriter::new(file));
        let about = serde_json::to_vec(&PackageMetadata::default())
            .map_err(|error| Error::bug("the version of a package's format does not print").because(error))?;
        zip.start_file("metadata.json", options).map_err(|error| failed(&target, error))?;
        zip.write_all(&about)?;
        zip.start_file(format!("pkg-{}.tar.zst", spec.stem()), options).map_err(|error| failed(&target, error))?;
        let files = PackedTar::new(zip, spec.package.time(), Efforts::of(spec.package)?, threads)?;
        Ok(Self { spec, target, options, files, artifacts: Vec::new(), threads })
    }
}

fn failed(target: &Path, error: ZipError) -> Error {
    Error::file(target, "cannot be written").because(error)
}

impl PackageWriter for CondaWriter<'_> {
    type Output = BuiltPackage;

    fn file(&mut self, artifact: &Artifact, content: Content<'_>) -> Result<()> {
        self.artifacts.push(artifact.clone());
        self.files.file(artifact, content)
    }

    fn link(&mut self, artifact: &Artifact, to: &str) -> Result<()> {
        self.artifacts.push(artifact.clone());
        self.files.link(&artifact.path, to)
    }

    fn finish(self) -> Result<BuiltPackage> {
        let mut zip = self.files.finish()?;
        let wrong = |error| failed(&self.target, error);
        zip.start_file(format!("info-{}.tar.zst", self.spec.stem()), self.options).map_err(wrong)?;
        let mut about = PackedTar::new(zip, self.spec.package.time(), Efforts::default(), self.threads)?;
        for (path, bytes) in info::files(self.spec, &self.artifacts)? {
            about.text(&path, &bytes)?;
        }
        let file = about.finish()?.finish().map_err(wrong)?;
        let file = file.into_inner().map_err(|error| Error::from(error.into_error()))?;
        BuiltPackage::publish(file, self.target, self.spec.named())
    }
}
