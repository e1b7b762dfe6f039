//! `RecipeFile` to `Recipe`: defaults, the manifests' knowledge, and what contradicts itself.

mod against;
mod components;
mod embedded;
mod host_structures;
mod kernels;
mod licence;
mod resolver;
mod settings;
mod targets;
mod webgpu;

pub use resolver::Selection;

use std::path::Path;

use self::resolver::Resolver;
use crate::arch::{CudaVersion, Platform};
use crate::manifest::Manifests;
use crate::recipe::diagnostic::{Diagnostic, Spanned, sort};
use crate::recipe::file::RecipeFile;
use crate::recipe::files::RecipeFiles;
use crate::recipe::model::{LintSettings, PackageSettings, Places, Recipe, Source};
use crate::recipe::parse::parse_all;

/// Resolves a recipe for one `release` of its matrix, or for its own choice. `dir` is its directory, for those who build;
/// `files` are read here. All mistakes, in the recipe and in its kernel tables, are added to `mistakes`.
pub(in crate::recipe) fn resolve(
    file: &RecipeFile,
    dir: &Path,
    files: &dyn RecipeFiles,
    manifests: &Manifests,
    selection: &Selection,
    release: Option<CudaVersion>,
    mistakes: &mut Vec<Diagnostic>,
) -> Option<Recipe> {
    let mut resolver =
        Resolver { file, files, manifests, selection, release, mistakes: Vec::new(), places: Places::default() };
    let recipe = resolver.recipe(dir);
    mistakes.append(&mut resolver.mistakes);
    recipe
}

/// Whoever refuses a recipe must say why; this is for a gap that no test has found.
fn unexplained() -> Diagnostic {
    Diagnostic::asked("the recipe cannot be resolved, and simpack does not know why")
        .hint("this is an internal error: please report it with the recipe")
}

/// Parses and resolves in one go, so that mistakes of both kinds come together.
///
/// # Errors
/// All mistakes, in the recipe and in its kernel tables.
pub fn load(
    text: &str,
    path: &str,
    dir: &Path,
    files: &dyn RecipeFiles,
    manifests: &Manifests,
    selection: &Selection,
) -> Result<Recipe, Vec<Diagnostic>> {
    let (file, mut mistakes) = parse_all(text, path);
    let Some(file) = file else { return Err(mistakes) };
    let recipe = resolve(&file, dir, files, manifests, selection, None, &mut mistakes);
    settled(recipe, mistakes, &file)
}

/// What was resolved, where there are no mistakes; else these, each once.
pub(in crate::recipe) fn settled<T>(
    resolved: Option<T>,
    mut mistakes: Vec<Diagnostic>,
    file: &RecipeFile,
) -> Result<T, Vec<Diagnostic>> {
    match resolved {
        Some(resolved) if mistakes.is_empty() => return Ok(resolved),
        None if mistakes.is_empty() => mistakes.push(unexplained()),
        _ => sort(&mut mistakes, &file.document),
    }
    Err(mistakes)
}

impl Resolver<'_> {
    /// Every part is looked at even when an earlier one is wrong.
    fn recipe(&mut self, dir: &Path) -> Option<Recipe> {
        let file = self.file;
        if let Some(Spanned { value: Source::Path(path), span }) = &file.source {
            self.must_exist(&Spanned { value: path.clone(), span: span.clone() }, path);
        }
        for change in &file.changes {
            self.must_exist(change, &change.value);
        }
        for path in &file.simulator.licence_files {
            self.must_be_in_source(path);
        }
        let cuda = targets::cuda(self);
        let targets = cuda.and_then(|cuda| targets::targets(self, cuda));
        let host = self.host();
        let components = components::components(self, cuda);
        embedded::embedded(self);
        components::channels(self);
        components::variants(self);
        against::against(self);
        self.places.add_recipe(file);
        let groups = kernels::groups(self);
        let driver = self.driver();
        licence::licence(self);
        let fallback = self.fallback(groups.as_deref().unwrap_or_default());
        let simulator = file.simulator.clone();
        let name = simulator.name?.value;
        let channel = file.package.channel.as_ref().map_or(&name, |channel| &channel.value).clone();
        let platforms = file.matrix.platforms.iter().flatten();
        Some(Recipe {
            version: simulator.version?.value,
            license: simulator.license?.value,
            summary: simulator.summary?.value,
            homepage: simulator.homepage.map(|homepage| homepage.value),
            licence_files: simulator.licence_files.into_iter().map(|path| path.value).collect(),
            dir: dir.to_owned(),
            source: file.source.as_ref().map_or(Source::Path(".".to_owned()), |source| source.value.clone()),
            platform: platforms.map(|platform| platform.value).next().unwrap_or(Platform::Linux64),
            cuda: cuda?,
            cuda_toolchain: targets::toolchain(file, dir, cuda?),
            cuda_cxx: file.matrix.release(cuda?).and_then(|release| Some(release.cxx.as_ref()?.value.clone())),
            targets: targets?,
            host: host?,
            cpu: file.toolchain.host.as_ref().and_then(|host| Some(host.cpu.as_ref()?.value)),
            channels: file.dependencies.channels.iter().map(|channel| channel.value.clone()).collect(),
            components: components?,
            groups: groups?,
            driver: driver?,
            lint: LintSettings {
                levels: file.lint.levels.iter().map(|(id, level)| (id.value.clone(), *level)).collect(),
                waivers: file.lint.waivers.clone(),
            },
            package: PackageSettings {
                channel,
                build_number: file.package.build_number.as_ref().map_or(0, |number| number.value),
                fallback,
                profile: file.package.profile.as_ref().map(|profile| profile.value).unwrap_or_default(),
                maintainers: file.package.maintainers.iter().map(|name| name.value.clone()).collect(),
                nix_maintainers: file.package.nix_maintainers.clone(),
                wheel_experiments: file.package.experimental.clone(),
            },
            smoke: file.smoke.clone(),
            tests: file.tests.clone(),
            places: std::mem::take(&mut self.places),
            name,
        })
    }
}
