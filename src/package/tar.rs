//! Plain `.tar.zst` archives: the tree as it is installed, for users without a package manager; with the licences, and a
//! module file for Lmod beside core.
//!
//! All archives of a distribution unpack into one prefix and never clash.

use std::io::BufWriter;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use super::conda::Conda;
use super::lmod::module;
use super::reading::kept::{KeptDigest, KeptFile, KeptList, sums, sums_of, sums_path};
use super::writing::packed_tar::PackedTar;
use super::{
    BuiltPackage, Content, Efforts, Format, FormatContext, Named, Package, PackageWriter, Rendered, feed,
    with_licences, write_all,
};
use crate::bundle::{Artifact, BundleManifest};
use crate::error::{Error, Result};
use crate::fs;
use crate::recipe::ComponentKind;

/// Plain archives, one for every package that has files of its own.
#[derive(Debug, Clone, Copy)]
pub struct Tar;

impl Format for Tar {
    fn name(&self) -> &'static str {
        "tar"
    }

    fn about(&self) -> &'static str {
        "plain .tar.zst archives that unpack into one prefix; for sites without a package manager"
    }

    fn endings(&self) -> &'static [&'static str] {
        &[".tar.zst"]
    }

    /// No client keeps a list, so packages bring one.
    fn kept(&self, prefix: &Path, manifest: &BundleManifest) -> Option<KeptList> {
        let place = sums_path(manifest);
        let path = prefix.join(&place);
        let file = |(digest, path): (&str, &str)| {
            let digest = KeptDigest::Sha256(digest.parse().map_err(|error| format!("{path}: {error}"))?);
            Ok(KeptFile { path: path.to_owned(), digest })
        };
        let read = |path: &Path| fs::read_to_string(path).map_err(|error| error.to_string());
        let files = |text: &str| sums(text)?.into_iter().map(file).collect();
        let files = path.is_file().then(|| read(&path).and_then(|text| files(&text)))?;
        Some(KeptList::new(place, prefix, "", files, manifest))
    }

    /// Archives ask for nothing. They are called as conda's packages of the same content, so that one name stands for
    /// one build everywhere.
    fn write(
        &self,
        packages: &[Package],
        context: &FormatContext<'_>,
        dir: &Path,
        jobs: NonZeroUsize,
    ) -> Result<Vec<BuiltPackage>> {
        let rendered = Conda.render(packages, &context.manifests.vendor)?;
        let with_files: Vec<&Rendered<'_>> = rendered.iter().filter(|one| one.package.root.is_some()).collect();
        write_all(&with_files, jobs, |spec, threads| {
            let mut beside = with_licences(spec.package, context)?;
            beside.extend((spec.package.manifest.component == ComponentKind::Core).then(|| module(spec.package)));
            beside.push(sums_of(spec.package, &beside)?);
            feed(spec.package, &beside, TarWriter::new(spec, dir, threads)?)
        })
    }
}

/// Streams entries into the archive.
struct TarWriter {
    archive: PackedTar<BufWriter<tempfile::NamedTempFile>>,
    target: PathBuf,
    named: Named,
}

impl TarWriter {
    fn new(spec: &Rendered<'_>, dir: &Path, threads: NonZeroUsize) -> Result<Self> {
        fs_err::create_dir_all(dir)?;
        let file = tempfile::Builder::new().prefix(".simpack-").tempfile_in(dir)?;
        let archive = PackedTar::new(BufWriter::new(file), spec.package.time(), Efforts::of(spec.package)?, threads);
        Ok(Self { archive, target: dir.join(format!("{}.tar.zst", spec.stem())), named: spec.named() })
    }
}

impl PackageWriter for TarWriter {
    type Output = BuiltPackage;

    fn file(&mut self, artifact: &Artifact, content: Content<'_>) -> Result<()> {
        self.archive.file(artifact, content)
    }

    fn link(&mut self, artifact: &Artifact, to: &str) -> Result<()> {
        self.archive.link(&artifact.path, to)
    }

    fn finish(self) -> Result<BuiltPackage> {
        let file = self.archive.finish()?.into_inner().map_err(|error| Error::from(error.into_error()))?;
        BuiltPackage::publish(file, self.target, self.named)
    }
}
