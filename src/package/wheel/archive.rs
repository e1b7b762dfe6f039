//! The file of a wheel: a zip archive that lists its files with their digests.

use std::collections::BTreeMap;
use std::io::{BufWriter, Read, Seek, Write};
use std::num::NonZeroUsize;
use std::path::Path;

use zip::result::ZipError;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipArchive, ZipWriter};

use super::super::writing::epoch::zip_time;
use super::super::writing::writer::{staged, unchanged};
use super::super::{BuiltPackage, Effort, Named};
use super::layout::{Member, Source};
use super::metadata::describe;
use super::metadata::record::{encoded, quoted};
use super::planned::Planned;
use crate::error::{Error, Result};
use crate::fs::Content;
use crate::parallel::until_failure;

/// Sizes from here on need the larger form of an entry.
const LARGE: u64 = u32::MAX as u64;

/// Files from this size on are compressed side by side, in bytes.
const ALONE: u64 = 1 << 20;

/// Writes a wheel into a directory, on up to `jobs` threads.
///
/// # Errors
/// A file has changed since it was staged, or the directory cannot be written.
pub(super) fn write(wheel: &Planned<'_>, dir: &Path, scratch: &Path, jobs: NonZeroUsize) -> Result<BuiltPackage> {
    let target = dir.join(wheel.file_name());
    let file = tempfile::Builder::new().prefix(".simpack-").tempfile_in(dir)?;
    let failed = |error: ZipError| Error::file(&target, "cannot be written").because(error);
    let options = SimpleFileOptions::default().last_modified_time(zip_time(wheel.package.time())?);
    let large: Vec<&Member> = wheel.members.iter().filter(|member| member.size >= ALONE).collect();
    // Each becomes an archive of its own, whose compressed bytes are copied as they are.
    let packed = until_failure(&large, jobs.get(), |member| {
        let mut alone = Archive::new(tempfile::tempfile_in(scratch)?, options);
        alone.add(wheel, member)?;
        alone.zip.finish_into_readable().map_err(failed)
    })?;
    let mut packed = packed.into_iter().peekable();
    let mut archive = Archive::new(BufWriter::new(file), options);
    for member in &wheel.members {
        match packed.next_if(|_| member.size >= ALONE) {
            Some(mut alone) => archive.copy_of(&mut alone, member)?,
            None => archive.add(wheel, member)?,
        }
    }
    let info = format!("{}.dist-info", wheel.stem());
    for (name, bytes) in described(wheel) {
        archive.add(wheel, &Member::of(format!("{info}/{name}"), bytes))?;
    }
    let file = archive.finish(&format!("{info}/RECORD")).map_err(failed)?;
    let file = file.into_inner().map_err(|error| Error::from(error.into_error()))?;
    BuiltPackage::publish(file, target, named(wheel))
}

fn named(wheel: &Planned<'_>) -> Named {
    Named {
        package: wheel.name.clone(),
        // Metapackages and what ties wheels together hold nothing of a package.
        made_of: (!wheel.members.is_empty()).then(|| wheel.package.name().to_owned()),
        version: wheel.version.clone(),
        build: wheel.build.map(|number| number.to_string()).unwrap_or_default(),
        subdir: wheel.platform.clone().unwrap_or_else(|| "any".to_owned()),
        ..Named::of(wheel.package)
    }
}

/// The files that describe the wheel, by name.
fn described(wheel: &Planned<'_>) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::from([
        ("METADATA".to_owned(), describe::metadata(wheel).into_bytes()),
        ("WHEEL".to_owned(), describe::wheel(wheel).into_bytes()),
    ]);
    let points = describe::entry_points(&wheel.scripts);
    files.extend(points.map(|text| ("entry_points.txt".to_owned(), text.into_bytes())));
    let licences = &wheel.package.licences;
    files.extend(wheel.variant_json.iter().map(|bytes| ("variant.json".to_owned(), bytes.clone())));
    files.extend(wheel.sbom.iter().map(|bytes| ("sboms/sbom.cdx.json".to_owned(), bytes.clone())));
    files.extend(licences.iter().map(|(name, text)| (format!("licenses/{name}"), text.clone().into_bytes())));
    files
}

/// An archive in the making.
struct Archive<W: Write + Seek> {
    zip: ZipWriter<W>,
    options: SimpleFileOptions,
    record: Vec<String>,
}

impl<W: Write + Seek> Archive<W> {
    fn new(out: W, options: SimpleFileOptions) -> Self {
        Self { zip: ZipWriter::new(out), options, record: Vec::new() }
    }

    fn add(&mut self, wheel: &Planned<'_>, member: &Member) -> Result<()> {
        match &member.source {
            Source::Bytes(bytes) => self.put(member, bytes)?,
            Source::File(path) => self.put(member, Content::open(path)?.bytes())?,
            Source::Staged(path) => {
                let file = staged(wheel.package, path)?;
                unchanged(&file, member.sha256, member.size)?;
                self.put(member, Content::of(file.file(), member.size)?.bytes())?;
            }
        }
        self.note(member);
        Ok(())
    }

    fn put(&mut self, member: &Member, bytes: &[u8]) -> Result<()> {
        let failed = |error: ZipError| Error::file(&member.path, "cannot be packed").because(error);
        let level = Effort::of(bytes).deflate();
        let method = if level.is_some() { CompressionMethod::Deflated } else { CompressionMethod::Stored };
        let mode = if member.executable { 0o755 } else { 0o644 };
        let options = self.options.compression_method(method).compression_level(level).unix_permissions(mode);
        self.zip.start_file(&member.path, options.large_file(member.size >= LARGE)).map_err(failed)?;
        Ok(self.zip.write_all(bytes)?)
    }

    /// The one entry of another archive, with its compressed bytes.
    fn copy_of<R: Read + Seek>(&mut self, alone: &mut ZipArchive<R>, member: &Member) -> Result<()> {
        let failed = |error: ZipError| Error::file(&member.path, "cannot be packed").because(error);
        let entry = alone.by_index_raw(0).map_err(failed)?;
        self.zip.raw_copy_file(entry).map_err(failed)?;
        self.note(member);
        Ok(())
    }

    fn note(&mut self, member: &Member) {
        let digest = encoded(member.sha256.as_bytes());
        self.record.push(format!("{},sha256={digest},{}\n", quoted(&member.path), member.size));
    }

    /// Adds RECORD, which does not list its own digest, and completes the archive.
    fn finish(mut self, record: &str) -> Result<W, ZipError> {
        self.record.push(format!("{},,\n", quoted(record)));
        let options = self.options.compression_method(CompressionMethod::Deflated).unix_permissions(0o644);
        self.zip.start_file(record, options)?;
        self.zip.write_all(self.record.concat().as_bytes())?;
        self.zip.finish()
    }
}
