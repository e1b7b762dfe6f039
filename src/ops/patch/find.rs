//! Which files a call means.

use std::collections::BTreeSet;
use std::io::Read;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::fs::{EntryKind, walk};

/// One file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Found {
    /// Where.
    pub(super) path: PathBuf,
    /// Named by the user, not found in a directory.
    pub(super) named: bool,
}

/// The named files, and the ELF files below the named directories, each once, in the order of the
/// call, sorted within a directory. Links inside directories are not followed: what they name is
/// found by itself, or does not belong to the directory.
///
/// # Errors
/// A path does not exist, or a directory cannot be read.
pub(super) fn find(paths: &[PathBuf]) -> Result<Vec<Found>> {
    let mut known = BTreeSet::new();
    let mut found = Vec::new();
    for path in paths {
        let real = fs_err::canonicalize(path)?;
        if !real.is_dir() {
            if !real.is_file() {
                return Err(Error::usage(format!("{}: neither a file nor a directory", path.display())));
            }
            if known.insert(real) {
                found.push(Found { path: path.clone(), named: true });
            }
            continue;
        }
        for entry in walk(path)? {
            let below = path.join(&entry.path);
            if matches!(entry.kind, EntryKind::File { .. })
                && may_be_elf(&below)
                && known.insert(real.join(&entry.path))
            {
                found.push(Found { path: below, named: false });
            }
        }
    }
    Ok(found)
}

/// Whether the file begins like ELF. One that cannot be read may be: its failure is reported as its own.
fn may_be_elf(path: &Path) -> bool {
    let mut start = Vec::with_capacity(4);
    let read = fs_err::File::open(path).and_then(|file| file.take(4).read_to_end(&mut start));
    read.is_err() || crate::elf::is_elf(&start)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_is_found_once_and_links_are_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        std::fs::create_dir(at("sub")).unwrap();
        for name in ["b", "a", "sub/c"] {
            std::fs::write(at(name), b"\x7fELF and more").unwrap();
        }
        std::fs::write(at("text"), "no").unwrap();
        std::os::unix::fs::symlink("a", at("link")).unwrap();
        let paths = [at("link"), dir.path().to_owned(), at("sub"), at("text")];
        let found = find(&paths).unwrap();
        let found: Vec<_> = found.iter().map(|it| (it.path.strip_prefix(dir.path()).unwrap(), it.named)).collect();
        let file = |name, named| (Path::new(name), named);
        assert_eq!(found, [file("link", true), file("b", false), file("sub/c", false), file("text", true)]);
        assert!(find(&[at("nothing")]).is_err());
    }
}
