//! What a source directory leaves out by itself: hidden files, what its own `.gitignore` files ignore, and what builds
//! write. Nothing outside of the directory is asked, no global list and no directory above, so that a clone, an unpacked
//! archive and a working copy leave out the same.

use std::path::{Path, PathBuf};

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use crate::error::{Error, Result};
use crate::fs::Tree;
use crate::project::RECIPE_FILE;

/// Name of the files with patterns.
const IGNORE_FILE: &str = ".gitignore";
/// Bytes of such a file that are read: longer ones were not written by people.
const LONGEST: u64 = 1 << 20;
/// Where builds put packages, at the top of a directory.
const DIST: &str = "dist";
/// Marks a directory as one that can be made again: build systems write it, and so does simpack into its work directories.
const CACHE_TAG: &str = "CACHEDIR.TAG";

/// Decides over the entries of one walk, from the top down.
pub(super) struct Ignored {
    root: PathBuf,
    /// The directory that is left out and that the walk is in.
    inside: Option<PathBuf>,
    /// Patterns of the directories above the entry, the nearest last.
    patterns: Vec<Gitignore>,
    /// The files with patterns that were read.
    pub read: Vec<PathBuf>,
}

impl Ignored {
    /// For a walk of `root`.
    pub(super) fn below(root: &Path) -> Self {
        Self { root: root.to_owned(), inside: None, patterns: Vec::new(), read: Vec::new() }
    }

    /// Whether an entry is left out, and with it all that is below. Entries come as a walk finds them: what is in a
    /// directory follows it.
    ///
    /// # Errors
    /// A file with patterns cannot be read or understood.
    pub(super) fn leaves_out(&mut self, entry: &walkdir::DirEntry) -> Result<bool> {
        let path = entry.path();
        self.patterns.retain(|patterns| path.starts_with(patterns.path()));
        self.inside.take_if(|dir| !path.starts_with(dir));
        if self.inside.is_some() {
            return Ok(true);
        }
        let is_dir = entry.file_type().is_dir() && !entry.path_is_symlink();
        if entry.depth() > 0 && (self.is_of_builds(entry, is_dir) || self.is_ignored(path, is_dir)) {
            if entry.file_type().is_dir() {
                self.inside = Some(path.to_owned());
            }
            return Ok(true);
        }
        // A directory that a link leads to has its patterns where it lies.
        if is_dir || entry.depth() == 0 {
            let own = self.patterns_of(path)?;
            self.patterns.extend(own);
        }
        Ok(false)
    }

    /// Whether it is hidden, or the recipe, or written by a build.
    fn is_of_builds(&self, entry: &walkdir::DirEntry, is_dir: bool) -> bool {
        let is_hidden = entry.file_name().as_encoded_bytes().starts_with(b".");
        let is_dist = is_dir && entry.depth() == 1 && entry.file_name() == DIST;
        let is_recipe = !is_dir && entry.depth() == 1 && entry.file_name() == RECIPE_FILE;
        is_hidden || is_dist || is_recipe || (is_dir && entry.path().join(CACHE_TAG).is_file())
    }

    fn is_ignored(&self, path: &Path, is_dir: bool) -> bool {
        let said = self.patterns.iter().rev().map(|patterns| patterns.matched(path, is_dir));
        said.into_iter().find(|said| !said.is_none()).is_some_and(|said| matches!(said, Match::Ignore(_)))
    }

    /// The patterns that a directory has itself. One that is a link is none, as it is none to git.
    fn patterns_of(&mut self, dir: &Path) -> Result<Option<Gitignore>> {
        let path = dir.join(IGNORE_FILE);
        if !path.symlink_metadata().is_ok_and(|data| data.is_file()) {
            return Ok(None);
        }
        let bytes = Tree::at(dir)?.open(IGNORE_FILE)?.metadata()?.len();
        if bytes > LONGEST {
            let name = path.strip_prefix(&self.root).unwrap_or(&path);
            return Err(Error::file(&self.root, format!("{} has {bytes} bytes", name.display()))
                .hint("such a file has a few lines; or name what the build reads in `inputs`"));
        }
        let mut builder = GitignoreBuilder::new(dir);
        for line in String::from_utf8_lossy(&Tree::at(dir)?.read(IGNORE_FILE)?).lines() {
            // Git takes a pattern that it cannot understand for none.
            let _ = builder.add_line(None, line);
        }
        let patterns = builder.build().map_err(|error| Error::file(&path, "is too much to match").because(error))?;
        self.read.push(path);
        Ok(Some(patterns))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is left of a tree.
    fn kept(root: &Path) -> Vec<String> {
        let mut ignored = Ignored::below(root);
        let mut kept = Vec::new();
        for entry in walkdir::WalkDir::new(root).follow_links(true) {
            let entry = entry.unwrap();
            if !ignored.leaves_out(&entry).unwrap() && entry.file_type().is_file() {
                kept.push(crate::fs::relative(root, entry.path()).unwrap());
            }
        }
        kept.sort();
        kept
    }

    fn write(root: &Path, files: &[(&str, &str)]) {
        for (path, text) in files {
            fs_err::create_dir_all(root.join(path).parent().unwrap()).unwrap();
            fs_err::write(root.join(path), text).unwrap();
        }
    }

    #[test]
    fn a_tree_leaves_out_what_its_own_files_ignore_and_what_is_hidden() {
        let dir = tempfile::tempdir().unwrap();
        // Above the tree, and so without a say.
        write(dir.path(), &[(".gitignore", "*.cc\n")]);
        let root = dir.path().join("sim");
        write(
            &root,
            &[
                (".gitignore", "# what builds leave\n*.log\n/out/\ngenerated/*\n!generated/keep.h\n[\n"),
                ("CMakeLists.txt", ""),
                ("build.log", ""),
                ("src/a.cc", ""),
                ("src/deep/test.log", ""),
                ("src/out/kept.cc", ""),
                ("out/left.cc", ""),
                ("generated/keep.h", ""),
                ("generated/made.h", ""),
                ("src/.gitignore", "!*.log\n/own.cc\n"),
                ("src/own.cc", ""),
                ("src/deep/own.cc", ""),
                (".github/workflow.yml", ""),
                (".clang-format", ""),
                ("simpack.toml", ""),
                ("deep/simpack.toml", ""),
                ("dist/build.json", ""),
                ("deep/dist/mine.h", ""),
                ("target/simpack/CACHEDIR.TAG", ""),
                ("target/simpack/logs/one.txt", ""),
                ("target/mine.cc", ""),
            ],
        );
        let expected = [
            "CMakeLists.txt",
            "deep/dist/mine.h",
            "deep/simpack.toml",
            "generated/keep.h",
            "src/a.cc",
            "src/deep/own.cc",
            "src/deep/test.log",
            "src/out/kept.cc",
            "target/mine.cc",
        ];
        assert_eq!(kept(&root), expected);
    }

    #[test]
    fn patterns_are_read_through_no_link() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("sim");
        write(dir.path(), &[("theirs", "*.cc\n"), ("sim/src/a.cc", ""), ("sim/real/.gitignore", "b.cc\n")]);
        write(&root, &[("real/b.cc", ""), ("real/c.cc", ""), ("src/.gitignore", "build/\n")]);
        fs_err::os::unix::fs::symlink("../theirs", root.join(".gitignore")).unwrap();
        fs_err::os::unix::fs::symlink("real", root.join("linked")).unwrap();
        fs_err::os::unix::fs::symlink("../real", root.join("src/build")).unwrap();
        // A link to a directory is no directory to git, so that `build/` does not mean it.
        let expected = ["linked/b.cc", "linked/c.cc", "real/c.cc", "src/a.cc", "src/build/b.cc", "src/build/c.cc"];
        assert_eq!(kept(&root), expected);
    }
}
