//! The copy of the sources in a build tree, brought up to date: what has not changed keeps its time stamp, so that build
//! systems leave alone what they made of it; what has changed gets a newer one; what is gone vanishes.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::build_system::SourceChanges;
use crate::engine::step::sandbox::isolation::{changed, copy_declared};
use crate::error::Result;
use crate::fs::{self, Digest, EntryKind, Tree};

/// The declared sources of a step.
pub(in crate::engine) struct Declared<'a> {
    /// Root of the source tree.
    root: &'a Path,
    /// Directory in it that the step builds.
    below: &'a str,
    /// Paths below the root, with their digests, by paths in the copy.
    files: BTreeMap<String, (&'a str, Digest)>,
    /// Directories that hold nothing, by their paths in the copy.
    empty: BTreeSet<String>,
}

impl<'a> Declared<'a> {
    /// Files of a source tree, of which a step sees the directory `below`.
    ///
    /// # Errors
    /// A name is not UTF-8.
    pub(in crate::engine) fn new(
        root: &'a Path,
        below: &'a str,
        files: impl IntoIterator<Item = (&'a str, Digest)>,
    ) -> Result<Self> {
        let named = files.into_iter().map(|(path, digest)| {
            let rest = Path::new(path).strip_prefix(below).unwrap_or(Path::new(path));
            Ok((fs::utf8(rest)?.to_owned(), (path, digest)))
        });
        Ok(Self { root, below, files: named.collect::<Result<_>>()?, empty: BTreeSet::new() })
    }

    /// The same with directories of the source tree that hold nothing.
    ///
    /// # Errors
    /// A name is not UTF-8.
    pub(in crate::engine) fn with_empty(mut self, paths: impl IntoIterator<Item = &'a str>) -> Result<Self> {
        for path in paths {
            self.empty
                .insert(fs::utf8(Path::new(path).strip_prefix(self.below).unwrap_or(Path::new(path)))?.to_owned());
        }
        Ok(self)
    }

    /// Copies all into the directory `to`.
    ///
    /// # Errors
    /// A file is not the one that the plan was made of.
    pub(in crate::engine) fn copy(&self, to: &Path) -> Result<()> {
        copy_declared(self.root, self.below, self.files.values().copied(), to)?;
        self.make_empty(&Tree::at(to)?)
    }

    fn make_empty(&self, tree: &Tree) -> Result<()> {
        self.empty.iter().try_for_each(|path| tree.directory(path))
    }

    /// Digests by paths in the copy.
    pub(super) fn digests(&self) -> BTreeMap<String, Digest> {
        self.files.iter().map(|(rest, (_, digest))| (rest.clone(), *digest)).collect()
    }

    /// In what the sources differ from those that were copied before.
    pub(super) fn changes(&self, before: &BTreeMap<String, Digest>) -> SourceChanges {
        let mut changes = SourceChanges::default();
        for (rest, (_, digest)) in &self.files {
            match before.get(rest) {
                None => changes.added.push(rest.clone()),
                Some(before) if before != digest => changes.changed.push(rest.clone()),
                Some(_) => {}
            }
        }
        changes.removed = before.keys().filter(|rest| !self.files.contains_key(*rest)).cloned().collect();
        changes
    }

    /// Brings the copy `to` up to date, which was made of `before`. With `exactly`, what the build added to it goes, too.
    ///
    /// # Errors
    /// A file is not the one that the plan was made of; or what a build left there is in the way.
    pub(super) fn update(&self, to: &Path, before: &BTreeMap<String, Digest>, exactly: bool) -> Result<()> {
        let tree = Tree::at(to)?;
        self.make_empty(&tree)?;
        let mut going: BTreeSet<&str> = before.keys().map(String::as_str).collect();
        let entries = fs::walk(to)?;
        if exactly {
            let files = entries.iter().filter(|entry| !matches!(entry.kind, EntryKind::Directory));
            going.extend(files.map(|entry| entry.path.as_str()));
        }
        let there: BTreeSet<&str> = entries.iter().map(|entry| entry.path.as_str()).collect();
        for rest in going.into_iter().filter(|rest| !self.files.contains_key(*rest) && there.contains(rest)) {
            tree.remove(rest)?;
        }
        for entry in entries.iter().rev().filter(|entry| matches!(entry.kind, EntryKind::Directory)) {
            // Only an empty one can be removed like this; a clean copy has none.
            if exactly && !self.empty.contains(&entry.path) {
                let _ = std::fs::remove_dir(to.join(&entry.path));
            }
        }
        for (rest, (path, digest)) in &self.files {
            let from = fs::open(&self.root.join(path))?;
            let is_same = before.get(rest) == Some(digest) && is_as(&tree, rest, &from, *digest)?;
            if is_same {
                continue;
            }
            if there.contains(rest.as_str()) {
                tree.remove(rest)?;
            }
            tree.copy(&from, rest, None)?;
            if Digest::of_open(&tree.open(rest)?)? != *digest {
                return Err(changed(path));
            }
        }
        Ok(())
    }
}

/// Whether the copy still is as it was copied: builds may write into their sources.
fn is_as(tree: &Tree, rest: &str, from: &fs_err::File, digest: Digest) -> Result<bool> {
    let Ok(copy) = tree.open(rest) else { return Ok(false) };
    let mode = |file: &fs_err::File| Ok::<_, std::io::Error>(file.metadata()?.permissions().mode() & 0o7777);
    Ok(mode(&copy)? == mode(from)? && Digest::of_open(&copy)? == digest)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stamp(path: &Path) -> (std::time::SystemTime, String) {
        (fs_err::metadata(path).unwrap().modified().unwrap(), fs_err::read_to_string(path).unwrap())
    }

    #[test]
    fn what_has_not_changed_keeps_its_time_and_the_rest_is_as_in_a_clean_copy() {
        let dir = tempfile::tempdir().unwrap();
        let (root, to) = (dir.path().join("root"), dir.path().join("copy"));
        let write = |path: &str, text: &str| {
            fs_err::create_dir_all(root.join(path).parent().unwrap()).unwrap();
            fs_err::write(root.join(path), text).unwrap();
        };
        let declared = |files: &[(&'static str, &str)]| {
            let files = files.iter().map(|(path, text)| (*path, Digest::of(text.as_bytes())));
            files.collect::<Vec<_>>()
        };
        for (path, text) in [("sub/a.c", "a"), ("sub/deep/b.h", "b"), ("sub/c.c", "c"), ("sub/gone/d.c", "d")] {
            write(path, text);
        }
        let first = declared(&[("sub/a.c", "a"), ("sub/deep/b.h", "b"), ("sub/c.c", "c"), ("sub/gone/d.c", "d")]);
        let before = Declared::new(&root, "sub", first).unwrap();
        before.copy(&to).unwrap();
        let before = before.digests();
        let old = stamp(&to.join("a.c"));
        std::thread::sleep(std::time::Duration::from_millis(20));
        // The build wrote into one source and beside them, and removed another.
        fs_err::write(to.join("c.c"), "patched").unwrap();
        fs_err::write(to.join("a.o"), "object").unwrap();
        write("sub/deep/b.h", "new");
        write("sub/e.c", "e");
        let second = declared(&[("sub/a.c", "a"), ("sub/deep/b.h", "new"), ("sub/c.c", "c"), ("sub/e.c", "e")]);
        let now = Declared::new(&root, "sub", second).unwrap();
        let changes = now.changes(&before);
        assert_eq!((changes.added, changes.changed), (vec!["e.c".to_owned()], vec!["deep/b.h".to_owned()]));
        assert_eq!(changes.removed, ["gone/d.c"]);
        now.update(&to, &before, false).unwrap();
        assert_eq!(stamp(&to.join("a.c")), old);
        for (path, text) in [("deep/b.h", "new"), ("c.c", "c"), ("e.c", "e")] {
            let (time, found) = stamp(&to.join(path));
            assert!(time > old.0 && found == text, "{path}");
        }
        assert!(to.join("a.o").exists() && !to.join("gone/d.c").exists());
        now.update(&to, &now.digests(), true).unwrap();
        let left: Vec<_> = fs::walk(&to).unwrap().into_iter().map(|entry| entry.path).collect();
        assert_eq!(left, ["a.c", "c.c", "deep", "deep/b.h", "e.c"]);
        assert_eq!(stamp(&to.join("a.c")), old);
        // Another mode is another file, and a source that is not as planned is told.
        fs::set_mode(&root.join("sub/a.c"), 0o755).unwrap();
        now.update(&to, &now.digests(), true).unwrap();
        assert!(stamp(&to.join("a.c")).0 > old.0);
        write("sub/e.c", "otherwise");
        let third = declared(&[("sub/a.c", "a"), ("sub/e.c", "other")]);
        let error = Declared::new(&root, "sub", third).unwrap().update(&to, &now.digests(), true).unwrap_err();
        assert_eq!(error.to_string(), "sub/e.c was changed while it was built");
    }

    #[test]
    fn nothing_is_written_through_links_that_a_build_left() {
        let dir = tempfile::tempdir().unwrap();
        let (root, to) = (dir.path().join("root"), dir.path().join("copy"));
        fs_err::create_dir_all(root.join("deep")).unwrap();
        fs_err::create_dir_all(dir.path().join("theirs")).unwrap();
        fs_err::write(dir.path().join("theirs/a.c"), "theirs").unwrap();
        fs_err::write(root.join("deep/a.c"), "ours").unwrap();
        let files = [("deep/a.c", Digest::of(b"ours"))];
        let declared = Declared::new(&root, "", files).unwrap();
        declared.copy(&to).unwrap();
        fs_err::remove_dir_all(to.join("deep")).unwrap();
        fs_err::os::unix::fs::symlink("../theirs", to.join("deep")).unwrap();
        // A link in the place of a directory is in the way, or goes with what the build added.
        assert!(declared.update(&to, &BTreeMap::new(), false).is_err());
        declared.update(&to, &BTreeMap::new(), true).unwrap();
        assert_eq!(fs_err::read(to.join("deep/a.c")).unwrap(), b"ours");
        assert_eq!(fs_err::read(dir.path().join("theirs/a.c")).unwrap(), b"theirs");
    }
}
