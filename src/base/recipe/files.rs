//! The files beside a recipe, wherever they are: whoever resolves a recipe brings them.

use std::collections::BTreeMap;
use std::path::Path;

/// What resolving reads beside the recipe. Paths are `/`-joined, relative to the recipe's directory.
pub trait RecipeFiles {
    /// Text of a file.
    ///
    /// # Errors
    /// Why it cannot be read, as a fragment.
    fn text(&self, path: &str) -> Result<String, String>;

    /// Whether something is at a path.
    fn exists(&self, path: &str) -> bool;

    /// Names in the directory of a path.
    fn siblings(&self, path: &str) -> Vec<String>;

    /// The files of a source tree that is not in the recipe's directory, when it has been fetched.
    fn fetched(&self) -> Option<&dyn RecipeFiles> {
        None
    }
}

/// Files held in memory: a recipe inside the binary, or a test's.
#[derive(Default)]
pub struct RecipeMemory(BTreeMap<String, Vec<u8>>);

impl RecipeMemory {
    /// From paths and contents.
    pub fn new(files: impl IntoIterator<Item = (String, Vec<u8>)>) -> Self {
        Self(files.into_iter().collect())
    }
}

impl RecipeFiles for RecipeMemory {
    fn text(&self, path: &str) -> Result<String, String> {
        let bytes = self.0.get(&clean(path)).ok_or("no such file")?;
        String::from_utf8(bytes.clone()).map_err(|_| "the text is not UTF-8".to_owned())
    }

    fn exists(&self, path: &str) -> bool {
        let path = clean(path);
        path.is_empty() || self.0.keys().any(|file| Path::new(file).starts_with(&path))
    }

    fn siblings(&self, path: &str) -> Vec<String> {
        let path = clean(path);
        let parent = path.rsplit_once('/').map_or("", |(parent, _)| parent);
        let below =
            |file: &String| Some(Path::new(file).strip_prefix(parent).ok()?.iter().next()?.to_str()?.to_owned());
        let mut names: Vec<String> = self.0.keys().filter_map(below).collect();
        names.dedup();
        names
    }
}

/// Without `.` parts.
fn clean(path: &str) -> String {
    path.split('/').filter(|part| !part.is_empty() && *part != ".").collect::<Vec<_>>().join("/")
}
