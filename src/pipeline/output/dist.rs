//! `dist/` changes only by rename of a complete set, and only where simpack made it.

use std::path::{Path, PathBuf};

use tempfile::{NamedTempFile, TempDir};

use crate::engine::SHARD_FILE;
use crate::error::{Error, Result};
use crate::fs;

/// The file by which simpack knows a directory as its own.
pub(crate) const MARK: &str = "build.json";

/// A complete set in the making, beside its final place.
pub(crate) struct Dist {
    place: PathBuf,
    fresh: TempDir,
    /// Lock on a file beside the directory; the kernel drops it when the process dies, and then the next run knows that
    /// the directory is nobody's. A file, because network file systems lock only what is open for writing. It goes last.
    _alive: NamedTempFile,
}

impl Dist {
    /// Starts a set for `place`.
    ///
    /// # Errors
    /// `place` holds something that simpack did not make, or its parent cannot be written.
    pub(crate) fn begin(place: &Path) -> Result<Self> {
        refuse_foreign(place)?;
        let parent = match place.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
            _ => PathBuf::from("."),
        };
        fs_err::create_dir_all(&parent)?;
        remove_leftovers(&parent)?;
        let wrong =
            |error| Error::file(&parent, "cannot be written").because(error).hint("choose another place with --dist");
        let alive = locked(&parent).map_err(wrong)?;
        let mut name = alive.path().file_name().unwrap_or_default().to_owned();
        name.push(ENDING);
        let fresh = tempfile::Builder::new().prefix(&name).rand_bytes(0).tempdir_in(&parent).map_err(wrong)?;
        Ok(Self { place: place.to_owned(), fresh, _alive: alive })
    }

    /// Where the set is written.
    pub(crate) fn root(&self) -> &Path {
        self.fresh.path()
    }

    /// Puts the set in its place.
    pub(crate) fn publish(self) -> Result<()> {
        fs::set_mode(self.fresh.path(), 0o755)?;
        // From here on the directory has another name, so its guard must not clean it up.
        let fresh = self.fresh.keep();
        fs::replace_dir(&fresh, &self.place)
    }
}

/// Beginning of the names of sets in the making and of their locks.
const PREFIX: &str = ".simpack-dist-";
/// What the name of a set has more than that of its lock.
const ENDING: &str = ".d";

/// A new, locked file of our name in `parent`.
fn locked(parent: &Path) -> std::io::Result<NamedTempFile> {
    loop {
        let file = tempfile::Builder::new().prefix(PREFIX).tempfile_in(parent)?;
        file.as_file().lock()?;
        // Who looks between creation and lock takes the file for a dead run's and removes it: once more then.
        if file.path().exists() {
            return Ok(file);
        }
    }
}

/// Removes what killed runs left in `parent`: directories and files of our name that no living process locks.
fn remove_leftovers(parent: &Path) -> Result<()> {
    for entry in fs_err::read_dir(parent)? {
        let entry = entry?;
        let (name, path) = (entry.file_name().to_string_lossy().into_owned(), entry.path());
        // Another run may be faster at removing it.
        match entry.file_type()?.is_dir() {
            _ if !name.starts_with(PREFIX) => {}
            true if !name.strip_suffix(ENDING).is_some_and(|lock| is_locked(&parent.join(lock))) => {
                fs::remove_gone(&path)?;
            }
            false if !is_locked(&path) => drop(std::fs::remove_file(&path)),
            _ => {}
        }
    }
    Ok(())
}

/// Whether somebody holds a lock file; what cannot be looked into is taken for held.
fn is_locked(lock: &Path) -> bool {
    match fs::open_lock(lock) {
        Ok(file) => file.try_lock().is_err(),
        Err(error) => error.kind() != std::io::ErrorKind::NotFound,
    }
}

/// Says at once what would be found out after hours: whether something can be put beside `place`.
pub(crate) fn refuse_fixed(place: &Path, option: &str) -> Result<()> {
    let above = std::path::absolute(place)?;
    let parent = above.ancestors().skip(1).find(|dir| dir.is_dir()).unwrap_or(Path::new("/"));
    // A file without a name: who is killed here leaves nothing.
    match tempfile::tempfile_in(parent) {
        Ok(_) => Ok(()),
        Err(error) => Err(Error::file(parent, "cannot be written")
            .because(error)
            .hint(format!("choose another place with {option}"))),
    }
}

/// Replacing a directory deletes what was in it: never somebody's files.
pub(crate) fn refuse_foreign(place: &Path) -> Result<()> {
    let refuse = |why: &str| {
        Err(Error::usage(format!("{} {why}", place.display()))
            .hint("choose another directory with --dist, or remove it first"))
    };
    match std::fs::read_dir(place) {
        Ok(mut entries) => {
            match entries.next().is_none() || [MARK, SHARD_FILE].iter().any(|mark| place.join(mark).is_file()) {
                true => Ok(()),
                false => refuse("holds files that simpack did not make"),
            }
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        Err(_) => refuse("is not a directory that can be read"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_foreign_directory_is_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        let place = dir.path().join("dist");
        std::fs::create_dir(&place).unwrap();
        assert!(Dist::begin(&place).is_ok());
        std::fs::write(place.join("thesis.tex"), "years of work").unwrap();
        assert!(Dist::begin(&place).is_err());
        std::fs::write(place.join(MARK), "{}").unwrap();
        let dist = Dist::begin(&place).unwrap();
        std::fs::write(dist.root().join(MARK), "{}").unwrap();
        std::fs::write(dist.root().join("new"), "").unwrap();
        dist.publish().unwrap();
        assert!(place.join("new").is_file());
        assert!(!place.join("thesis.tex").exists());
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn leftovers_of_the_dead_go_and_work_of_the_living_stays() {
        let dir = tempfile::tempdir().unwrap();
        let dead = dir.path().join(format!("{PREFIX}dead"));
        std::fs::create_dir(&dead).unwrap();
        let killed = dir.path().join(format!("{PREFIX}killed{ENDING}"));
        std::fs::create_dir(&killed).unwrap();
        std::fs::write(dir.path().join(format!("{PREFIX}killed")), "").unwrap();
        let living = Dist::begin(&dir.path().join("one")).unwrap();
        let other = Dist::begin(&dir.path().join("two")).unwrap();
        assert!(!dead.exists() && !killed.exists());
        let left = std::fs::read_dir(dir.path()).unwrap().count();
        assert_eq!(left, 4, "two sets with their locks");
        assert!(living.root().is_dir() && other.root().is_dir());
    }

    #[test]
    fn a_set_that_is_not_published_leaves_nothing() {
        let dir = tempfile::tempdir().unwrap();
        drop(Dist::begin(&dir.path().join("dist")).unwrap());
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    }
}
