//! `dist/` changes only by rename of a complete set, and only where simpack made it.

use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::error::{Error, Result};
use crate::fs;

/// The file by which simpack knows a directory as its own.
pub(crate) const MARK: &str = "build.json";

/// A complete set in the making, beside its final place.
pub(crate) struct Dist {
    place: PathBuf,
    fresh: TempDir,
    /// Lock on the directory itself; the kernel drops it when the process dies, and then the next
    /// run knows that the directory is nobody's.
    _alive: std::fs::File,
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
        // Held until the new directory has its own lock, so that nobody takes it for a leftover.
        let one_at_a_time = fs_err::File::open(&parent)?.into_parts().0;
        one_at_a_time.lock()?;
        remove_leftovers(&parent)?;
        let fresh = tempfile::Builder::new().prefix(PREFIX).tempdir_in(&parent).map_err(|error| {
            Error::file(&parent, "cannot be written").because(error).hint("choose another place with --dist")
        })?;
        let alive = fs_err::File::open(fresh.path())?.into_parts().0;
        alive.try_lock().map_err(|error| Error::file(fresh.path(), "cannot be locked").because(error))?;
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

/// Beginning of the names of sets in the making.
const PREFIX: &str = ".simpack-dist-";

/// Removes what killed runs left in `parent`: directories of our name that no living process locks.
fn remove_leftovers(parent: &Path) -> Result<()> {
    for entry in fs_err::read_dir(parent)? {
        let entry = entry?;
        if !entry.file_name().to_string_lossy().starts_with(PREFIX) {
            continue;
        }
        // Another run may be faster at removing it.
        let Ok(directory) = std::fs::File::open(entry.path()) else { continue };
        if directory.try_lock().is_ok() {
            fs_err::remove_dir_all(entry.path())?;
        }
    }
    Ok(())
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
        Ok(mut entries) => match entries.next().is_none() || place.join(MARK).is_file() {
            true => Ok(()),
            false => refuse("holds files that simpack did not make"),
        },
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
        let living = Dist::begin(&dir.path().join("one")).unwrap();
        let other = Dist::begin(&dir.path().join("two")).unwrap();
        assert!(!dead.exists());
        assert!(living.root().is_dir() && other.root().is_dir());
    }

    #[test]
    fn a_set_that_is_not_published_leaves_nothing() {
        let dir = tempfile::tempdir().unwrap();
        drop(Dist::begin(&dir.path().join("dist")).unwrap());
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    }
}
