//! The tools of a job: what they are, for keys and provenance, and where they are, for steps.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::arch::CudaVersion;
use crate::bundle::ToolVersion;
use crate::engine::Toolset;
use crate::error::{Error, Result};
use crate::fs;
use crate::lastrun::VersionCache;
use crate::manifest::Manifests;
use crate::recipe::{BuildDriver, CudaToolchain, HostToolchain, Recipe};
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
    /// As they enter keys and provenance.
    pub versions: BTreeMap<String, ToolVersion>,
    system_cuda: Option<Toolchain>,
    nvcc_cxx: Option<HostCompiler>,
    system_cxx: Option<HostCompiler>,
    answers: VersionCache,
}

/// File of the cache with what the machine's programs say of themselves.
const ANSWERS: &str = "programs.json";

/// What the tools of `recipe` are. Only the machine's own compilers are asked for their version;
/// pinned ones are known from their pins.
pub(crate) fn identify(recipe: &Recipe, source: CudaSource, manifests: &Manifests, store: &Store) -> Result<Tools> {
    let answers = VersionCache::at(fs::cache_dir()?.join(ANSWERS));
    let tools = found(recipe, source, manifests, store, answers)?;
    tools.answers.keep();
    Ok(tools)
}

fn found(
    recipe: &Recipe,
    source: CudaSource,
    manifests: &Manifests,
    store: &Store,
    answers: VersionCache,
) -> Result<Tools> {
    let mut tools = Tools { versions: BTreeMap::new(), system_cuda: None, nvcc_cxx: None, system_cxx: None, answers };
    let mut add = |name: &str, version: String, sha256: Option<fs::Digest>| {
        tools.versions.insert(name.to_owned(), ToolVersion { version, sha256 });
    };
    if !recipe.groups.is_empty() {
        let toolchain = match source {
            CudaSource::Wheels => recipe.cuda_toolchain.clone(),
            CudaSource::System => CudaToolchain::System,
        };
        match toolchain {
            CudaToolchain::Pinned => {
                let pin = store.pins().cuda(recipe.cuda)?;
                add("nvcc", recipe.cuda.to_string(), Some(pin.compile_digest()));
                for (project, version) in pin.versions() {
                    add(&project, version, None);
                }
            }
            CudaToolchain::System | CudaToolchain::Directory(_) => {
                let search = search(&toolchain, recipe.cuda)?;
                let found = system_cuda(&search, Some(recipe.cuda), &tools.answers)?;
                for (name, version) in &found.versions {
                    add(name, version.clone(), None);
                }
                add("nvcc", format!("{} (system)", recipe.cuda), Some(found.compile_digest));
                tools.system_cuda = Some(found);
            }
        }
        let range = manifests.cuda.get(recipe.cuda).and_then(|release| release.gcc.as_ref());
        let (min, max) = range.map_or((0, u32::MAX), |range| (range.min, range.max));
        let mut search = HostSearch::from_env();
        search.cxx = recipe.cuda_cxx.clone().or(search.cxx);
        let cxx = nvcc_host_compiler(&search, min, max, &tools.answers)?;
        tools.versions.insert("c++ of nvcc".to_owned(), ToolVersion { version: cxx.describe(), sha256: None });
        tools.nvcc_cxx = Some(cxx);
    }
    let drivers: Vec<BuildDriver> =
        recipe.components.iter().filter_map(|component| Some(component.build.as_ref()?.driver)).collect();
    let drivers: Vec<BuildDriver> = drivers.into_iter().filter(|driver| *driver != BuildDriver::Copy).collect();
    if drivers.is_empty() {
        return Ok(tools);
    }
    let mut pinned = |key: &str, name: &str, suffix: String| -> Result<()> {
        let pin = store.pins().get(name)?;
        let version = pin.versions().into_values().next().unwrap_or_default();
        let tool = ToolVersion { version: format!("{version}{suffix}"), sha256: Some(pin.digest()) };
        tools.versions.insert(key.to_owned(), tool);
        Ok(())
    };
    if drivers.contains(&BuildDriver::Cmake) {
        pinned("cmake", "cmake", String::new())?;
        pinned("ninja", "ninja", String::new())?;
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
            tools.versions.insert("c++".to_owned(), ToolVersion { version: cxx.describe(), sha256: None });
            if let Some(version) = cxx.binutils(&tools.answers) {
                tools.versions.insert("binutils".to_owned(), ToolVersion { version, sha256: None });
            }
            tools.system_cxx = Some(cxx);
        }
    }
    if drivers.contains(&BuildDriver::Make) {
        tools.versions.insert("make".to_owned(), ToolVersion { version: make_version(&tools.answers)?, sha256: None });
    }
    Ok(tools)
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
        if let Some(cuda) = &self.system_cuda {
            paths.extend(cuda.looked_at());
        }
        Some(paths)
    }

    /// Names everything at once that an offline run would miss, instead of the first thing only.
    fn must_be_here(&self, recipe: &Recipe, store: &Store, ui: &Ui) -> Result<()> {
        let mut names: Vec<String> = Vec::new();
        if !recipe.groups.is_empty() && self.system_cuda.is_none() {
            names.push(store.pins().cuda(recipe.cuda)?.name.clone());
        }
        let tools = ["cmake", "ninja"].iter().filter(|name| self.versions.contains_key(**name));
        names.extend(tools.map(|name| (*name).to_owned()));
        if self.versions.contains_key("c++") && self.system_cxx.is_none() {
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
    pub(crate) fn fetch(&self, recipe: &Recipe, store: &Store, epoch: u64, offline: bool, ui: &Ui) -> Result<Toolset> {
        if offline {
            self.must_be_here(recipe, store, ui)?;
        }
        let nvcc = match (&self.system_cuda, recipe.groups.is_empty()) {
            (_, true) => None,
            (Some(found), false) => Some(found.nvcc.clone()),
            (None, false) => Some(store.cuda_wheels(recipe.cuda, ui, offline)?.nvcc),
        };
        let tool = |name: &str| match self.versions.contains_key(name) {
            true => store.tool(name, ui, offline).map(|tool| Some(tool.program)),
            false => Ok(None),
        };
        let mut toolset = Toolset {
            nvcc,
            nvcc_cxx: self.nvcc_cxx.as_ref().map(|cxx| cxx.cxx.clone()),
            cc: Vec::new(),
            cxx: Vec::new(),
            companions: BTreeMap::new(),
            cmake: tool("cmake")?,
            ninja: tool("ninja")?,
            compiler_cache: None,
            source_date_epoch: epoch,
        };
        match (&recipe.host, &self.system_cxx) {
            (HostToolchain::Zig { glibc }, _) if self.versions.contains_key("c++") => {
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
