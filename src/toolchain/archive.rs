//! Unpacks source archives: tar with its compressions, and zip (wheels too). What an archive is, its
//! first bytes say.

use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use tar::EntryType;
use zip::ZipArchive;

use super::space::enough_space;
use super::tree::Tree;
use crate::error::{Error, Result};

/// What an archive's first bytes say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Tar,
    Gzip,
    Bzip2,
    Xz,
    Zstd,
    Zip,
}

/// KiB that a stream's dictionary may take: `xz -9` takes 64 MiB, and no source takes more than four times that.
const XZ_MEMORY: u32 = 256 << 10;

/// Most bytes that a link's text in a zip archive may have.
const LONGEST_LINK: u64 = 4096;

/// Unpacks `archive` into the empty directory `into`; answers the directory that holds the files: `into`,
/// or the only directory at the archive's top.
///
/// # Errors
/// It is no archive of a known kind, it is damaged, or something in it would land or lead outside.
pub(super) fn unpack(archive: &Path, into: &Path) -> Result<PathBuf> {
    let mut tree = Tree::new(into);
    let mut file = fs_err::File::open(archive)?.into_parts().0;
    let kind = kind(&mut file)?;
    let input = BufReader::with_capacity(1 << 18, file);
    match kind {
        Some(Kind::Tar) => tar(input, &mut tree),
        Some(Kind::Gzip) => tar(flate2::bufread::MultiGzDecoder::new(input), &mut tree),
        Some(Kind::Bzip2) => tar(bzip2::bufread::MultiBzDecoder::new(input), &mut tree),
        Some(Kind::Zstd) => tar(zstd::Decoder::with_buffer(input)?, &mut tree),
        Some(Kind::Xz) => tar(lzma_rust2::XzReader::new_mem_limit(input, true, XZ_MEMORY), &mut tree),
        Some(Kind::Zip) => zip(input, into, &mut tree),
        None => Err(Error::toolchain("it is not an archive that simpack knows")
            .hint("known are zip and tar: plain or with gzip, bzip2, xz, zstd; check what the address gives")),
    }?;
    tree.finish()
}

fn kind(file: &mut File) -> Result<Option<Kind>> {
    let mut head = Vec::new();
    file.by_ref().take(512).read_to_end(&mut head)?;
    file.seek(SeekFrom::Start(0))?;
    Ok(kind_of(&head))
}

fn kind_of(head: &[u8]) -> Option<Kind> {
    let magic: [(&[u8], Kind); 6] = [
        (b"\x1f\x8b", Kind::Gzip),
        (b"BZh", Kind::Bzip2),
        (b"\xfd7zXZ\0", Kind::Xz),
        (b"\x28\xb5\x2f\xfd", Kind::Zstd),
        (b"PK\x03\x04", Kind::Zip),
        (b"PK\x05\x06", Kind::Zip),
    ];
    let found = magic.iter().find(|(magic, _)| head.starts_with(magic)).map(|(_, kind)| *kind);
    // "ustar" is at the same place in POSIX's and in GNU's tar.
    found.or_else(|| (head.get(257..262)? == b"ustar").then_some(Kind::Tar))
}

fn tar(input: impl Read, tree: &mut Tree) -> Result<()> {
    let damaged = |error: std::io::Error| Error::toolchain("the archive is damaged").because(error);
    let mut input = tar::Archive::new(input);
    for entry in input.entries().map_err(damaged)? {
        let mut entry = entry.map_err(damaged)?;
        let name = entry.path().map_err(damaged)?.into_owned();
        let link = entry.link_name().map_err(damaged)?.map(|link| link.into_owned());
        let kind = entry.header().entry_type();
        match (kind, link) {
            (EntryType::Regular | EntryType::Continuous | EntryType::GNUSparse, _) => {
                let mode = entry.header().mode().map_err(damaged)?;
                let time = entry.header().mtime().ok().and_then(|seconds| {
                    SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(seconds.min(u64::from(u32::MAX))))
                });
                tree.file(&name, &mut entry, mode, time).map_err(|error| in_entry(error, &name))?;
            }
            (EntryType::Directory, _) => tree.directory(&name)?,
            (EntryType::Symlink, Some(text)) => tree.symlink(&name, &text)?,
            (EntryType::Link, Some(of)) => tree.copy(&name, &of)?,
            // What `git archive` notes: the commit.
            (EntryType::XGlobalHeader, _) => {}
            _ => {
                return Err(Error::toolchain(format!(
                    "{} is neither a file, nor a directory, nor a link",
                    name.display()
                )));
            }
        }
    }
    Ok(())
}

fn zip(input: impl Read + Seek, into: &Path, tree: &mut Tree) -> Result<()> {
    let damaged = |error: zip::result::ZipError| Error::toolchain("the archive is damaged").because(error);
    let mut archive = ZipArchive::new(input).map_err(damaged)?;
    let mut bytes = 0_u64;
    for index in 0..archive.len() {
        bytes = bytes.saturating_add(archive.by_index_data(index).map_err(damaged)?.size());
    }
    enough_space(into, bytes)?;
    for index in 0..archive.len() {
        let mut entry = archive.by_index(index).map_err(damaged)?;
        let name = PathBuf::from(entry.name().map_err(damaged)?.into_owned());
        if entry.is_dir() {
            tree.directory(&name)?;
        } else if entry.is_symlink() {
            let mut text = String::new();
            entry
                .by_ref()
                .take(LONGEST_LINK)
                .read_to_string(&mut text)
                .map_err(|error| Error::toolchain(format!("{} is an odd link", name.display())).because(error))?;
            tree.symlink(&name, Path::new(&text))?;
        } else {
            let mode = entry.unix_mode().unwrap_or(0o644);
            tree.file(&name, &mut entry, mode, None).map_err(|error| in_entry(error, &name))?;
        }
    }
    Ok(())
}

/// A damaged archive shows when an entry is read.
fn in_entry(error: Error, name: &Path) -> Error {
    error.detail(format!("while unpacking {}", name.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_bytes_say_the_kind() {
        assert_eq!(kind_of(b"\x1f\x8b\x08"), Some(Kind::Gzip));
        assert_eq!(kind_of(b"PK\x03\x04"), Some(Kind::Zip));
        assert_eq!(kind_of(b"<!DOCTYPE html>"), None);
        assert_eq!(kind_of(b""), None);
        let header = tar::Header::new_gnu();
        assert_eq!(kind_of(header.as_bytes()), Some(Kind::Tar));
    }
}
