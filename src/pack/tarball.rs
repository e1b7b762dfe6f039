//! Plain `.tar.zst` archives: the tree as it is installed, for users without a package manager.
//!
//! All archives of a distribution unpack into one prefix and never clash.

use std::io::BufWriter;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use super::compression;
use super::pool;
use super::spec::PackageSpec;
use super::writer::{BuiltPackage, Content, PackageWriter, feed};
use crate::bundle::{Artifact, ArtifactKind};
use crate::error::{Error, Result};

/// Writes a plain archive into `dir` for every package that has files of its own, on up to `jobs`
/// threads. Neither `dir` nor `jobs` changes a byte.
pub fn write_tars(specs: &[PackageSpec], dir: &Path, jobs: NonZeroUsize) -> Result<Vec<BuiltPackage>> {
    let specs: Vec<PackageSpec> = specs.iter().filter(|spec| spec.root.is_some()).cloned().collect();
    pool::run(&specs, jobs, |spec, threads| feed(spec, TarWriter::new(spec, dir, threads)?))
}

type Archive = tar::Builder<zstd::Encoder<'static, BufWriter<tempfile::NamedTempFile>>>;

/// Streams entries into the archive.
struct TarWriter {
    archive: Archive,
    target: PathBuf,
    subdir: String,
    time: u64,
}

impl TarWriter {
    fn new(spec: &PackageSpec, dir: &Path, threads: u32) -> Result<Self> {
        fs_err::create_dir_all(dir)?;
        let file = tempfile::Builder::new().prefix(".simpack-").tempfile_in(dir)?;
        let mut encoder = zstd::Encoder::new(BufWriter::new(file), compression::level(spec))?;
        // Also for one thread: zstd's threaded mode cuts its input the same way for any number of
        // workers, and differently from the mode without workers.
        encoder.multithread(threads)?;
        encoder.include_checksum(true)?;
        let target = dir.join(format!("{}.tar.zst", spec.stem()));
        Ok(Self { archive: tar::Builder::new(encoder), target, subdir: spec.subdir.clone(), time: spec.time() })
    }

    fn header(&self, kind: tar::EntryType, mode: u32, size: u64) -> tar::Header {
        let mut header = tar::Header::new_gnu();
        header.set_entry_type(kind);
        header.set_mode(mode);
        header.set_size(size);
        header.set_mtime(self.time);
        header.set_uid(0);
        header.set_gid(0);
        header
    }
}

impl PackageWriter for TarWriter {
    type Output = BuiltPackage;

    fn file(&mut self, artifact: &Artifact, content: Content<'_>) -> Result<()> {
        let ArtifactKind::File { size, executable, .. } = artifact.kind else {
            return Err(Error::bug(format!("{} is no file", artifact.path)));
        };
        let mode = if executable { 0o755 } else { 0o644 };
        let mut header = self.header(tar::EntryType::Regular, mode, size);
        match content {
            Content::Bytes(bytes) => self.archive.append_data(&mut header, &artifact.path, bytes)?,
            Content::File(path) => {
                let file = fs_err::File::open(path)?;
                self.archive.append_data(&mut header, &artifact.path, file)?;
            }
        }
        Ok(())
    }

    fn link(&mut self, artifact: &Artifact, to: &str) -> Result<()> {
        let mut header = self.header(tar::EntryType::Symlink, 0o777, 0);
        Ok(self.archive.append_link(&mut header, &artifact.path, to)?)
    }

    fn finish(self) -> Result<BuiltPackage> {
        let file = self.archive.into_inner()?.finish()?;
        let file = file.into_inner().map_err(|error| Error::from(error.into_error()))?;
        BuiltPackage::publish(file, self.target, &self.subdir)
    }
}
