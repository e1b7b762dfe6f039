//! One recipe over several CUDA releases: resolved once for each, because capabilities, compilers and ranges of vendor
//! libraries follow from the release.

use std::collections::BTreeSet;
use std::path::Path;

use super::diagnostic::Diagnostic;
use super::files::RecipeFiles;
use super::model::Recipe;
use super::parse::parse_all;
use super::resolve::{Selection, resolve, settled};
use crate::arch::{CudaVersion, KernelTarget};
use crate::manifest::Manifests;

/// A recipe as it is for each CUDA release of its matrix. The first is its own: the host part is built once, with that
/// release's values where any enter it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecipeMatrix(Vec<Recipe>);

impl RecipeMatrix {
    /// Of one release, or several of one recipe.
    pub fn new(own: Recipe, others: impl IntoIterator<Item = Recipe>) -> Self {
        Self(std::iter::once(own).chain(others).collect())
    }

    /// The recipe for its own release.
    pub fn own(&self) -> &Recipe {
        &self.0[0]
    }

    /// The recipe for each release, its own first, then ascending.
    pub fn iter(&self) -> std::slice::Iter<'_, Recipe> {
        self.0.iter()
    }

    /// The recipe for each release that compiles device code; its own alone where none does.
    pub fn compiling(&self) -> impl Iterator<Item = &Recipe> {
        let of_each = self.own().groups.is_empty() || self.own().is_cuda();
        self.0.iter().take(if of_each { usize::MAX } else { 1 })
    }

    /// The recipe for a release; for its own where something belongs to none.
    pub fn of(&self, cuda: Option<CudaVersion>) -> &Recipe {
        self.0.iter().find(|recipe| Some(recipe.cuda) == cuda).unwrap_or(self.own())
    }

    /// Whether there are several releases.
    pub fn is_several(&self) -> bool {
        self.0.len() > 1
    }

    /// All of them, for what takes a slice.
    pub fn as_slice(&self) -> &[Recipe] {
        &self.0
    }
}

/// Parses a recipe and resolves it for all CUDA releases of its matrix, or for the one that is asked for. Where
/// capabilities are asked for that a release does not compile for and another does, that release is left out.
///
/// # Errors
/// All mistakes, in the recipe and in its kernel tables.
pub fn load_matrix(
    text: &str,
    path: &str,
    dir: &Path,
    files: &dyn RecipeFiles,
    manifests: &Manifests,
    selection: &Selection,
) -> Result<RecipeMatrix, Vec<Diagnostic>> {
    let (file, mut mistakes) = parse_all(text, path);
    let Some(file) = file else { return Err(mistakes) };
    let own = resolve(&file, dir, files, manifests, selection, None, &mut mistakes);
    let listed = file.matrix.cuda.iter().flatten().map(|release| release.value);
    let is_other = |release: &CudaVersion| own.as_ref().is_none_or(|own| own.cuda != *release);
    let is_known = |release: &CudaVersion| manifests.cuda.toolkits().contains(release);
    let listed = listed.filter(|release| selection.cuda.is_none() && is_other(release) && is_known(release));
    let others: BTreeSet<CudaVersion> = listed.collect();
    let others: Vec<Option<Recipe>> = others
        .into_iter()
        .map(|cuda| resolve(&file, dir, files, manifests, selection, Some(cuda), &mut mistakes))
        .collect();
    // Releases share most of their mistakes, which are told once.
    let mut recipes: Vec<Recipe> = settled(std::iter::once(own).chain(others).collect(), mistakes, &file)?;
    let has_sass = |recipe: &Recipe| recipe.targets.iter().any(|target| matches!(target, KernelTarget::Sass(_)));
    if selection.capabilities.is_some() && recipes.iter().any(has_sass) {
        recipes.retain(has_sass);
    }
    Ok(RecipeMatrix(recipes))
}
