//! Files inside packages and archives, one after another, without a disk between.

use std::borrow::Cow;
use std::io::{Cursor, Read};

use super::examine::{Examined, examine, is_interesting};
use super::facts::{Gap, Inspected};
use super::package;
use crate::gpu::Look;

/// A member that is packed and larger than this is not examined, and that is said.
const MOST_MEMBER: u64 = 1 << 30;
/// An archive that unpacks to more than a gibibyte and this many times its own size is a bomb: vendors' static
/// archives reach 40.
const MOST_EXPANSION: u64 = 1000;
/// Packages hold archives that hold packages; deeper than this nobody means it.
const MOST_DEPTH: usize = 4;
/// KiB that a stream's dictionary may take: `xz -9` takes 64 MiB.
const XZ_MEMORY: u32 = 256 << 10;
/// The first bytes by which a member is judged.
const HEAD: u64 = 512;

/// Forms of archives, by name: a `.gz` or `.zip` that is something else is not opened by accident.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    Zip,
    Tar(Packing),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Packing {
    None,
    Gzip,
    Bzip2,
    Zstd,
    Xz,
}

/// The form of a file of this name.
pub(super) fn form(name: &str) -> Option<Form> {
    const ENDINGS: [(&str, Form); 13] = [
        (".whl", Form::Zip),
        (".conda", Form::Zip),
        (".zip", Form::Zip),
        (".tar", Form::Tar(Packing::None)),
        (".tar.gz", Form::Tar(Packing::Gzip)),
        (".tgz", Form::Tar(Packing::Gzip)),
        (".tar.bz2", Form::Tar(Packing::Bzip2)),
        (".tbz2", Form::Tar(Packing::Bzip2)),
        (".tar.zst", Form::Tar(Packing::Zstd)),
        (".tzst", Form::Tar(Packing::Zstd)),
        (".tar.xz", Form::Tar(Packing::Xz)),
        (".txz", Form::Tar(Packing::Xz)),
        (".crate", Form::Tar(Packing::Gzip)),
    ];
    ENDINGS.iter().find(|(ending, _)| name.ends_with(ending)).map(|(_, form)| *form)
}

/// Looks into the archive `file`, whose bytes are all there; its members are called `NAME: MEMBER`, or as they are
/// if `name` is empty.
pub(super) fn archive(file: &str, name: &str, form: Form, bytes: &[u8], look: Look) -> Inspected {
    let conda = file.ends_with(".conda");
    let mut walk = Walk { package: name.to_owned(), conda, look, depth: 0, found: Inspected::default() };
    walk.open(name, form, bytes);
    walk.found
}

struct Walk {
    /// The outermost package, whose metadata count.
    package: String,
    /// It is a `.conda` file: its parts are archives, but one package to their users.
    conda: bool,
    look: Look,
    depth: usize,
    found: Inspected,
}

impl Walk {
    fn open(&mut self, name: &str, form: Form, bytes: &[u8]) {
        let opened = match form {
            Form::Zip => self.zip(name, bytes),
            Form::Tar(packing) => self.packed_tar(name, packing, bytes, bytes.len() as u64),
        };
        if let Err(reason) = opened {
            self.gap(name, &reason);
        }
    }

    fn gap(&mut self, path: &str, reason: &str) {
        self.found.unexamined.push(Gap { path: path.to_owned(), reason: reason.to_owned() });
    }

    fn join(archive: &str, member: &str) -> String {
        let member = member.trim_start_matches("./");
        if archive.is_empty() { member.to_owned() } else { format!("{archive}: {member}") }
    }

    fn zip(&mut self, name: &str, bytes: &[u8]) -> Result<(), String> {
        let mut zip = zip::ZipArchive::new(Cursor::new(bytes)).map_err(|error| format!("damaged archive: {error}"))?;
        let most = most_bytes(bytes.len() as u64);
        let mut total = 0u64;
        for index in 0..zip.len() {
            let member = zip.by_index(index);
            let mut member = match member {
                Ok(member) => member,
                Err(error) => {
                    self.gap(name, &format!("member {index}: {error}"));
                    continue;
                }
            };
            if !member.is_file() {
                continue;
            }
            let inside = member.name().map_or_else(|_| format!("member {index}"), Cow::into_owned);
            let size = member.size();
            total = total.saturating_add(size);
            if total > most {
                return Err(format!("unpacks to more than {most} bytes"));
            }
            // What is stored as it is can be looked at where it lies.
            let stored = (member.compression() == zip::CompressionMethod::Stored)
                .then(|| member.data_start())
                .flatten()
                .and_then(|start| bytes.get(usize::try_from(start).ok()?..)?.get(..usize::try_from(size).ok()?));
            match stored {
                Some(bytes) => self.bytes(name, &inside, bytes),
                None => self.stream(name, &inside, size, &mut member),
            }
        }
        Ok(())
    }

    fn packed_tar(&mut self, name: &str, packing: Packing, reader: impl Read, size: u64) -> Result<(), String> {
        let reader: Box<dyn Read + '_> = match packing {
            Packing::None => Box::new(reader),
            Packing::Gzip => Box::new(flate2::read::MultiGzDecoder::new(reader)),
            Packing::Bzip2 => Box::new(bzip2::read::MultiBzDecoder::new(reader)),
            Packing::Zstd => Box::new(zstd::Decoder::new(reader).map_err(|error| error.to_string())?),
            Packing::Xz => Box::new(lzma_rust2::XzReader::new_mem_limit(reader, true, XZ_MEMORY)),
        };
        let mut tar = tar::Archive::new(Bounded { reader, left: most_bytes(size) });
        for entry in tar.entries().map_err(|error| error.to_string())? {
            let mut entry = entry.map_err(|error| format!("damaged archive: {error}"))?;
            if !entry.header().entry_type().is_file() {
                continue;
            }
            let inside = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
            let size = entry.size();
            self.stream(name, &inside, size, &mut entry);
        }
        Ok(())
    }

    /// A member that comes as a stream: its head decides whether the rest is read.
    fn stream(&mut self, archive: &str, inside: &str, size: u64, reader: &mut impl Read) {
        let path = Self::join(archive, inside);
        if let Some(Form::Tar(packing)) = form(inside).filter(|_| self.depth < MOST_DEPTH) {
            self.depth += 1;
            let inner = self.inner_name(archive, &path);
            let opened = self.packed_tar(&inner, packing, reader as &mut dyn Read, size);
            self.depth -= 1;
            if let Err(reason) = opened {
                self.gap(&path, &reason);
            }
            return;
        }
        let mut bytes = Vec::new();
        if let Err(error) = reader.by_ref().take(HEAD).read_to_end(&mut bytes) {
            return self.gap(&path, &format!("cannot be unpacked: {error}"));
        }
        let wanted = is_interesting(&bytes, self.look) || package::is_metadata(inside) || form(inside).is_some();
        if wanted && size > MOST_MEMBER {
            self.seen(size);
            return self.gap(&path, &format!("is packed and larger than {MOST_MEMBER} bytes"));
        }
        if !wanted {
            return self.seen(size);
        }
        match reader.by_ref().take(MOST_MEMBER).read_to_end(&mut bytes) {
            Ok(_) => self.bytes(archive, inside, &bytes),
            Err(error) => self.gap(&path, &format!("cannot be unpacked: {error}")),
        }
    }

    /// What an archive inside an archive is called.
    fn inner_name(&self, archive: &str, path: &str) -> String {
        if self.conda && archive == self.package { archive.to_owned() } else { path.to_owned() }
    }

    fn seen(&mut self, size: u64) {
        self.found.seen += 1;
        self.found.bytes += size;
    }

    fn bytes(&mut self, archive: &str, inside: &str, bytes: &[u8]) {
        let path = Self::join(archive, inside);
        if let Some(form) = form(inside).filter(|_| self.depth < MOST_DEPTH) {
            self.depth += 1;
            let inner = self.inner_name(archive, &path);
            self.open(&inner, form, bytes);
            self.depth -= 1;
            return;
        }
        self.seen(bytes.len() as u64);
        if package::is_metadata(inside) && archive == self.package {
            self.found.packages.extend(package::read(&self.package, inside, bytes));
        }
        if is_interesting(&bytes[..bytes.len().min(HEAD as usize)], self.look) {
            let Examined { file, gaps } = examine(&path, bytes, self.look);
            self.found.files.extend(file);
            self.found.unexamined.extend(gaps);
        }
    }
}

/// Most bytes that an archive of `size` bytes may unpack to.
fn most_bytes(size: u64) -> u64 {
    (1u64 << 30).saturating_add(size.saturating_mul(MOST_EXPANSION))
}

/// A reader that fails instead of going on for ever.
struct Bounded<R> {
    reader: R,
    left: u64,
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let count = self.reader.read(buffer)?;
        self.left = self
            .left
            .checked_sub(count as u64)
            .ok_or_else(|| std::io::Error::other("unpacks to more than an honest archive of its size"))?;
        Ok(count)
    }
}
