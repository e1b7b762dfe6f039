//! Which files a call means.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Condvar, Mutex};

use crate::error::{Error, Result};
use crate::patch::TEMPORARY;

/// One file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Found {
    /// Where.
    pub(super) path: PathBuf,
    /// Named by the user, not found in a directory.
    pub(super) named: bool,
}

/// What a call means, and what earlier calls left behind there.
#[derive(Default)]
pub(super) struct Finding {
    /// Named files, and all files below named directories.
    pub(super) files: Vec<Found>,
    /// Temporary files of patching below named directories.
    pub(super) temporary: Vec<PathBuf>,
}

/// The named files, and the files below the named directories, each once, in the order of the call,
/// sorted within a directory. Links inside directories are not followed: what they name is found by
/// itself, or does not belong to the directory.
///
/// # Errors
/// A path does not exist, or a directory cannot be read.
pub(super) fn find(paths: &[PathBuf]) -> Result<Finding> {
    let mut known = BTreeSet::new();
    let mut finding = Finding::default();
    for path in paths {
        let real = fs_err::canonicalize(path)?;
        if !real.is_dir() {
            if !real.is_file() {
                return Err(Error::usage(format!("{}: neither a file nor a directory", path.display())));
            }
            if known.insert(real) {
                finding.files.push(Found { path: path.clone(), named: true });
            }
            continue;
        }
        for below in below(path)? {
            if below.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(TEMPORARY.as_bytes())) {
                finding.temporary.push(below);
            } else if known.insert(real.join(below.strip_prefix(path).unwrap_or(&below))) {
                finding.files.push(Found { path: below, named: false });
            }
        }
    }
    Ok(finding)
}

/// Directories that wait to be read, and how many are being read now.
struct Waiting {
    directories: Vec<PathBuf>,
    busy: usize,
    files: Vec<PathBuf>,
    error: Option<Error>,
}

/// All regular files below `root`, sorted by path; directories are read side by side.
fn below(root: &Path) -> Result<Vec<PathBuf>> {
    let waiting = Waiting { directories: vec![root.to_owned()], busy: 0, files: Vec::new(), error: None };
    let (waiting, changed) = (Mutex::new(waiting), Condvar::new());
    let locked = || waiting.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let worker = || {
        let mut state = locked();
        loop {
            if let Some(directory) = state.directories.pop() {
                state.busy += 1;
                drop(state);
                let entries = entries(&directory);
                state = locked();
                state.busy -= 1;
                match entries {
                    Ok((directories, files)) => {
                        state.directories.extend(directories);
                        state.files.extend(files);
                    }
                    Err(error) => state.error = Some(error),
                }
                changed.notify_all();
            } else if state.busy == 0 {
                return;
            } else {
                state = changed.wait(state).unwrap_or_else(|poisoned| poisoned.into_inner());
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..crate::parallel::threads() {
            scope.spawn(worker);
        }
        worker();
    });
    let state = waiting.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
    if let Some(error) = state.error {
        return Err(error);
    }
    let mut files = state.files;
    files.sort_by(|a, b| a.as_os_str().cmp(b.as_os_str()));
    Ok(files)
}

/// Directories and regular files directly below a directory.
fn entries(directory: &Path) -> Result<(Vec<PathBuf>, Vec<PathBuf>)> {
    let (mut directories, mut files) = (Vec::new(), Vec::new());
    for entry in fs_err::read_dir(directory)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        if kind.is_dir() {
            directories.push(entry.path());
        } else if kind.is_file() {
            files.push(entry.path());
        }
    }
    Ok((directories, files))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_is_found_once_and_links_are_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        std::fs::create_dir_all(at("sub/deep")).unwrap();
        for name in ["b", "a", "sub/c", "sub/deep/d", "sub/.simpack-patch-x"] {
            std::fs::write(at(name), "\x7fELF").unwrap();
        }
        std::os::unix::fs::symlink("a", at("link")).unwrap();
        std::os::unix::fs::symlink("sub", at("linked")).unwrap();
        let paths = [at("link"), dir.path().to_owned(), at("sub"), at("b")];
        let finding = find(&paths).unwrap();
        let found: Vec<_> =
            finding.files.iter().map(|it| (it.path.strip_prefix(dir.path()).unwrap(), it.named)).collect();
        let file = |name, named| (Path::new(name), named);
        assert_eq!(found, [file("link", true), file("b", false), file("sub/c", false), file("sub/deep/d", false)]);
        assert_eq!(finding.temporary.first(), Some(&at("sub/.simpack-patch-x")));
        assert!(find(&[at("nothing")]).is_err());
    }
}
