//! The files beside a recipe on disk, and those of a source that was fetched.

use std::path::PathBuf;

use crate::recipe::RecipeFiles;

/// The recipe's directory on disk.
pub(super) struct RecipeDir(pub PathBuf);

impl RecipeFiles for RecipeDir {
    fn text(&self, path: &str) -> Result<String, String> {
        fs_err::read_to_string(self.0.join(path)).map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => "no such file".to_owned(),
            _ => error.to_string(),
        })
    }

    fn exists(&self, path: &str) -> bool {
        self.0.join(path).exists()
    }

    fn siblings(&self, path: &str) -> Vec<String> {
        let path = self.0.join(path);
        let entries = path.parent().and_then(|parent| fs_err::read_dir(parent).ok());
        let mut names: Vec<String> =
            entries.into_iter().flatten().filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect();
        names.sort();
        names
    }
}

/// The recipe's directory on disk, and the root of its source tree that was fetched.
pub(super) struct FetchedSource {
    recipe: RecipeDir,
    source: RecipeDir,
}

impl FetchedSource {
    /// From both directories.
    pub(super) fn new(recipe: PathBuf, source: PathBuf) -> Self {
        Self { recipe: RecipeDir(recipe), source: RecipeDir(source) }
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
