//! Plain `.tar.zst` archives: the tree as it is installed, for users without a package manager; with the licences, and a
//! module file for Lmod beside core.
//!
//! All archives of a distribution unpack into one prefix and never clash.

use std::io::BufWriter;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use super::conda::Conda;
use super::lmod::module;
use super::{
    BuiltPackage, Content, Format, FormatContext, Named, Package, PackageWriter, Rendered, companions, feed, level,
    licences, write_all,
};
use crate::bundle::{Artifact, ArtifactKind};
use crate::error::{Error, Result};
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
            let mut beside = companions(spec.package, context)?;
            beside.extend(licences(spec.package));
            beside.extend((spec.package.manifest.component == ComponentKind::Core).then(|| module(spec.package)));
            feed(spec.package, &beside, TarWriter::new(spec, dir, threads)?)
        })
    }
}

type Archive = tar::Builder<zstd::Encoder<'static, BufWriter<tempfile::NamedTempFile>>>;

/// Streams entries into the archive.
struct TarWriter {
    archive: Archive,
    target: PathBuf,
    named: Named,
    time: u64,
}

impl TarWriter {
    fn new(spec: &Rendered<'_>, dir: &Path, threads: u32) -> Result<Self> {
        fs_err::create_dir_all(dir)?;
        let file = tempfile::Builder::new().prefix(".simpack-").tempfile_in(dir)?;
        let mut encoder = zstd::Encoder::new(BufWriter::new(file), level(spec.package))?;
        // Also for one thread: zstd's threaded mode cuts its input the same way for any number of
        // workers, and differently from the mode without workers.
        encoder.multithread(threads)?;
        encoder.include_checksum(true)?;
        let target = dir.join(format!("{}.tar.zst", spec.stem()));
        Ok(Self { archive: tar::Builder::new(encoder), target, named: spec.named(), time: spec.package.time() })
    }
}

/// The header of an entry: nobody's, at the package's time.
pub(super) fn header(kind: tar::EntryType, mode: u32, size: u64, time: u64) -> tar::Header {
    let mut header = tar::Header::new_gnu();
    header.set_entry_type(kind);
    header.set_mode(mode);
    header.set_size(size);
    header.set_mtime(time);
    header.set_uid(0);
    header.set_gid(0);
    header
}

impl PackageWriter for TarWriter {
    type Output = BuiltPackage;

    fn file(&mut self, artifact: &Artifact, content: Content<'_>) -> Result<()> {
        let ArtifactKind::File { size, executable, .. } = artifact.kind else {
            return Err(Error::bug(format!("{} is no file", artifact.path)));
        };
        let mode = if executable { 0o755 } else { 0o644 };
        let mut header = header(tar::EntryType::Regular, mode, size, self.time);
        match content {
            Content::Bytes(bytes) => self.archive.append_data(&mut header, &artifact.path, bytes)?,
            Content::File(file) => self.archive.append_data(&mut header, &artifact.path, file.file())?,
        }
        Ok(())
    }

    fn link(&mut self, artifact: &Artifact, to: &str) -> Result<()> {
        let mut header = header(tar::EntryType::Symlink, 0o777, 0, self.time);
        Ok(self.archive.append_link(&mut header, &artifact.path, to)?)
    }

    fn finish(self) -> Result<BuiltPackage> {
        let file = self.archive.into_inner()?.finish()?;
        let file = file.into_inner().map_err(|error| Error::from(error.into_error()))?;
        BuiltPackage::publish(file, self.target, self.named)
    }
}
