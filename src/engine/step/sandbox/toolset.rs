//! The programs that steps call, and the clean environment they are called in.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::arch::{CudaVersion, KernelCompiler};
use crate::error::{Error, Result};
use crate::fs;
use crate::process::Call;
use crate::recipe::HostVariant;
use crate::toolchain::{CxxRuntime, Launcher};

/// What glibc's `malloc` is told in a step: to ask the kernel for large pages, and to keep what it has. A compiler lives
/// for a fraction of a second and takes page after page meanwhile: with it, ptxas of CUDA 13.0 has a third of the page
/// faults for a small kernel and a tenth for a large one (`perf stat -e minor-faults`). A C library that doesn't know a
/// setting ignores it, and none changes what a compiler writes.
const TUNABLES: &str =
    "glibc.malloc.hugetlb=1:glibc.malloc.mmap_threshold=67108864:glibc.malloc.trim_threshold=67108864";

/// Directory of temporary files of a step that works in `work`.
pub(in crate::engine) fn temporary(work: &Path) -> PathBuf {
    work.join("tmp")
}

/// Where steps look for programs of the system.
const PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// The compiler of a CUDA release.
#[derive(Debug, Clone)]
pub struct CudaCompiler {
    /// The release.
    pub release: CudaVersion,
    /// CUDA compiler.
    pub nvcc: PathBuf,
    /// Host compiler that it calls.
    pub cxx: PathBuf,
}

/// Programs by role, as absolute paths. A compiler is a command: program and first arguments.
#[derive(Debug, Clone)]
pub struct Toolset {
    /// CUDA compilers by release, that of the host part first; none when no kernel is built.
    pub cuda: Vec<CudaCompiler>,
    /// C compiler of the host part.
    pub cc: Vec<String>,
    /// C++ compiler of the host part.
    pub cxx: Vec<String>,
    /// Programs that these and CUDA's host compilers call in turn.
    pub behind: Vec<PathBuf>,
    /// Commands of what belongs to the host compiler, by name: `ar`, `ranlib`, `ld`, `nm`, `strip`.
    pub companions: BTreeMap<String, Vec<String>>,
    /// Compilers of shaders in GLSL and HLSL; none when no such shader is built.
    pub shaders: BTreeMap<KernelCompiler, PathBuf>,
    /// Programs of the machine that kernel groups name, by the names that recipes give.
    pub programs: BTreeMap<String, PathBuf>,
    /// Tools of the build systems that simpack pins, by name.
    pub pinned: BTreeMap<&'static str, PathBuf>,
    /// The prefixes of the packages that the lock holds for builds, by host variant, where builds need any.
    pub dependencies: BTreeMap<Option<HostVariant>, PathBuf>,
    /// Directory in which the compiler keeps what it builds for itself (zig's libc++); it is there.
    pub compiler_cache: Option<PathBuf>,
    /// What it builds there before anything can be linked.
    pub runtime: Option<CxxRuntime>,
    /// What host compilers are called through.
    pub launcher: Option<Launcher>,
    /// Stands in for every time stamp.
    pub source_date_epoch: u64,
}

impl Toolset {
    /// The compiler of a release; that of the host part for a step that belongs to none.
    pub(in crate::engine) fn cuda(&self, release: Option<CudaVersion>) -> Option<&CudaCompiler> {
        match release {
            Some(release) => self.cuda.iter().find(|compiler| compiler.release == release),
            None => self.cuda.first(),
        }
    }

    /// All programs, with the one that plain names lead to.
    pub(in crate::engine) fn programs(&self) -> Vec<PathBuf> {
        let commands = [&self.cc, &self.cxx].into_iter().chain(self.companions.values());
        let commands = commands.filter_map(|command| command.first().map(PathBuf::from));
        let cuda = self.cuda.iter().flat_map(|compiler| [&compiler.nvcc, &compiler.cxx]);
        let single = cuda
            .chain(self.shaders.values())
            .chain(self.programs.values())
            .chain(self.pinned.values())
            .chain(&self.behind)
            .cloned();
        commands.chain(single).filter(|program| program.is_absolute()).collect()
    }

    /// A call of a command of a kernel group in `source`, which holds a copy of what it declares: its program is one of the
    /// machine's, beside which its own programs are found, or a file of that copy.
    pub(in crate::engine) fn command(&self, command: &[String], (source, work): (&Path, &Path)) -> Result<Call> {
        let Some((name, args)) = command.split_first() else {
            return Err(Error::bug("a kernel group calls a command without a program"));
        };
        let Some(program) = self.programs.get(name) else {
            return Ok(self.call(source.join(name), work)?.dir(source).args(args));
        };
        let call = self.call(program, work)?.dir(source).args(args);
        let beside = program.parent().and_then(Path::to_str).filter(|dir| !PATH.split(':').any(|known| known == *dir));
        Ok(match beside {
            Some(beside) => call.env("PATH", format!("{PATH}:{beside}")),
            None => call,
        })
    }

    /// A call with the environment of a step: nothing of the caller's but a plain `PATH`; home and
    /// temporary files below `work`.
    pub(in crate::engine) fn call(&self, program: impl Into<PathBuf>, work: &Path) -> Result<Call> {
        let home = work.join("home");
        let temporary = temporary(work);
        fs_err::create_dir_all(&home)?;
        fs_err::create_dir_all(&temporary)?;
        let mut call = Call::new(program)
            .env("PATH", PATH)
            .env("HOME", fs::utf8(&home)?)
            .env("TMPDIR", fs::utf8(&temporary)?)
            .env("TZ", "UTC")
            .env("GLIBC_TUNABLES", TUNABLES)
            .env("SOURCE_DATE_EPOCH", self.source_date_epoch.to_string())
            .dir(work);
        if let Some(cache) = &self.compiler_cache {
            call = call.env("ZIG_GLOBAL_CACHE_DIR", fs::utf8(cache)?).env("ZIG_LOCAL_CACHE_DIR", fs::utf8(&temporary)?);
        }
        Ok(call)
    }
}
