//! Plain `.tar.zst` archives: the tree as it is installed, for users without a package manager; with the licences, and a
//! module file for Lmod beside core.
//!
//! All archives of a distribution unpack into one prefix and never clash.

use std::io::{BufWriter, Read, Write};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use super::conda::Conda;
use super::kept::{KeptDigest, KeptFile, KeptList, sums, sums_of, sums_path};
use super::lmod::module;
use super::{
    BuiltPackage, Content, Effort, Efforts, Format, FormatContext, Frame, Named, Package, PackageWriter, Rendered,
    feed, with_licences, write_all,
};
use crate::bundle::{Artifact, ArtifactKind, BundleManifest};
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
        let archive = PackedTar::new(BufWriter::new(file), spec.package.time(), Efforts::of(spec.package)?, threads)?;
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

/// A `.tar.zst` in the making, in which each file is compressed as it is worth.
pub(super) struct PackedTar<W: Write> {
    archive: tar::Builder<Frame<W>>,
    time: u64,
    efforts: Efforts,
}

impl<W: Write> PackedTar<W> {
    /// An archive that goes to `out`, compressed on so many threads; all entries have the time `time`.
    pub fn new(out: W, time: u64, efforts: Efforts, threads: NonZeroUsize) -> Result<Self> {
        let threads = u32::try_from(threads.get()).unwrap_or(u32::MAX);
        Ok(Self { archive: tar::Builder::new(Frame::new(out, threads)?), time, efforts })
    }

    pub fn file(&mut self, artifact: &Artifact, content: Content<'_>) -> Result<()> {
        let ArtifactKind::File { size, executable, .. } = artifact.kind else {
            return Err(Error::bug(format!("{} is no file", artifact.path)));
        };
        let effort = self.efforts.get(&artifact.path);
        match content {
            Content::Bytes(bytes) => self.entry(&artifact.path, size, executable, effort, bytes),
            Content::File(file) => self.entry(&artifact.path, size, executable, effort, file.file()),
        }
    }

    /// A file of `size` bytes.
    pub fn entry(&mut self, path: &str, size: u64, executable: bool, effort: Effort, content: impl Read) -> Result<()> {
        self.archive.get_mut().turn_to(effort)?;
        let mode = if executable { 0o755 } else { 0o644 };
        let mut header = header(tar::EntryType::Regular, mode, size, self.time);
        Ok(self.archive.append_data(&mut header, path, content)?)
    }

    pub fn link(&mut self, path: &str, to: &str) -> Result<()> {
        let mut header = header(tar::EntryType::Symlink, 0o777, 0, self.time);
        Ok(self.archive.append_link(&mut header, path, to)?)
    }

    /// A file of bytes that are at hand.
    pub fn text(&mut self, path: &str, bytes: &[u8]) -> Result<()> {
        let mut header = header(tar::EntryType::Regular, 0o644, bytes.len() as u64, self.time);
        Ok(self.archive.append_data(&mut header, path, bytes)?)
    }

    /// Completes it.
    pub fn finish(self) -> Result<W> {
        Ok(self.archive.into_inner()?.finish()?)
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
