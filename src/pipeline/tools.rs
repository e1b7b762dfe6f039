//! The tools of a job: what they are, for keys and provenance, and where they are, for steps.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use crate::arch::CudaVersion;
use crate::build_system::BuildDriver;
use crate::bundle::ToolVersion;
use crate::engine::{CudaCompiler, Toolset};
use crate::error::{Error, Result};
use crate::fs;
use crate::lastrun::VersionCache;
use crate::manifest::Manifests;
use crate::recipe::{CudaToolchain, HostToolchain, Recipe, RecipeMatrix};
use crate::toolchain::{
    CompilerKind, HostCompiler, HostSearch, Store, SystemSearch, Toolchain, nvcc_host_compiler, system_cuda,
    system_host_compiler,
};
use crate::ui::Ui;

/// Where the CUDA compiler comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
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
    system_cxx: Option<HostCompiler>,
    answers: VersionCache,
}

/// What compiles device code for a release.
struct CudaTools {
    versions: BTreeMap<String, ToolVersion>,
    /// The machine's; none for the pinned one.
    system: Option<Toolchain>,
    /// Host compiler that nvcc calls.
    cxx: HostCompiler,
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
    let mut tools = Tools { host: BTreeMap::new(), cuda: BTreeMap::new(), system_cxx: None, answers };
    for recipe in recipes.iter().filter(|recipe| !recipe.groups.is_empty()) {
        tools.cuda.insert(recipe.cuda, cuda_tools(recipe, source, manifests, store, &tools.answers)?);
    }
    let drivers: Vec<BuildDriver> =
        recipe.components.iter().filter_map(|component| Some(component.build.as_ref()?.driver)).collect();
    let drivers: Vec<BuildDriver> = drivers.into_iter().filter(|driver| !driver.system().tools().is_empty()).collect();
    if drivers.is_empty() {
        return Ok(tools);
    }
    let mut pinned = |key: &str, name: &str, suffix: String| -> Result<()> {
        let pin = store.pins().get(name)?;
        let version = pin.versions().into_values().next().unwrap_or_default();
        let tool = ToolVersion { version: format!("{version}{suffix}"), sha256: Some(pin.digest()) };
        tools.host.insert(key.to_owned(), tool);
        Ok(())
    };
    for name in recipe.build_tools() {
        pinned(name, name, String::new())?;
    }
    match &recipe.host {
        HostToolchain::Zig { glibc } => pinned("c++", "zig", format!(" for glibc {glibc}"))?,
        HostToolchain::System { min_cxx } => {
            let cxx = system_host_compiler(&HostSearch::from_env(), &tools.answers)?;
            if let (Some(min), Some(major), CompilerKind::Gcc) = (min_cxx, cxx.major(), cxx.kind)
                && major < *min
            {
                return Err(Error::toolchain(format!("{} is older than the recipe needs", cxx.describe()))
                    .detail(format!("the recipe asks for g++ {min} or newer"))
                    .hint("set CXX to a newer compiler, or build with `--host zig`"));
            }
            tools.host.insert("c++".to_owned(), ToolVersion { version: cxx.describe(), sha256: None });
            if let Some(version) = cxx.binutils(&tools.answers) {
                tools.host.insert("binutils".to_owned(), ToolVersion { version, sha256: None });
            }
            tools.system_cxx = Some(cxx);
        }
    }
    if drivers.iter().any(|driver| driver.system().tools().contains(&"make")) {
        tools.host.insert("make".to_owned(), ToolVersion { version: make_version(&tools.answers)?, sha256: None });
    }
    Ok(tools)
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
    let range = manifests.cuda.get(recipe.cuda).and_then(|release| release.gcc.as_ref());
    let (min, max) = range.map_or((0, u32::MAX), |range| (range.min, range.max));
    let mut search = HostSearch::from_env();
    search.cxx = recipe.cuda_cxx.clone().or(search.cxx);
    let cxx = nvcc_host_compiler(&search, min, max, answers)?;
    add("c++ of nvcc", cxx.describe(), None);
    Ok(CudaTools { versions, system, cxx })
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

fn make_version(answers: &VersionCache) -> Result<String> {
    let make = which::which("make").unwrap_or_else(|_| PathBuf::from("make"));
    let text = answers.ask(&crate::process::Call::new(make).arg("--version")).map_err(|error| {
        Error::toolchain("the recipe is built with make, which is not here").because(error).hint("install GNU make")
    })?;
    Ok(text.lines().next().unwrap_or_default().to_owned())
}

impl Tools {
    /// Tools of the host part and of each release.
    pub(super) fn versions(&self, recipes: &RecipeMatrix) -> BTreeMap<CudaVersion, BTreeMap<String, ToolVersion>> {
        let of = |cuda: CudaVersion| self.cuda.get(&cuda).into_iter().flat_map(|tools| tools.versions.clone());
        recipes
            .iter()
            .map(|recipe| (recipe.cuda, self.host.clone().into_iter().chain(of(recipe.cuda)).collect()))
            .collect()
    }

    /// Major version of the machine's host compiler, when the recipe uses it.
    pub(crate) fn host_major(&self) -> Option<u32> {
        self.system_cxx.as_ref().and_then(HostCompiler::major)
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
        paths.extend(self.cuda.values().filter_map(|tools| tools.system.as_ref()).flat_map(Toolchain::looked_at));
        Some(paths)
    }

    /// Names everything at once that an offline run would miss, instead of the first thing only.
    fn must_be_here(&self, store: &Store, ui: &Ui) -> Result<()> {
        let pinned = self.cuda.iter().filter(|(_, tools)| tools.system.is_none());
        let mut names =
            pinned.map(|(cuda, _)| Ok(store.pins().cuda(*cuda)?.name.clone())).collect::<Result<Vec<String>>>()?;
        let tools = self.host.iter().filter(|(name, tool)| tool.sha256.is_some() && *name != "c++");
        names.extend(tools.map(|(name, _)| name.clone()));
        if self.host.contains_key("c++") && self.system_cxx.is_none() {
            names.push("zig".to_owned());
        }
        let missing: Vec<(String, Error)> =
            names.into_iter().filter_map(|name| Some((name.clone(), store.fetch(&name, ui, true).err()?))).collect();
        if missing.is_empty() {
            return Ok(());
        }
        let list: Vec<&str> = missing.iter().map(|(name, _)| name.as_str()).collect();
        let mut error = Error::toolchain(format!("this run is offline and lacks {}", list.join(", ")));
        for (name, why) in &missing {
            error = error.detail(format!("{name}: {why}"));
            for detail in why.details() {
                error = error.detail(format!("  {detail}"));
            }
        }
        Err(error
            .hint("run the same command once without --offline: what it fetches stays in the cache")
            .hint("or put the wheels into a directory and name that in PIP_FIND_LINKS"))
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
            self.must_be_here(store, ui)?;
        }
        let mut cuda = Vec::new();
        for release in recipes.iter().map(|recipe| recipe.cuda) {
            let Some(tools) = self.cuda.get(&release) else { continue };
            let nvcc = match &tools.system {
                Some(found) => found.nvcc.clone(),
                None => store.cuda_wheels(release, ui, offline)?.nvcc,
            };
            cuda.push(CudaCompiler { release, nvcc, cxx: tools.cxx.cxx.clone() });
        }
        let pinned: BTreeSet<_> = recipes.iter().flat_map(|recipe| recipe.build_tools()).collect();
        let pinned = pinned.into_iter().map(|name| Ok((name, store.tool(name, ui, offline)?.program)));
        let pinned = pinned.collect::<Result<_>>()?;
        let mut toolset = Toolset {
            cuda,
            cc: Vec::new(),
            cxx: Vec::new(),
            companions: BTreeMap::new(),
            pinned,
            compiler_cache: None,
            source_date_epoch: epoch,
        };
        match (&recipes.own().host, &self.system_cxx) {
            (HostToolchain::Zig { glibc }, _) if self.host.contains_key("c++") => {
                let zig = store.zig(*glibc, ui, offline)?;
                let cache = fs::cache_dir()?.join("zig");
                fs_err::create_dir_all(&cache)?;
                toolset.compiler_cache = Some(fs_err::canonicalize(cache)?);
                let program = fs::utf8(&zig.cxx)?.to_owned();
                let words = |first: &str, rest: &[String]| {
                    [program.clone(), first.to_owned()].into_iter().chain(rest.iter().cloned()).collect::<Vec<_>>()
                };
                let target = zig.args.get(1..).unwrap_or_default();
                toolset.cxx = words("c++", target);
                toolset.cc = words("cc", target);
                for (name, word) in [("ar", "ar"), ("ranlib", "ranlib"), ("ld", "ld.lld")] {
                    toolset.companions.insert(name.to_owned(), words(word, &[]));
                }
                // Zig has none, and the machine's must not stand in for it unseen.
                let refusal = ["/bin/sh", "-c", "echo 'zig has no strip: link with -s' >&2; exit 1", "strip"];
                toolset.companions.insert("strip".to_owned(), refusal.map(str::to_owned).to_vec());
            }
            (_, Some(cxx)) => {
                let program = fs::utf8(&cxx.cxx)?.to_owned();
                toolset.cc = std::iter::once(c_compiler(&program)).chain(cxx.args.iter().cloned()).collect();
                toolset.cxx = std::iter::once(program).chain(cxx.args.iter().cloned()).collect();
                for name in ["ar", "ranlib", "ld", "nm", "strip"] {
                    if let Some(program) = cxx.companion(name, &self.answers) {
                        toolset.companions.insert(name.to_owned(), vec![fs::utf8(&program)?.to_owned()]);
                    }
                }
                for note in cxx.ignored_variables(&toolset.cc, |name| std::env::var(name).ok()) {
                    ui.note(format!("  note       {note}"));
                }
            }
            _ => {}
        }
        Ok(toolset)
    }
}

/// The C compiler that belongs to a C++ compiler: `g++-12` to `gcc-12`, `clang++` to `clang`.
fn c_compiler(cxx: &str) -> String {
    let (dir, file) = cxx.rsplit_once('/').map_or(("", cxx), |(dir, file)| (dir, file));
    let file = file.replace("clang++", "clang").replace("g++", "gcc").replace("c++", "cc");
    let beside = format!("{dir}/{file}");
    match !dir.is_empty() && std::path::Path::new(&beside).exists() {
        true => beside,
        false => "cc".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_c_compiler_lies_beside_the_cxx_compiler() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("gcc-12"), "").unwrap();
        let beside = |name: &str| c_compiler(dir.path().join(name).to_str().unwrap());
        assert_eq!(beside("g++-12"), dir.path().join("gcc-12").to_str().unwrap());
        assert_eq!(beside("clang++"), "cc");
    }
}
