//! The tools of a job: what they are, for keys and provenance, and where they are, for steps.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::arch::{CudaVersion, KernelCompiler};
use crate::build_system::{BuildDriver, MachineTool};
use crate::bundle::ToolVersion;
use crate::engine::{CudaCompiler, Toolset};
use crate::error::{Error, Result};
use crate::fs;
use crate::gpu::NAGA_VERSION;
use crate::lastrun::VersionCache;
use crate::manifest::Manifests;
use crate::plan::program_tool;
use crate::recipe::{
    BuildSpec, CudaToolchain, KernelForm, Recipe, RecipeMatrix, ShaderLanguage, WITHOUT_DXC, needs_dxc,
};
use crate::toolchain::{
    Ceiling, HostCommands, HostCompiler, HostSearch, HostSource, Launcher, STEP_PATH, ShaderCompiler, Store,
    SystemSearch, Toolchain, dxc, host_source, nvcc_host_compiler, sccache, shader_compiler, system_cuda,
};
use crate::ui::{Ui, size};

/// Where the CUDA compiler comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CudaSource {
    /// Pinned wheels.
    #[default]
    Wheels,
    /// The machine's.
    System,
}

/// Tools of a recipe, known without fetching anything.
pub(crate) struct Tools {
    /// Those of the host part, as they enter keys and provenance.
    host: BTreeMap<String, ToolVersion>,
    /// Those of each CUDA release that compiles device code.
    cuda: BTreeMap<CudaVersion, CudaTools>,
    /// That of the host part, where it is compiled.
    compiler: Option<Box<dyn HostSource>>,
    /// Those of shaders in GLSL and HLSL, where there are any.
    shaders: Vec<ShaderCompiler>,
    /// Programs of the machine that kernel groups name, by the names that the recipe gives.
    programs: BTreeMap<String, PathBuf>,
    answers: VersionCache,
}

/// What compiles device code for a release.
struct CudaTools {
    versions: BTreeMap<String, ToolVersion>,
    /// The machine's; none for the pinned one.
    system: Option<Toolchain>,
    /// Host compiler that nvcc calls.
    cxx: HostCompiler,
    /// The glibc that it is held to, as that of the host part.
    ceiling: Option<Ceiling>,
}

/// File of the cache with what the machine's programs say of themselves.
const ANSWERS: &str = "programs.json";

/// What the tools of a recipe are. Only the machine's own compilers are asked for their version;
/// pinned ones are known from their pins.
pub(crate) fn identify(
    recipes: &RecipeMatrix,
    source: CudaSource,
    manifests: &Manifests,
    store: &Store,
) -> Result<Tools> {
    let answers = VersionCache::at(fs::cache_dir()?.join(ANSWERS));
    let tools = found(recipes, source, manifests, store, answers)?;
    tools.answers.keep();
    Ok(tools)
}

fn found(
    recipes: &RecipeMatrix,
    source: CudaSource,
    manifests: &Manifests,
    store: &Store,
    answers: VersionCache,
) -> Result<Tools> {
    let recipe = recipes.own();
    let mut tools = Tools {
        host: BTreeMap::new(),
        cuda: BTreeMap::new(),
        compiler: None,
        shaders: Vec::new(),
        programs: BTreeMap::new(),
        answers,
    };
    let shaders = recipe.groups.iter().filter(|group| group.form == KernelForm::Spirv);
    let sources = shaders.flat_map(|group| &group.sources);
    let languages: Vec<ShaderLanguage> = sources.filter_map(|source| ShaderLanguage::of(source)).collect();
    let has = |language| languages.contains(&language);
    if has(ShaderLanguage::Hlsl) {
        tools.shaders.extend(dxc(&tools.answers)?);
        if let Some((source, target)) = needs_dxc(recipe).filter(|_| tools.shaders.is_empty()) {
            let error = Error::toolchain(format!("nothing here compiles {source} for {target}: it is HLSL"));
            let error = error.detail("looked for in PATH: dxc; glslc and glslang write HLSL for vulkan1.1 and lower");
            return Err(WITHOUT_DXC.iter().fold(error, |error, hint| error.hint(*hint)));
        }
    }
    if has(ShaderLanguage::Glsl) || (has(ShaderLanguage::Hlsl) && tools.shaders.is_empty()) {
        tools.shaders.push(shader_compiler(&tools.answers)?);
    }
    if has(ShaderLanguage::Wgsl) {
        let naga = ToolVersion { version: NAGA_VERSION.to_owned(), sha256: None };
        tools.host.insert(KernelCompiler::Naga.name().to_owned(), naga);
    }
    for (name, command) in recipe.commands_of_machine() {
        let program = program_of_machine(name, &tools.answers)
            .map_err(|error| error.detail(format!("the recipe calls: {}", command.join(" "))))?;
        let version = program.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let tool = ToolVersion { version, sha256: Some(fs::Digest::of_file(&program)?) };
        tools.host.insert(program_tool(name), tool);
        tools.programs.insert(name.to_owned(), program);
    }
    for recipe in recipes.iter().filter(|recipe| recipe.is_cuda()) {
        tools.cuda.insert(recipe.cuda, cuda_tools(recipe, source, manifests, store, &tools.answers)?);
    }
    let builds = recipe.components.iter().filter_map(|component| component.build.as_ref());
    let drivers: Vec<BuildDriver> = builds.filter(|build| compiles(build)).map(|build| build.driver).collect();
    if drivers.is_empty() && !recipe.compiles_headers() {
        return Ok(tools);
    }
    for name in recipe.build_tools() {
        tools.host.insert(name.to_owned(), store.pins().get(name)?.tool_version());
    }
    let compiler = host_source(&recipe.host, &manifests.glibc, store, &tools.answers)?;
    tools.host.extend(compiler.versions(&tools.answers));
    tools.compiler = Some(compiler);
    for driver in drivers {
        if let Some(tool) = driver.system().of_machine() {
            let version = machine_version(tool, driver, &tools.answers)?;
            tools.host.insert(tool.name.to_owned(), ToolVersion { version, sha256: None });
        }
    }
    Ok(tools)
}

/// A program that a kernel group names.
fn program_of_machine(name: &str, answers: &VersionCache) -> Result<PathBuf> {
    let missing = || Error::toolchain(format!("`{name}`, which a kernel group calls, is not in PATH"));
    // Where steps look for programs comes first: what the user put before it (a shim, say) may not run in a sandbox.
    let found = which::which_in(name, Some(STEP_PATH), "/").or_else(|_| which::which(name)).map_err(|_| missing())?;
    let program = fs_err::canonicalize(&found)?;
    // rustup's programs are one, which looks at the name that it was called by and at the user's settings.
    let is_rustup = program.file_name().is_some_and(|file| file == "rustup") && name != "rustup";
    if !is_rustup {
        return Ok(program);
    }
    let said = answers.ask(&crate::process::Call::new(program).args(["which", name]));
    let said = said.map_err(|error| missing().because(error))?;
    fs_err::canonicalize(said.trim()).map_err(Error::from)
}

/// The compiler of a recipe's release.
fn cuda_tools(
    recipe: &Recipe,
    source: CudaSource,
    manifests: &Manifests,
    store: &Store,
    answers: &VersionCache,
) -> Result<CudaTools> {
    let mut versions = BTreeMap::new();
    let mut add = |name: &str, version: String, sha256: Option<fs::Digest>| {
        versions.insert(name.to_owned(), ToolVersion { version, sha256 });
    };
    let toolchain = match source {
        CudaSource::Wheels => recipe.cuda_toolchain.clone(),
        CudaSource::System => CudaToolchain::System,
    };
    let mut system = None;
    match toolchain {
        CudaToolchain::Pinned => {
            let pin = store.pins().cuda(recipe.cuda)?;
            add("nvcc", recipe.cuda.to_string(), Some(pin.compile_digest()));
            for (project, version) in pin.versions() {
                add(&project, version, None);
            }
        }
        CudaToolchain::System | CudaToolchain::Directory(_) => {
            let found = system_cuda(&search(&toolchain, recipe.cuda)?, Some(recipe.cuda), answers)?;
            for (name, version) in &found.versions {
                add(name, version.clone(), None);
            }
            add("nvcc", format!("{} (system)", recipe.cuda), Some(found.compile_digest));
            system = Some(found);
        }
    }
    let (cxx, ceiling) = nvcc_compiler(recipe, manifests, store, answers)?;
    add("c++ of nvcc", ceiling.as_ref().map_or(&cxx, Ceiling::compiler).describe(), None);
    Ok(CudaTools { versions, system, cxx, ceiling })
}

/// The host compiler that the nvcc of a recipe's release calls, and the glibc that it is held to as that of the host part is.
fn nvcc_compiler(
    recipe: &Recipe,
    manifests: &Manifests,
    store: &Store,
    answers: &VersionCache,
) -> Result<(HostCompiler, Option<Ceiling>)> {
    let range = manifests.cuda.get(recipe.cuda).and_then(|release| release.gcc.as_ref());
    let (min, max) = range.map_or((0, u32::MAX), |range| (range.min, range.max));
    let mut search = HostSearch::from_env();
    search.cxx = recipe.cuda_cxx.clone().or(search.cxx);
    let cxx = nvcc_host_compiler(&search, min, max, answers)?;
    let ceiling = Ceiling::asked(cxx.clone(), recipe.host.system_glibc(), &manifests.glibc, store, answers)?;
    Ok((cxx, ceiling))
}

/// Asks the machine's compilers whether they can be held to the glibc that a recipe wants of them. Nothing is fetched.
///
/// # Errors
/// One of them is not here, or cannot.
pub(crate) fn must_hold_glibc(recipes: &RecipeMatrix, manifests: &Manifests, store: &Store) -> Result<()> {
    let own = recipes.own();
    if own.host.system_glibc().is_none() {
        return Ok(());
    }
    let answers = VersionCache::at(fs::cache_dir()?.join(ANSWERS));
    if own.components.iter().any(|component| component.build.as_ref().is_some_and(compiles)) {
        host_source(&own.host, &manifests.glibc, store, &answers)?;
    }
    for recipe in recipes.iter().filter(|recipe| recipe.is_cuda()) {
        nvcc_compiler(recipe, manifests, store, &answers)?;
    }
    answers.keep();
    Ok(())
}

/// Whether a build calls a host compiler.
fn compiles(build: &BuildSpec) -> bool {
    !build.driver.system().tools().is_empty()
}

/// Where a CUDA that is installed is looked for.
fn search(toolchain: &CudaToolchain, cuda: CudaVersion) -> Result<SystemSearch> {
    let CudaToolchain::Directory(dir) = toolchain else { return Ok(SystemSearch::from_env()) };
    if !dir.join("bin/nvcc").is_file() {
        return Err(Error::toolchain(format!("{} has no bin/nvcc", dir.display()))
            .detail(format!("the recipe names it as toolchain of CUDA {cuda}"))
            .hint("set CUDA_HOME and build with `--toolchain system` where it is installed elsewhere"));
    }
    Ok(SystemSearch { home: Some(dir.clone()), path: None })
}

fn machine_version(tool: &MachineTool, driver: BuildDriver, answers: &VersionCache) -> Result<String> {
    let program = which::which(tool.name).unwrap_or_else(|_| PathBuf::from(tool.name));
    let text = answers.ask(&crate::process::Call::new(program).arg("--version")).map_err(|error| {
        Error::toolchain(format!("the recipe is built with {}, and {} is not here", driver.name(), tool.name))
            .because(error)
            .hint(tool.hint)
    })?;
    Ok(text.lines().next().unwrap_or_default().to_owned())
}

impl Tools {
    /// Tools of the host part and of each release.
    pub(super) fn versions(&self, recipes: &RecipeMatrix) -> BTreeMap<CudaVersion, BTreeMap<String, ToolVersion>> {
        let of = |cuda: CudaVersion| self.cuda.get(&cuda).into_iter().flat_map(|tools| tools.versions.clone());
        let shaders = self.shaders.iter().map(|compiler| (compiler.kind.name().to_owned(), compiler.tool.clone()));
        let shared: BTreeMap<String, ToolVersion> = self.host.clone().into_iter().chain(shaders).collect();
        recipes
            .iter()
            .map(|recipe| (recipe.cuda, shared.clone().into_iter().chain(of(recipe.cuda)).collect()))
            .collect()
    }

    /// Those of the host part alone.
    pub(super) fn of_host(mut self) -> Self {
        self.cuda.clear();
        self
    }

    /// Major version of the machine's host compiler, when the recipe uses it.
    pub(crate) fn host_major(&self) -> Option<u32> {
        self.compiler.as_ref().and_then(|compiler| compiler.major())
    }

    /// The directory of the toolkit of a release; none where it is not here.
    pub(super) fn toolkit(&self, cuda: CudaVersion, store: &Store) -> Option<PathBuf> {
        match self.cuda.get(&cuda).and_then(|tools| tools.system.as_ref()) {
            Some(found) => Some(found.root.clone()),
            None => store.cuda_here(cuda),
        }
    }

    /// What decides which tools these are: while all of it is the same, so are they. None when that is not known.
    pub(crate) fn looked_at(&self) -> Option<Vec<PathBuf>> {
        let mut paths = self.answers.looked_at()?;
        // A program may come to lie where it is found sooner.
        for dir in std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()) {
            if dir.is_relative() {
                return None;
            }
            paths.push(dir);
        }
        paths.extend(self.shaders.iter().map(|compiler| compiler.program.clone()));
        paths.extend(self.shaders.iter().filter_map(|compiler| compiler.library.clone()));
        paths.extend(self.programs.values().cloned());
        paths.extend(self.compiler.iter().flat_map(|compiler| compiler.looked_at()));
        paths.extend(self.cuda.values().filter_map(|tools| tools.ceiling.as_ref()).flat_map(Ceiling::looked_at));
        paths.extend(self.cuda.values().filter_map(|tools| tools.system.as_ref()).flat_map(Toolchain::looked_at));
        Some(paths)
    }

    /// What host compilers are called through; none where none is called.
    pub(super) fn launcher(&self, store: &Store, offline: bool, ui: &Ui) -> Result<Option<Launcher>> {
        self.compiler.as_ref().map(|_| sccache(store, &self.answers, offline, ui)).transpose()
    }

    /// Names everything at once that an offline run would miss, instead of the first thing only.
    fn must_be_here(&self, recipe: &Recipe, store: &Store, ui: &Ui) -> Result<()> {
        let pinned = self.cuda.iter().filter(|(_, tools)| tools.system.is_none());
        let mut names =
            pinned.map(|(cuda, _)| Ok(store.pins().cuda(*cuda)?.name.clone())).collect::<Result<Vec<String>>>()?;
        let tools = self.compiler.iter().flat_map(|_| recipe.build_tools());
        names.extend(tools.map(str::to_owned));
        let is_held = self.cuda.values().any(|tools| tools.ceiling.is_some());
        names.extend(recipe.host.pinned().filter(|_| is_held || self.compiler.is_some()).map(str::to_owned));
        let quiet = ui.silent();
        let missing: Vec<(String, Error)> = names
            .into_iter()
            .filter_map(|name| Some((name.clone(), store.fetch(&name, &quiet, true).err()?)))
            .collect();
        if missing.is_empty() {
            return Ok(());
        }
        let list: Vec<&str> = missing.iter().map(|(name, _)| name.as_str()).collect();
        let mut error = Error::toolchain(format!("this run is offline and lacks {}", list.join(", ")));
        for (name, why) in &missing {
            let pin = store.pins().get(name)?;
            error = error.detail(format!("{name}, {}:", size(pin.size())));
            error = pin.wheels.iter().fold(error, |error, wheel| error.detail(format!("  {}", wheel.file)));
            // More than that a file is not here: what is here is something else.
            let more = why.details().iter().chain(why.hints()).filter(|_| why.details().len() > 1);
            error = more.fold(error, |error, detail| error.detail(format!("  {detail}")));
        }
        Err(error
            .hint("run the same command once without --offline: what it fetches stays in the cache")
            .hint("or put these files into a directory and name that in PIP_FIND_LINKS"))
    }

    /// The programs themselves; what is pinned and not here yet is fetched.
    pub(crate) fn fetch(
        &self,
        recipes: &RecipeMatrix,
        store: &Store,
        epoch: u64,
        offline: bool,
        ui: &Ui,
    ) -> Result<Toolset> {
        if offline {
            self.must_be_here(recipes.own(), store, ui)?;
        }
        let (mut cuda, mut behind) = (Vec::new(), Vec::new());
        for release in recipes.iter().map(|recipe| recipe.cuda) {
            let Some(tools) = self.cuda.get(&release) else { continue };
            let nvcc = match &tools.system {
                Some(found) => found.nvcc.clone(),
                None => store.cuda_wheels(release, ui, offline)?.nvcc,
            };
            let mut cxx = tools.cxx.cxx.clone();
            if let Some(ceiling) = &tools.ceiling {
                behind.push(std::mem::replace(&mut cxx, ceiling.commands(store, offline, ui)?.cxx));
            }
            cuda.push(CudaCompiler { release, nvcc, cxx });
        }
        let pinned: BTreeSet<_> = recipes.iter().flat_map(|recipe| recipe.build_tools()).collect();
        let pinned = pinned.into_iter().map(|name| Ok((name, store.tool(name, ui, offline)?.program)));
        let pinned = pinned.collect::<Result<_>>()?;
        let commands = self.compiler.as_ref().map(|compiler| compiler.commands(store, &self.answers, offline, ui));
        let HostCommands { cc, cxx, behind: by_host, companions, cache, runtime } =
            commands.transpose()?.unwrap_or_default();
        behind.extend(by_host);
        Ok(Toolset {
            cuda,
            cc,
            cxx,
            behind,
            companions,
            pinned,
            dependencies: BTreeMap::new(),
            compiler_cache: cache,
            runtime,
            shaders: self.shaders.iter().map(|compiler| (compiler.kind, compiler.program.clone())).collect(),
            programs: self.programs.clone(),
            launcher: None,
            source_date_epoch: epoch,
        })
    }
}
