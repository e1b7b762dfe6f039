//! `.conda` archives, by rattler's writer.

use std::collections::BTreeSet;
use std::io::BufWriter;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use rattler_conda_types::compression_level::CompressionLevel;
use rattler_package_streaming::write::write_conda_package;

use super::super::{
    BuiltPackage, Content, Format, FormatContext, Package, PackageWriter, Rendered, companions, feed, level, write_all,
};
use super::{Specs, index, info};
use crate::bundle::{Artifact, ArtifactKind};
use crate::error::{Error, Result};
use crate::fs::Tree;
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

    fn write(
        &self,
        packages: &[Package],
        context: &FormatContext<'_>,
        dir: &Path,
        jobs: NonZeroUsize,
    ) -> Result<Vec<BuiltPackage>> {
        let rendered = self.render(packages, &context.manifests.vendor)?;
        let write = |spec: &Rendered<'_>, threads| {
            feed(spec.package, &companions(spec.package, context)?, CondaWriter::new(spec, dir, threads)?)
        };
        let built = write_all(&rendered.iter().collect::<Vec<_>>(), jobs, write)?;
        index(dir)?;
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

/// Lays the package out beside its destination, then has it packed: rattler's writer reads files.
struct CondaWriter<'a> {
    spec: &'a Rendered<'a>,
    target: PathBuf,
    layout: tempfile::TempDir,
    artifacts: Vec<Artifact>,
    threads: u32,
}

impl<'a> CondaWriter<'a> {
    fn new(spec: &'a Rendered<'a>, dir: &Path, threads: u32) -> Result<Self> {
        let parent = dir.join(&spec.subdir);
        fs_err::create_dir_all(&parent)?;
        let layout = tempfile::Builder::new().prefix(".simpack-").tempdir_in(&parent)?;
        let target = parent.join(format!("{}.conda", spec.stem()));
        Ok(Self { spec, target, layout, artifacts: Vec::new(), threads })
    }

    fn tree(&self) -> Result<Tree> {
        Tree::at(self.layout.path())
    }
}

impl PackageWriter for CondaWriter<'_> {
    type Output = BuiltPackage;

    fn file(&mut self, artifact: &Artifact, content: Content<'_>) -> Result<()> {
        let executable = matches!(artifact.kind, ArtifactKind::File { executable: true, .. });
        let mode = if executable { 0o755 } else { 0o644 };
        match content {
            Content::Bytes(bytes) => self.tree()?.file(&artifact.path, bytes, mode)?,
            Content::File(from) => self.tree()?.copy(from, &artifact.path, Some(mode))?,
        }
        self.artifacts.push(artifact.clone());
        Ok(())
    }

    fn link(&mut self, artifact: &Artifact, to: &str) -> Result<()> {
        self.tree()?.symlink(to, &artifact.path)?;
        self.artifacts.push(artifact.clone());
        Ok(())
    }

    fn finish(self) -> Result<BuiltPackage> {
        let mut paths: Vec<PathBuf> =
            self.artifacts.iter().map(|artifact| self.layout.path().join(&artifact.path)).collect();
        for (path, bytes) in info::files(self.spec, &self.artifacts)? {
            self.tree()?.file(&path, &bytes, 0o644)?;
            paths.push(self.layout.path().join(path));
        }
        let parent = self.target.parent().unwrap_or(Path::new("."));
        let mut archive = tempfile::Builder::new().prefix(".simpack-").tempfile_in(parent)?;
        write_conda_package(
            BufWriter::new(archive.as_file_mut()),
            self.layout.path(),
            &paths,
            CompressionLevel::Numeric(level(self.spec.package)),
            Some(self.threads),
            &self.spec.stem(),
            Some(&info::timestamp(self.spec.package)?),
            None,
        )
        .map_err(|error| Error::file(&self.target, "cannot be written").because(error))?;
        BuiltPackage::publish(archive, self.target, self.spec.named())
    }
}
