//! `RecipeFile` to `Recipe`: defaults, the manifests' knowledge, and what contradicts itself.

mod components;
mod embedded;
mod host_structures;
mod kernels;
mod licence;
mod targets;
mod webgpu;

use std::path::Path;

use crate::arch::{Capability, CudaVersion, GlibcVersion, Platform};
use crate::elf::edit::PathTag;
use crate::manifest::Manifests;
use crate::recipe::diagnostic::{Diagnostic, Spanned, sort};
use crate::recipe::file::RecipeFile;
use crate::recipe::files::RecipeFiles;
use crate::recipe::model::{
    Component, ComponentKind, DriverPolicy, Fallback, HostKind, HostToolchain, KernelGroup, LintSettings,
    OLDEST_GLIBC_OF_SYSTEM, PackageSettings, Places, Recipe, Source,
};
use crate::recipe::parse::parse_all;

/// What the command line asks for in the place of the recipe's own choice.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Selection {
    /// CUDA release.
    pub cuda: Option<CudaVersion>,
    /// Capabilities of machine code.
    pub capabilities: Option<Vec<Capability>>,
    /// Capabilities of PTX; empty for no PTX.
    pub ptx: Option<Vec<Capability>>,
    /// Environments of shaders.
    pub environments: Option<Vec<String>>,
    /// Host compiler. The recipe's settings for it hold, too.
    pub host: Option<HostKind>,
    /// Structures that the host says need not be in the kernel tables: they are about to be written.
    pub writes_structures: bool,
}

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

/// What resolving needs all along.
pub(in crate::recipe) struct Resolver<'a> {
    pub file: &'a RecipeFile,
    pub files: &'a dyn RecipeFiles,
    pub manifests: &'a Manifests,
    pub selection: &'a Selection,
    /// The release of the matrix that it is for; without, the recipe's own choice is found out.
    pub release: Option<CudaVersion>,
    pub mistakes: Vec<Diagnostic>,
    pub places: Places,
}

impl Resolver<'_> {
    /// A mistake in the recipe's file.
    pub fn mistake<T>(&self, at: &Spanned<T>, message: impl Into<String>) -> Diagnostic {
        Diagnostic::at(&self.file.document, at.span.clone(), message)
    }

    pub fn wrong<T>(&mut self, at: &Spanned<T>, message: impl Into<String>) {
        let mistake = self.mistake(at, message);
        self.mistakes.push(mistake);
    }

    /// Whether the source is not in the recipe's directory and has to be fetched.
    pub fn is_source_elsewhere(&self) -> bool {
        self.file.source.as_ref().is_some_and(|source| !matches!(source.value, Source::Path(_)))
    }

    /// Notes a path of the source that leads nowhere. A source that is elsewhere and not fetched is not
    /// looked into.
    pub fn must_be_in_source(&mut self, at: &Spanned<String>) {
        match self.file.source.as_ref().map(|source| &source.value) {
            None => self.must_be_in(self.files, at, &at.value),
            Some(Source::Path(source)) => {
                let path = format!("{}/{}", source.trim_end_matches('/'), at.value);
                self.must_be_in(self.files, at, &path)
            }
            Some(_) => match self.files.fetched() {
                Some(files) => self.must_be_in(files, at, &at.value),
                None => true,
            },
        };
    }

    /// Text of a file of the source, where it is here.
    pub fn source_text(&self, path: &str) -> Option<String> {
        let text = match self.file.source.as_ref().map(|source| &source.value) {
            None => self.files.text(path),
            Some(Source::Path(source)) => self.files.text(&format!("{}/{path}", source.trim_end_matches('/'))),
            Some(_) => self.files.fetched()?.text(path),
        };
        text.ok()
    }

    /// Notes a path of the recipe that leads nowhere.
    pub fn must_exist(&mut self, at: &Spanned<String>, path: &str) -> bool {
        self.must_be_in(self.files, at, path)
    }

    fn must_be_in(&mut self, files: &dyn RecipeFiles, at: &Spanned<String>, path: &str) -> bool {
        if files.exists(path) {
            return true;
        }
        let dir = at.value.rsplit_once('/').map_or(String::new(), |(dir, _)| format!("{dir}/"));
        let siblings = files.siblings(path).into_iter().map(|name| dir.clone() + &name);
        let mistake = self.mistake(at, format!("no such file `{}`", at.value)).near(&at.value, siblings);
        self.mistakes.push(mistake);
        false
    }

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

    /// What serves unknown GPUs. Of libraries that ship cut an environment holds one.
    fn fallback(&mut self, groups: &[KernelGroup]) -> Fallback {
        let Some(fallback) = &self.file.package.fallback else { return Fallback::default() };
        let is_of_shaders = !groups.is_empty() && groups.iter().all(|group| !group.form.is_cuda());
        if !groups.is_empty() && groups.iter().all(|group| group.embed) {
            let mistake = self.mistake(fallback, "nothing is brought beside core, which holds the shaders");
            self.mistakes.push(mistake.hint("leave the key out, or let the shaders ship: `embed = false`"));
            return Fallback::default();
        }
        if fallback.value == Fallback::Ptx && is_of_shaders {
            let mistake = self.mistake(fallback, "there is no PTX of shaders");
            let hint = "leave the key out for those of the lowest environment, or write \"all\" or \"cpu\"";
            self.mistakes.push(mistake.hint(hint));
        }
        if fallback.value == Fallback::Cpu && groups.iter().any(|group| group.gpu_only) {
            let mistake = self.mistake(fallback, "there is no package for the CPU: a kernel group says `cpu = false`");
            self.mistakes.push(mistake.hint("write \"ptx\", or leave the key out"));
        }
        if fallback.value == Fallback::All && groups.iter().any(|group| group.form.is_exclusive()) {
            let mistake = self.mistake(fallback, "libraries that ship cut exclude each other: nothing can bring all");
            self.mistakes.push(mistake.hint("write \"ptx\" or \"cpu\", or leave the key out"));
        }
        fallback.value
    }

    fn host(&mut self) -> Option<HostToolchain> {
        let written = self.host_as_written()?;
        Some(match self.selection.host {
            Some(kind) if kind != written.kind() => kind.plain(),
            _ => written,
        })
    }

    fn host_as_written(&mut self) -> Option<HostToolchain> {
        let Some(host) = &self.file.toolchain.host else { return Some(HostKind::Zig.plain()) };
        let kind = match (&host.kind, &host.cxx) {
            (Some(kind), _) => kind.value,
            (None, Some(_)) => HostKind::System,
            (None, None) => HostKind::Zig,
        };
        match (kind, &host.cxx, &host.glibc) {
            (HostKind::Zig, Some(cxx), _) => {
                let mistake = self.mistake(cxx, "`cxx` asks for the machine's compiler, but the host compiler is zig");
                self.mistakes.push(mistake.hint("remove `cxx`, or use = \"system\""));
                None
            }
            (HostKind::System, cxx, None) => {
                Some(HostToolchain::System { min_cxx: cxx.as_ref().map(|cxx| cxx.value), glibc: None })
            }
            (HostKind::System, cxx, Some(glibc)) => {
                if glibc.value < OLDEST_GLIBC_OF_SYSTEM && self.manifests.glibc.get(glibc.value).is_some() {
                    let message = format!(
                        "the machine's g++ can be held to glibc {OLDEST_GLIBC_OF_SYSTEM} or newer, not to {}",
                        glibc.value
                    );
                    let mistake = self.mistake(glibc, message);
                    let hint = "use = \"zig\" reaches further back, with a C++ library of its own and without nvcc";
                    self.mistakes.push(mistake.hint(hint));
                    return None;
                }
                let min_cxx = cxx.as_ref().map(|cxx| cxx.value);
                self.level(glibc).map(|glibc| HostToolchain::System { min_cxx, glibc: Some(glibc) })
            }
            (HostKind::Zig, None, None) => Some(HostKind::Zig.plain()),
            (HostKind::Zig, None, Some(glibc)) => self.level(glibc).map(|glibc| HostToolchain::Zig { glibc }),
        }
    }

    /// A glibc that is a level of manylinux.
    fn level(&mut self, glibc: &Spanned<GlibcVersion>) -> Option<GlibcVersion> {
        let levels = &self.manifests.glibc;
        if levels.get(glibc.value).is_none() {
            let mistake = self
                .mistake(glibc, format!("no manylinux level has glibc {}", glibc.value))
                .known("known", levels.iter().map(|level| level.glibc()))
                .near(&glibc.value.to_string(), levels.iter().map(|level| level.glibc()));
            self.mistakes.push(mistake);
            return None;
        }
        Some(glibc.value)
    }

    fn driver(&mut self) -> Option<DriverPolicy> {
        let tag = self.file.driver.tag.as_ref().map_or(PathTag::Runpath, |tag| tag.value);
        let Some(profiles) = &self.file.driver.profiles else {
            return Some(DriverPolicy { profiles: vec!["conventional".to_owned()], directories: Vec::new(), tag });
        };
        let drivers = &self.manifests.drivers;
        for profile in profiles {
            if drivers.get(&profile.value).is_none() {
                let names = || drivers.iter().map(|profile| profile.name().to_owned());
                let mistake = self
                    .mistake(profile, format!("unknown driver profile `{}`", profile.value))
                    .known("known", names())
                    .near(&profile.value, names());
                self.mistakes.push(mistake);
            } else if profile.value == "none" && profiles.len() > 1 {
                self.wrong(profile, "driver profile `none` stands beside others");
            }
        }
        let names: Vec<String> = profiles.iter().map(|profile| profile.value.clone()).collect();
        Some(DriverPolicy { directories: drivers.runpath(names.iter().map(String::as_str)), profiles: names, tag })
    }
}

/// The component of a kind among resolved ones.
pub(in crate::recipe) fn has(components: &[Component], kind: ComponentKind) -> bool {
    components.iter().any(|component| component.kind == kind)
}
