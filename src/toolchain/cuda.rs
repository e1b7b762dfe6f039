//! A CUDA toolchain that can be used: from wheels, or found on the machine.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::pins::PinnedToolchain;
use crate::arch::CudaVersion;
use crate::error::{Error, Result};
use crate::fs::{Digest, DigestBuilder};
use crate::lastrun::VersionCache;
use crate::process::Call;

/// Where a toolchain came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ToolchainKind {
    /// Pinned wheels in the cache.
    Wheels,
    /// Found on the machine.
    System,
}

/// A CUDA compiler with all that belongs to it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Toolchain {
    /// Where it came from.
    pub kind: ToolchainKind,
    /// The release.
    pub cuda: CudaVersion,
    /// Directory with `bin`, `include` and libraries, as `CUDA_HOME` would name it.
    pub root: PathBuf,
    /// The compiler driver.
    pub nvcc: PathBuf,
    /// The runtime compiler, when it is there.
    pub nvrtc: Option<Nvrtc>,
    /// Versions of its parts.
    pub versions: BTreeMap<String, String>,
    /// Digest over what it is, whatever its path.
    pub digest: Digest,
    /// Digest over those parts that decide what nvcc makes; keys of compiled objects hold this one.
    pub compile_digest: Digest,
}

/// The runtime compiler. Its library opens the builtins by name and, in 13.0 and before, without a
/// RUNPATH of its own, so whoever loads it must load the builtins first, by this path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Nvrtc {
    /// `libnvrtc.so.13`
    pub library: PathBuf,
    /// `libnvrtc-builtins.so.13.0`
    pub builtins: PathBuf,
}

/// What the provenance says about a toolchain: nothing that differs between machines.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Provenance {
    /// Where it came from.
    pub kind: ToolchainKind,
    /// The release.
    pub cuda: CudaVersion,
    /// Versions of its parts.
    pub versions: BTreeMap<String, String>,
    /// Digest over what it is.
    pub digest: Digest,
}

impl Toolchain {
    /// The toolchain of `pin`, unpacked at `root`.
    pub(crate) fn of_wheels(pin: &PinnedToolchain, cuda: CudaVersion, root: PathBuf) -> Result<Self> {
        Ok(Self {
            kind: ToolchainKind::Wheels,
            cuda,
            nvcc: root.join(&pin.program),
            nvrtc: nvrtc(&root)?,
            versions: pin.versions(),
            digest: pin.digest(),
            compile_digest: pin.compile_digest(),
            root,
        })
    }

    /// Directory of the headers; conda's packages keep them per target.
    pub fn include(&self) -> PathBuf {
        let dirs = ["include", "targets/x86_64-linux/include"].map(|dir| self.root.join(dir));
        let with_runtime = dirs.iter().find(|dir| dir.join("cuda_runtime.h").is_file());
        with_runtime.cloned().unwrap_or_else(|| self.root.join("include"))
    }

    /// Directory of the libraries: the one with the CUDA runtime, where there are several.
    pub fn lib(&self) -> PathBuf {
        let dirs = library_dirs(&self.root);
        let with_runtime = dirs.iter().find(|dir| dir.join("libcudart.so").exists());
        with_runtime.or(dirs.first()).cloned().unwrap_or_else(|| self.root.join("lib64"))
    }

    /// Places where a change of what is installed shows, besides the programs that were asked.
    pub fn looked_at(&self) -> Vec<PathBuf> {
        let programs = self.nvcc.parent().map(Path::to_owned).into_iter().chain([self.root.join("bin")]);
        programs.chain(LIBRARIES.iter().map(|dir| self.root.join(dir))).collect()
    }

    /// What the provenance says.
    pub fn describe(&self) -> Provenance {
        Provenance { kind: self.kind, cuda: self.cuda, versions: self.versions.clone(), digest: self.digest }
    }
}

/// Where to look for an installed CUDA.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SystemSearch {
    /// `CUDA_HOME`, else `CUDA_PATH`: a choice that is not second-guessed.
    pub home: Option<PathBuf>,
    /// `PATH`.
    pub path: Option<OsString>,
}

impl SystemSearch {
    /// From the environment.
    pub fn from_env() -> Self {
        let directory = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        Self { home: directory("CUDA_HOME").or_else(|| directory("CUDA_PATH")), path: std::env::var_os("PATH") }
    }
}

/// The CUDA installed on the machine, of the release `wanted` when one is asked for.
///
/// # Errors
/// There is none, it does not say its release, or it is another one.
pub fn system_cuda(search: &SystemSearch, wanted: Option<CudaVersion>, answers: &VersionCache) -> Result<Toolchain> {
    let found = match &search.home {
        Some(home) => Some(home.join("bin/nvcc")).filter(|nvcc| nvcc.is_file()).ok_or_else(|| {
            Error::toolchain(format!("{} has no bin/nvcc, and CUDA_HOME or CUDA_PATH names it", home.display()))
                .hint("name the directory that holds bin/nvcc, or unset the variable to search PATH")
        })?,
        None => which::which_in("nvcc", search.path.as_ref(), "/").map_err(|_| {
            Error::toolchain("no nvcc on PATH, and CUDA_HOME is not set")
                .hint("set CUDA_HOME to the CUDA that is installed, or leave `--toolchain system` away to fetch one")
        })?,
    };
    // Through links to where its parts lie beside it; nvcc itself looks there.
    let nvcc = fs_err::canonicalize(&found)?;
    let text = answers.ask(&Call::new(&nvcc).arg("--version"))?;
    let (cuda, version) = release(&text).ok_or_else(|| {
        Error::toolchain(format!("{} does not say its release", nvcc.display()))
            .detail(text.trim().to_owned())
            .hint("`nvcc --version` of a CUDA toolkit prints a line `release 13.0, V13.0.88`")
    })?;
    if let Some(wanted) = wanted.filter(|wanted| *wanted != cuda) {
        return Err(Error::toolchain(format!("{} is CUDA {cuda}, and CUDA {wanted} is wanted", found.display()))
            .hint(format!("set CUDA_HOME to a CUDA {wanted}, or ask for {cuda} in the recipe's matrix")));
    }
    let root = match &search.home {
        Some(home) => fs_err::canonicalize(home)?,
        None => nvcc.parent().and_then(Path::parent).unwrap_or(Path::new("/")).to_owned(),
    };
    let mut versions = BTreeMap::from([("nvcc".to_owned(), version)]);
    let mut digest = DigestBuilder::default().field("system").field(&text);
    for part in ["cudafe++", "fatbinary", "ptxas"] {
        let Some(program) = nvcc.parent().map(|bin| bin.join(part)).filter(|program| program.is_file()) else {
            continue;
        };
        let text = answers.ask(&Call::new(&program).arg("--version"))?;
        if let Some((_, version)) = release(&text) {
            versions.insert(part.to_owned(), version);
        }
        digest = digest.field(part).field(&text);
    }
    let digest = digest.finish();
    Ok(Toolchain {
        kind: ToolchainKind::System,
        cuda,
        nvrtc: nvrtc(&root)?,
        root,
        nvcc,
        versions,
        digest,
        compile_digest: digest,
    })
}

/// Release and full version in `Cuda compilation tools, release 13.0, V13.0.88`.
fn release(text: &str) -> Option<(CudaVersion, String)> {
    let (_, after) = text.split_once("release ")?;
    let (release, after) = after.split_once(',')?;
    let version = after.trim_start().strip_prefix('V')?.split_whitespace().next()?;
    Some((release.trim().parse().ok()?, version.to_owned()))
}

/// Where libraries may lie in a toolkit.
const LIBRARIES: [&str; 4] = ["lib64", "lib", "lib/x86_64-linux-gnu", "targets/x86_64-linux/lib"];

fn library_dirs(root: &Path) -> Vec<PathBuf> {
    LIBRARIES.iter().map(|dir| root.join(dir)).filter(|dir| dir.is_dir()).collect()
}

/// The runtime compiler below `root`: the library of the highest number and its builtins.
fn nvrtc(root: &Path) -> Result<Option<Nvrtc>> {
    for dir in library_dirs(root) {
        let mut names: Vec<String> = Vec::new();
        for entry in fs_err::read_dir(&dir)? {
            names.extend(entry?.file_name().into_string().ok());
        }
        let named = |start: &str| {
            let number = |name: &String| -> Option<Vec<u32>> {
                name.strip_prefix(start)?.split('.').map(|part| part.parse().ok()).collect()
            };
            let found = names.iter().filter_map(|name| Some((number(name)?, name)));
            found.max().map(|(_, name)| dir.join(name))
        };
        if let (Some(library), Some(builtins)) = (named("libnvrtc.so."), named("libnvrtc-builtins.so.")) {
            return Ok(Some(Nvrtc { library, builtins }));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "nvcc: NVIDIA (R) Cuda compiler driver\nBuilt on Wed_Aug_20\nCuda compilation tools, release \
                        13.0, V13.0.88\nBuild cuda_13.0.r13.0/compiler.36424714_0\n";

    fn program(path: &Path, text: &str) {
        fs_err::create_dir_all(path.parent().unwrap()).unwrap();
        fs_err::write(path, format!("#!/bin/sh\ncat <<'E'\n{text}E\n")).unwrap();
        crate::fs::set_mode(path, 0o755).unwrap();
    }

    #[test]
    fn releases() {
        assert_eq!(release(TEXT), Some((CudaVersion::new(13, 0), "13.0.88".to_owned())));
        for text in ["", "release 13.0", "release 13, V13", "release 13.0, "] {
            assert_eq!(release(text), None, "{text}");
        }
    }

    #[test]
    fn finds_by_home_and_by_path() {
        let dir = tempfile::tempdir().unwrap();
        let root = fs_err::canonicalize(dir.path()).unwrap();
        program(&root.join("bin/nvcc"), TEXT);
        program(&root.join("bin/ptxas"), TEXT);
        for name in ["libnvrtc.so", "libnvrtc.so.13", "libnvrtc.alt.so.13", "libnvrtc-builtins.so.13.0"] {
            fs_err::create_dir_all(root.join("lib64")).unwrap();
            fs_err::write(root.join("lib64").join(name), "").unwrap();
        }
        let by_home = SystemSearch { home: Some(root.clone()), path: None };
        let by_path = SystemSearch { home: None, path: Some(root.join("bin").into_os_string()) };
        let found = system_cuda(&by_home, None, &VersionCache::default()).unwrap();
        assert_eq!(found, system_cuda(&by_path, Some(CudaVersion::new(13, 0)), &VersionCache::default()).unwrap());
        assert_eq!(found.versions["ptxas"], "13.0.88");
        assert_eq!(found.nvrtc.clone().unwrap().library, root.join("lib64/libnvrtc.so.13"));
        assert_eq!(found.lib(), root.join("lib64"));

        let error = system_cuda(&by_home, Some(CudaVersion::new(11, 8)), &VersionCache::default()).unwrap_err();
        assert!(error.to_string().contains("is CUDA 13.0, and CUDA 11.8 is wanted"), "{error}");
        let error =
            system_cuda(&SystemSearch { home: Some(root.join("lib64")), path: None }, None, &VersionCache::default())
                .unwrap_err();
        assert!(error.to_string().contains("has no bin/nvcc"), "{error}");
        let error =
            system_cuda(&SystemSearch { home: None, path: Some("/nowhere".into()) }, None, &VersionCache::default())
                .unwrap_err();
        assert!(error.to_string().contains("no nvcc on PATH"), "{error}");
        program(&root.join("bin/nvcc"), "something else\n");
        let error = system_cuda(&by_home, None, &VersionCache::default()).unwrap_err();
        assert!(error.to_string().contains("does not say its release"), "{error}");
    }

    #[test]
    fn the_path_does_not_count() {
        let digest = || {
            let dir = tempfile::tempdir().unwrap();
            program(&dir.path().join("bin/nvcc"), TEXT);
            system_cuda(&SystemSearch { home: Some(dir.path().to_owned()), path: None }, None, &VersionCache::default())
                .unwrap()
                .digest
        };
        assert_eq!(digest(), digest());
    }
}
