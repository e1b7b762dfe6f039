//! The files beside a recipe on disk, and those of a source that was fetched.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use crate::fs;
use crate::recipe::{self, RecipeFiles};

/// Files and directories that were looked at, or for; clones share what they know.
#[derive(Debug, Clone, Default)]
pub(crate) struct LookedAt(Rc<RefCell<BTreeSet<PathBuf>>>);

impl LookedAt {
    fn note(&self, path: &Path) {
        self.0.borrow_mut().insert(path.to_owned());
    }

    /// Notes the files that a recipe's text puts into its source.
    pub(super) fn note_changes(&self, text: &str, path: &str, dir: &Path) {
        let changes = recipe::parse(text, path).map(|file| file.changes).unwrap_or_default();
        for change in changes {
            let place = dir.join(&change.value);
            for entry in walkdir::WalkDir::new(&place).into_iter().flatten() {
                self.note(entry.path());
            }
        }
    }

    /// All of them.
    pub(crate) fn paths(&self) -> Vec<PathBuf> {
        self.0.borrow().iter().cloned().collect()
    }
}

/// The recipe's directory on disk.
pub(crate) struct RecipeDir {
    dir: PathBuf,
    looked_at: LookedAt,
}

impl RecipeDir {
    /// That directory; what is looked at there is noted.
    pub(crate) fn new(dir: PathBuf, looked_at: &LookedAt) -> Self {
        Self { dir, looked_at: looked_at.clone() }
    }

    fn path(&self, path: &str) -> PathBuf {
        let path = self.dir.join(path);
        self.looked_at.note(&path);
        path
    }
}

impl RecipeFiles for RecipeDir {
    fn text(&self, path: &str) -> Result<String, String> {
        fs::read_to_string(&self.path(path)).map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => "no such file".to_owned(),
            _ => error.to_string(),
        })
    }

    fn exists(&self, path: &str) -> bool {
        self.path(path).exists()
    }

    fn siblings(&self, path: &str) -> Vec<String> {
        let path = self.dir.join(path);
        let parent = path.parent().inspect(|parent| self.looked_at.note(parent));
        let entries = parent.and_then(|parent| fs_err::read_dir(parent).ok());
        let mut names: Vec<String> =
            entries.into_iter().flatten().filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect();
        names.sort();
        names
    }
}

/// The recipe's directory on disk, and the root of its source tree that was fetched.
pub(crate) struct FetchedSource {
    recipe: RecipeDir,
    source: RecipeDir,
}

impl FetchedSource {
    /// From both directories.
    pub(crate) fn new(recipe: PathBuf, source: PathBuf, looked_at: &LookedAt) -> Self {
        Self { recipe: RecipeDir::new(recipe, looked_at), source: RecipeDir::new(source, looked_at) }
    }
}

impl RecipeFiles for FetchedSource {
    fn text(&self, path: &str) -> Result<String, String> {
        self.recipe.text(path)
    }

    fn exists(&self, path: &str) -> bool {
        self.recipe.exists(path)
    }

    fn siblings(&self, path: &str) -> Vec<String> {
        self.recipe.siblings(path)
    }

    fn fetched(&self) -> Option<&dyn RecipeFiles> {
        Some(&self.source)
    }
}
