//! Reads containers member by member, as streams.

use std::io::{self, Cursor, Read, Seek};
use std::time::{Duration, SystemTime};

use object::read::archive::ArchiveFile;
use tar::EntryType;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipArchive};

use super::entry::{inside, leads_inside, refused};
use super::{ContainerError, Entry, Form, Kind, Packing, Quota, Refusal, Stop};

/// Is given every member, or the reason why one is refused; an error of it ends the reading.
pub type Visitor<'a> = dyn FnMut(Result<Entry<'_>, ContainerError>) -> Result<(), Stop> + 'a;

/// Most bytes that a link's text in a zip archive may have.
const LONGEST_LINK: u64 = 4096;
/// Bits of a Unix mode that say what a file is, and those of files, directories and links.
const FILE_TYPE: u32 = 0o170_000;
const KNOWN_TYPES: [u32; 4] = [0, 0o100_000, 0o040_000, 0o120_000];

/// Reads a container whose bytes are all there.
///
/// # Errors
/// It is damaged or gives more than `quota`, or `visit` fails.
pub fn read(form: Form, bytes: &[u8], quota: &Quota, visit: &mut Visitor<'_>) -> Result<(), Stop> {
    match form {
        Form::Zip => zip(bytes, quota, visit),
        Form::Conda => conda(bytes, quota, visit),
        Form::Deb => deb(bytes, quota, visit),
        Form::Tar(packing) => read_tar(packing, &mut &*bytes, quota, visit),
    }
}

fn cut_short(bytes: &[u8]) -> &'static str {
    if bytes.is_empty() { "the file is empty" } else { "it is cut short: the list of members at its end is missing" }
}

fn damaged_by(what: &str) -> ContainerError {
    ContainerError::Damaged(what.into())
}

/// The list of members of a zip archive, whose bytes `reader` gives.
pub(super) fn zip_archive<R: Read + Seek>(reader: R, bytes: &[u8]) -> Result<ZipArchive<R>, ContainerError> {
    let opened = ZipArchive::new(reader);
    // The list of members stands at the end ("APPNOTE", 4.3.6): what is cut short has none.
    let is_cut = opened.is_err() && memchr::memmem::rfind(bytes, b"PK\x05\x06").is_none();
    opened.map_err(|error| if is_cut { damaged_by(cut_short(bytes)) } else { ContainerError::Damaged(error.into()) })
}

fn zip(bytes: &[u8], quota: &Quota, visit: &mut Visitor<'_>) -> Result<(), Stop> {
    let mut archive = zip_archive(Cursor::new(bytes), bytes)?;
    (0..archive.len()).try_for_each(|index| zip_member(&mut archive, index, bytes, quota, visit))
}

/// One member of a zip archive with these bytes.
pub(super) fn zip_member<R: Read + Seek>(
    archive: &mut ZipArchive<R>,
    index: usize,
    bytes: &[u8],
    quota: &Quota,
    visit: &mut Visitor<'_>,
) -> Result<(), Stop> {
    quota.member()?;
    let name = archive.name_for_index(index).and_then(|name| Some(name.ok()?.into_owned()));
    let Some(name) = name else {
        return visit(Err(refused(&format!("member {index}"), Refusal::NotText)));
    };
    let mut member = match archive.by_index(index) {
        Ok(member) => member,
        Err(error) => {
            return visit(Err(refused(&name, Refusal::Unreadable(io::Error::other(error)))));
        }
    };
    let (is_directory, is_link, size) = (member.is_dir(), member.is_symlink(), member.size());
    let mode = member.unix_mode();
    let stored = (member.compression() == CompressionMethod::Stored)
        .then(|| member.data_start())
        .flatten()
        .and_then(|start| bytes.get(usize::try_from(start).ok()?..)?.get(..usize::try_from(size).ok()?));
    let options = options(&member);
    let mut content = quota.counted(&mut member, true);
    let checked = (|| {
        let path = inside(&name)?;
        let kind = match (is_directory, is_link, mode.unwrap_or(0) & FILE_TYPE) {
            (true, ..) => Kind::Directory,
            (_, true, _) => {
                let mut text = String::new();
                let read = content.by_ref().take(LONGEST_LINK).read_to_string(&mut text);
                read.map_err(Refusal::Unreadable)?;
                leads_inside(&path, &text)?;
                Kind::Link(text)
            }
            (.., known) if KNOWN_TYPES.contains(&known) => Kind::File,
            _ => return Err(Refusal::Special),
        };
        Ok((path, kind))
    })();
    match checked {
        Ok((path, _)) if path.is_empty() => {}
        Ok((path, kind)) => visit(Ok(Entry {
            path,
            kind,
            // Archives of systems without such bits have none.
            mode: mode.map(|mode| mode & 0o7777).filter(|mode| *mode != 0).unwrap_or(0o644),
            size,
            modified: None,
            stored,
            zip: Some(options),
            content: &mut content,
        }))?,
        Err(why) => visit(Err(refused(&name, why)))?,
    }
    Ok(())
}

fn options<R: Read>(member: &zip::read::ZipFile<'_, R>) -> SimpleFileOptions {
    let method = match member.compression() {
        CompressionMethod::Stored => CompressionMethod::Stored,
        _ => CompressionMethod::Deflated,
    };
    SimpleFileOptions::default()
        .compression_method(method)
        .last_modified_time(member.last_modified().unwrap_or_default())
        .unix_permissions(member.unix_mode().unwrap_or(0o644) & 0o777)
        .large_file(member.size() >= u64::from(u32::MAX))
}

/// The trees of both archives in a `.conda` file as one (conda package format 2).
fn conda(bytes: &[u8], quota: &Quota, visit: &mut Visitor<'_>) -> Result<(), Stop> {
    zip(bytes, quota, &mut |member| {
        let member = match member {
            Ok(member) => member,
            Err(error) => return visit(Err(error)),
        };
        let is_part = member.path.starts_with("pkg-") || member.path.starts_with("info-");
        match Form::of_name(&member.path) {
            Some(Form::Tar(packing)) if is_part => match member.stored {
                Some(mut stored) => read_tar(packing, &mut stored, quota, visit),
                None => read_tar(packing, member.content, quota, visit),
            },
            _ if member.path == "metadata.json" => Ok(()),
            _ => visit(Err(refused(&member.path, Refusal::Stranger))),
        }
    })
}

/// The trees of both archives in a `.deb` file as one (deb(5)): dpkg's own files lie below [`CONTROL`].
fn deb(bytes: &[u8], quota: &Quota, visit: &mut Visitor<'_>) -> Result<(), Stop> {
    let damaged = |error: object::read::Error| Stop::Container(ContainerError::Damaged(error.into()));
    let archive = ArchiveFile::parse(bytes).map_err(damaged)?;
    let mut version = None;
    for member in archive.members() {
        quota.member()?;
        let member = member.map_err(damaged)?;
        let name = String::from_utf8_lossy(member.name()).trim_end_matches('/').to_owned();
        let mut content = member.data(bytes).map_err(damaged)?;
        if name == "debian-binary" {
            version = content.first().copied();
            continue;
        }
        if version != Some(b'2') {
            return Err(damaged_by("it is no Debian package of format 2").into());
        }
        match Form::of_name(&name) {
            Some(Form::Tar(packing)) if name.starts_with("control.tar") => {
                read_tar(packing, &mut content, quota, &mut |entry| {
                    visit(entry.map(|entry| Entry { path: format!("{CONTROL}/{}", entry.path), ..entry }))
                })?;
            }
            Some(Form::Tar(packing)) if name.starts_with("data.tar") => read_tar(packing, &mut content, quota, visit)?,
            // "Members whose names begin with an underscore are to be ignored."
            _ if name.starts_with('_') => {}
            _ => visit(Err(refused(&name, Refusal::Stranger)))?,
        }
    }
    match version {
        Some(_) => Ok(()),
        None => Err(damaged_by(cut_short(bytes)).into()),
    }
}

/// Where dpkg's own files of a package are said to lie, as `dpkg-deb --raw-extract` lays them out.
const CONTROL: &str = "DEBIAN";

/// Reads a tar archive that comes as a stream.
///
/// # Errors
/// It is damaged or gives more than `quota`, or `visit` fails.
pub fn read_tar(packing: Packing, reader: &mut dyn Read, quota: &Quota, visit: &mut Visitor<'_>) -> Result<(), Stop> {
    let failure = |error: io::Error| Stop::Container(quota.failure(error));
    let reader: Box<dyn Read + '_> = match packing {
        Packing::None => Box::new(reader),
        Packing::Gzip => Box::new(flate2::read::MultiGzDecoder::new(reader)),
        Packing::Bzip2 => Box::new(bzip2::read::MultiBzDecoder::new(reader)),
        Packing::Zstd => Box::new(zstd::Decoder::new(reader).map_err(failure)?),
        Packing::Xz => Box::new(lzma_rust2::XzReader::new_mem_limit(reader, true, quota.limits.dictionary)),
    };
    let mut archive = tar::Archive::new(quota.counted(reader, false));
    for member in archive.entries().map_err(failure)? {
        let mut member = member.map_err(failure)?;
        // What `git archive` notes: the commit.
        if member.header().entry_type() == EntryType::XGlobalHeader {
            continue;
        }
        quota.member()?;
        let name = String::from_utf8_lossy(&member.path_bytes()).into_owned();
        let (path, kind) = match checked(&mut member, &name) {
            Ok((path, _)) if path.is_empty() => continue,
            Ok(checked) => checked,
            Err(why) => {
                visit(Err(refused(&name, why)))?;
                continue;
            }
        };
        // Some archives leave the mode out.
        let (mode, size) = (member.header().mode().map_or(0o644, |mode| mode & 0o7777), member.size());
        if size > quota.limits.member {
            visit(Err(refused(&path, Refusal::Large(quota.limits.member))))?;
            continue;
        }
        let seconds = member.header().mtime().ok().map(|seconds| seconds.min(u64::from(u32::MAX)));
        let modified = seconds.and_then(|seconds| SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(seconds)));
        visit(Ok(Entry { path, kind, mode, size, modified, stored: None, zip: None, content: &mut member }))?;
    }
    Ok(())
}

/// Path and kind of a member that may be read.
fn checked<R: Read>(member: &mut tar::Entry<'_, R>, name: &str) -> Result<(String, Kind), Refusal> {
    if std::str::from_utf8(&member.path_bytes()).is_err() {
        return Err(Refusal::NotText);
    }
    let path = inside(name)?;
    let extensions = member.pax_extensions().map_err(Refusal::Unreadable)?;
    if extensions.is_some_and(|mut all| all.any(|one| one.is_ok_and(|one| one.key_bytes().starts_with(b"GNU.sparse."))))
    {
        return Err(Refusal::Sparse);
    }
    let text = match member.link_name_bytes() {
        Some(text) => Some(String::from_utf8(text.into_owned()).map_err(|_| Refusal::NotText)?),
        None => None,
    };
    let kind = match (member.header().entry_type(), text) {
        (EntryType::Regular | EntryType::Continuous, _) => Kind::File,
        (EntryType::Directory, _) => Kind::Directory,
        (EntryType::Symlink, Some(text)) => {
            leads_inside(&path, &text)?;
            Kind::Link(text)
        }
        (EntryType::Link, Some(of)) => Kind::HardLink(inside(&of).map_err(|_| Refusal::LinkOut)?),
        (EntryType::GNUSparse, _) => return Err(Refusal::Sparse),
        _ => return Err(Refusal::Special),
    };
    Ok((path, kind))
}
