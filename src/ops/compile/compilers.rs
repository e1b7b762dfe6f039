//! The user's compilers, and whether a package can work with them.

use super::request::CompileRequest;
use crate::arch::{Capability, CudaVersion};
use crate::error::{Error, Result};
use crate::fs;
use crate::lastrun::VersionCache;
use crate::manifest::{Manifests, Unsupported};
use crate::recipe::Compile;
use crate::toolchain::{
    CompilerKind, HostCompiler, HostSearch, Store, SystemSearch, Toolchain, nvcc_host_compiler, system_cuda,
    system_host_compiler,
};
use crate::ui::Ui;

/// nvcc with the host compiler that it calls.
pub(super) struct CudaCompilers {
    pub toolchain: Toolchain,
    pub cxx: HostCompiler,
}

impl CudaCompilers {
    /// In words, for people and records.
    pub fn describe(&self) -> [String; 2] {
        let version = self.toolchain.versions.get("nvcc").cloned().unwrap_or_else(|| self.toolchain.cuda.to_string());
        [format!("nvcc {version}"), self.cxx.describe()]
    }
}

/// The C++ compiler that links what `package` ships.
///
/// # Errors
/// There is none, or the package cannot work with it.
pub(super) fn host(package: &str, compile: &Compile) -> Result<HostCompiler> {
    let range = compile.compiler;
    let fits = |found: &HostCompiler| {
        found.kind == CompilerKind::Gcc && found.major().is_some_and(|major| range.contains(major))
    };
    let found = system_host_compiler(&HostSearch::from_env(), &VersionCache::default())?;
    if fits(&found) {
        return Ok(found);
    }
    let made_by = match compile.made_by.as_slice() {
        [] => String::new(),
        all => format!(", as its objects were made by {}", all.join(" and ")),
    };
    let message = format!("{package} compiles with {range}{made_by}; {} is {}", found.cxx.display(), found.describe());
    let numbered = range.below.map_or(range.from, |below| below - 1);
    Err(Error::toolchain(message).hint(format!("install one (Debian: apt install g++-{numbered}), or set CXX to it")))
}

/// nvcc of the major version that compiled a package's device code, for these GPUs.
///
/// # Errors
/// There is none, it is of another major version, or it does not know one of the GPUs.
pub(super) fn cuda(
    package: &str,
    shipped: Option<CudaVersion>,
    gpus: impl IntoIterator<Item = Capability>,
    (request, manifests, ui): (&CompileRequest, &Manifests, &Ui),
) -> Result<CudaCompilers> {
    let answers = VersionCache::default();
    let pinned = "add `--toolchain wheels` for the pinned compiler";
    let toolchain = match (request.pinned, shipped) {
        (true, Some(cuda)) => Store::open(fs::cache_dir()?)?.cuda_wheels(cuda, ui, request.offline)?,
        _ => system_cuda(&SystemSearch::from_env(), None, &answers).map_err(|error| {
            // The hints of others are those of `build`.
            let said = error.details().iter().fold(Error::toolchain(error.to_string()), |said, line| said.detail(line));
            said.hint(format!("set CUDA_HOME to the CUDA that is installed, or {pinned}"))
        })?,
    };
    let (found, nvcc) = (toolchain.cuda, toolchain.nvcc.display());
    if let Some(shipped) = shipped.filter(|shipped| shipped.major != found.major) {
        let message = format!("{package} was made with CUDA {shipped}, and {nvcc} is CUDA {found}");
        return Err(Error::toolchain(message).hint(format!("set CUDA_HOME to a CUDA {}, or {pinned}", shipped.major)));
    }
    for gpu in gpus {
        // What this simpack does not know yet, the compiler may.
        match manifests.capabilities.check(gpu, found) {
            Ok(()) | Err(Unsupported::Unknown) => {}
            Err(_) => {
                return Err(Error::toolchain(format!("{nvcc} is CUDA {found}, which does not compile for {gpu}"))
                    .hint(format!("set CUDA_HOME to a CUDA that does, or {pinned}")));
            }
        }
    }
    let range = manifests.cuda.get(found).and_then(|release| release.gcc.as_ref());
    let (min, max) = range.map_or((0, u32::MAX), |range| (range.min, range.max));
    let cxx = nvcc_host_compiler(&HostSearch::from_env(), min, max, &answers)?;
    Ok(CudaCompilers { toolchain, cxx })
}
