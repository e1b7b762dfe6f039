//! The compiler for host code: the machine's, or zig with a chosen glibc; and the one nvcc accepts.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::arch::GlibcVersion;
use crate::error::{Error, Result};
use crate::lastrun::VersionCache;
use crate::process::Call;
use crate::toolchain::Tool;

/// Majors of GCC that distributions install under a numbered name and that some CUDA release accepts.
const OLDEST: u32 = 4;
const NEWEST: u32 = 30;

/// Where steps look for programs.
pub const STEP_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// Whose compiler it is; flags differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum CompilerKind {
    /// GNU C++.
    Gcc,
    /// Clang.
    Clang,
    /// Zig's Clang, with libc++ linked statically.
    Zig,
}

/// A C++ compiler and how to call it: `cxx`, then `args`, then the work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct HostCompiler {
    /// The program.
    pub cxx: PathBuf,
    /// Arguments that belong to the compiler, before all others.
    pub args: Vec<String>,
    /// Variables that it needs besides `PATH`.
    pub env: BTreeMap<String, String>,
    /// Whose it is.
    pub kind: CompilerKind,
    /// Its version.
    pub version: String,
    /// The glibc that it links against, when it is not the machine's.
    pub target_glibc: Option<GlibcVersion>,
}

/// Where to look for a host compiler.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HostSearch {
    /// `CXX`, a program with or without arguments.
    pub cxx: Option<String>,
    /// `PATH`.
    pub path: Option<OsString>,
}

impl HostSearch {
    /// From the environment.
    pub fn from_env() -> Self {
        Self { cxx: std::env::var("CXX").ok().filter(|cxx| !cxx.trim().is_empty()), path: std::env::var_os("PATH") }
    }

    fn find(&self, program: &str) -> Option<PathBuf> {
        which::which_in(program, self.path.as_ref(), std::env::current_dir().unwrap_or_default()).ok()
    }

    fn chosen(&self) -> Option<(String, Vec<String>)> {
        let mut words = self.cxx.as_ref()?.split_whitespace().map(str::to_owned);
        Some((words.next()?, words.collect()))
    }
}

impl HostCompiler {
    pub(crate) fn of_zig(tool: &Tool, glibc: GlibcVersion, cache: &Path) -> Self {
        let cache = cache.to_string_lossy().into_owned();
        Self {
            cxx: tool.program.clone(),
            args: vec!["c++".to_owned(), "-target".to_owned(), format!("x86_64-linux-gnu.{glibc}")],
            // Zig compiles its C++ library once and keeps it there; without HOME it would not know where.
            env: BTreeMap::from([
                ("ZIG_GLOBAL_CACHE_DIR".to_owned(), cache.clone()),
                ("ZIG_LOCAL_CACHE_DIR".to_owned(), cache),
            ]),
            kind: CompilerKind::Zig,
            version: tool.version.clone(),
            target_glibc: Some(glibc),
        }
    }

    /// A call of the compiler, to which the work is added.
    pub fn call(&self) -> Call {
        let mut call = Call::new(&self.cxx).args(self.args.iter().cloned());
        for (name, value) in &self.env {
            call = call.env(name, value);
        }
        call
    }

    /// One line for the provenance: no paths.
    pub fn describe(&self) -> String {
        let name = match self.kind {
            CompilerKind::Gcc => "g++",
            CompilerKind::Clang => "clang++",
            CompilerKind::Zig => "zig c++",
        };
        match self.target_glibc {
            Some(glibc) => format!("{name} {} (glibc {glibc})", self.version),
            None => format!("{name} {}", self.version),
        }
    }

    /// First number of the version.
    pub fn major(&self) -> Option<u32> {
        self.version.split('.').next()?.parse().ok()
    }

    /// A program that the compiler itself would call, such as `ar` or `ld`; none if it is not there.
    pub fn companion(&self, name: &str, answers: &VersionCache) -> Option<PathBuf> {
        // It looks into these directories: what comes and goes there may change the answer.
        let dirs = self.search_dirs(answers);
        let said = answers.ask_within(&self.call().arg(format!("-print-prog-name={name}")), &dirs).ok()?;
        let said = Path::new(said.trim());
        if said.is_absolute() {
            return said.is_file().then(|| said.to_owned());
        }
        let beside = self.cxx.parent().map(|dir| dir.join(name)).filter(|path| path.is_file());
        beside.or_else(|| which::which_in(name, Some(STEP_PATH), "/").ok())
    }

    /// Where the compiler looks for programs: its own directories, then `PATH`.
    fn search_dirs(&self, answers: &VersionCache) -> Vec<PathBuf> {
        let said = answers.ask(&self.call().arg("-print-search-dirs")).unwrap_or_default();
        let own = said.lines().find_map(|line| line.strip_prefix("programs: =")).unwrap_or_default();
        let path = std::env::var_os("PATH").unwrap_or_default();
        let mut dirs: Vec<PathBuf> = std::env::split_paths(own).chain(std::env::split_paths(&path)).collect();
        dirs.sort();
        dirs.dedup();
        dirs
    }

    /// First line of what the linker says of itself: its version is part of what is made.
    pub fn binutils(&self, answers: &VersionCache) -> Option<String> {
        let said = answers.ask(&Call::new(self.companion("ld", answers)?).arg("--version")).ok()?;
        said.lines().next().map(|line| line.trim().to_owned()).filter(|line| !line.is_empty())
    }

    /// What the environment says of tools that is not followed, because the whole toolchain follows from
    /// the C++ compiler: a line for each. `cc` is the C compiler that is used.
    pub fn ignored_variables(&self, cc: &[String], variable: impl Fn(&str) -> Option<String>) -> Vec<String> {
        let set = |name: &str| variable(name).filter(|value| !value.trim().is_empty());
        let mut notes = Vec::new();
        let used = cc.first().map_or("", String::as_str);
        let file = |command: &str| {
            let program = command.split_whitespace().next().unwrap_or_default();
            program.rsplit('/').next().unwrap_or_default().to_owned()
        };
        if let Some(named) = set("CC").filter(|named| file(named) != file(used)) {
            let why =
                if set("CXX").is_some() { "belongs to CXX" } else { "belongs to the C++ compiler; CXX is not set" };
            notes.push(format!("CC={named} is not used: {used} {why}"));
        }
        for (name, tool) in [("AR", "ar"), ("RANLIB", "ranlib"), ("LD", "ld"), ("NM", "nm"), ("STRIP", "strip")] {
            if let Some(named) = set(name) {
                notes.push(format!("{name}={named} is not used: {tool} comes with {}", self.describe()));
            }
        }
        notes
    }

    fn ask(program: PathBuf, args: Vec<String>, answers: &VersionCache) -> Result<Self> {
        let call = Call::new(&program).args(args.iter().cloned());
        let banner = answers.ask(&call.clone().arg("--version"))?;
        let kind = if banner.to_ascii_lowercase().contains("clang") { CompilerKind::Clang } else { CompilerKind::Gcc };
        // `-dumpversion` alone is only the major on some distributions; Clang knows only that one.
        let version = match kind {
            CompilerKind::Gcc => answers.ask(&call.args(["-dumpfullversion", "-dumpversion"]))?,
            CompilerKind::Clang | CompilerKind::Zig => answers.ask(&call.arg("-dumpversion"))?,
        };
        let version = version.trim().to_owned();
        if !version.starts_with(|c: char| c.is_ascii_digit()) {
            return Err(Error::toolchain(format!("{} does not say its version", program.display())).detail(version));
        }
        Ok(Self { cxx: program, args, env: BTreeMap::new(), kind, version, target_glibc: None })
    }
}

/// The machine's C++ compiler: `CXX`, else `g++`, `clang++`, `c++` on `PATH`.
///
/// # Errors
/// There is none, or the one that `CXX` names cannot be used.
pub fn system_host_compiler(search: &HostSearch, answers: &VersionCache) -> Result<HostCompiler> {
    if let Some((program, args)) = search.chosen() {
        let path = search.find(&program).ok_or_else(|| {
            Error::toolchain(format!("CXX names `{program}`, which is not there"))
                .hint("set CXX to a C++ compiler, or unset it")
        })?;
        return HostCompiler::ask(path, args, answers);
    }
    let found = ["g++", "clang++", "c++"].iter().find_map(|name| search.find(name));
    let path = found.ok_or_else(|| {
        Error::toolchain("no C++ compiler on PATH (looked for g++, clang++, c++)")
            .hint("install one (Debian: apt install g++), or set CXX")
    })?;
    HostCompiler::ask(path, Vec::new(), answers)
}

/// A g++ for nvcc's `-ccbin`, whose major version lies in `min..=max`: nvcc refuses others (CUDA 11.8
/// ends at 11, for example).
///
/// Looks at `CXX`, `g++`, then `g++-<max>` down to `g++-<min>`, on `PATH`.
///
/// # Errors
/// None fits; the details say what was seen.
pub fn nvcc_host_compiler(search: &HostSearch, min: u32, max: u32, answers: &VersionCache) -> Result<HostCompiler> {
    let chosen = search.chosen();
    // Versions that have names of their own; an open range must not be counted through.
    let named = (min.max(OLDEST)..=max.min(NEWEST)).rev().map(|major| format!("g++-{major}"));
    let plain = std::iter::once("g++".to_owned()).chain(named);
    let candidates = chosen.into_iter().chain(plain.map(|name| (name, Vec::new())));
    let mut seen = Vec::new();
    for (name, args) in candidates {
        let Some(path) = search.find(&name) else { continue };
        match HostCompiler::ask(path, args, answers) {
            Ok(found) if found.kind != CompilerKind::Gcc => seen.push(format!("{name} is {}", found.describe())),
            Ok(found) if found.major().is_some_and(|major| (min..=max).contains(&major)) => return Ok(found),
            Ok(found) => seen.push(format!("{name} is {}", found.describe())),
            Err(error) => seen.push(format!("{name}: {error}")),
        }
    }
    let range = match (min, max) {
        (0, u32::MAX) => String::new(),
        (0, max) => format!(" up to {max}"),
        (min, u32::MAX) => format!(" from {min} on"),
        (min, max) => format!(" from {min} to {max}"),
    };
    let install = if max <= NEWEST { format!("g++-{max}") } else { "g++".to_owned() };
    let mut error = Error::toolchain(format!("no g++{range}, which nvcc needs for host code"));
    for line in seen {
        error = error.detail(line);
    }
    Err(error.hint(format!("install one (Debian: apt install {install}), or set CXX to it")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compiler(dir: &Path, name: &str, banner: &str, version: &str) {
        let text = format!("#!/bin/sh\ncase \"$*\" in *--version*) echo '{banner}';; *) echo '{version}';; esac\n");
        fs_err::write(dir.join(name), text).unwrap();
        crate::fs::set_mode(&dir.join(name), 0o755).unwrap();
    }

    #[test]
    fn tools_of_the_environment_that_are_not_followed_are_told() {
        let cxx = HostCompiler {
            cxx: PathBuf::from("/usr/bin/g++-12"),
            args: Vec::new(),
            env: BTreeMap::new(),
            kind: CompilerKind::Gcc,
            version: "12.2.0".to_owned(),
            target_glibc: None,
        };
        let told = |set: &[(&str, &str)]| {
            let find = |name: &str| set.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned());
            cxx.ignored_variables(&["/usr/bin/gcc-12".to_owned()], find)
        };
        assert_eq!(told(&[]), [""; 0]);
        assert_eq!(told(&[("CC", "gcc-12 -m64"), ("CXX", "g++-12"), ("AR", " ")]), [""; 0]);
        assert_eq!(
            told(&[("CC", "clang"), ("STRIP", "/opt/strip")]),
            [
                "CC=clang is not used: /usr/bin/gcc-12 belongs to the C++ compiler; CXX is not set",
                "STRIP=/opt/strip is not used: strip comes with g++ 12.2.0"
            ]
        );
        assert_eq!(
            told(&[("CC", "clang"), ("CXX", "g++-12")]),
            ["CC=clang is not used: /usr/bin/gcc-12 belongs to CXX"]
        );
    }

    #[test]
    fn picks_a_compiler_in_range() {
        let asked = VersionCache::default();
        let dir = tempfile::tempdir().unwrap();
        let path = || Some(dir.path().as_os_str().to_owned());
        compiler(dir.path(), "g++", "g++ (GCC) 12.2.0", "12.2.0");
        compiler(dir.path(), "g++-11", "g++-11 (GCC) 11.3.0", "11.3.0");
        compiler(dir.path(), "clang++", "Some clang version 11.0.1", "11.0.1");
        let search = HostSearch { cxx: None, path: path() };
        assert_eq!(nvcc_host_compiler(&search, 6, 15, &asked).unwrap().version, "12.2.0");
        let found = nvcc_host_compiler(&search, 6, 11, &asked).unwrap();
        assert_eq!((found.cxx, found.version.as_str()), (dir.path().join("g++-11"), "11.3.0"));
        let clang = HostSearch { cxx: Some("clang++ -m64".to_owned()), path: path() };
        assert_eq!(nvcc_host_compiler(&clang, 6, 11, &asked).unwrap().version, "11.3.0");
        assert_eq!(system_host_compiler(&clang, &asked).unwrap().kind, CompilerKind::Clang);
        assert_eq!(system_host_compiler(&clang, &asked).unwrap().args, ["-m64"]);
        assert_eq!(system_host_compiler(&search, &asked).unwrap().describe(), "g++ 12.2.0");

        let error = nvcc_host_compiler(&search, 6, 10, &asked).unwrap_err();
        assert_eq!(error.details(), ["g++ is g++ 12.2.0"]);
        assert!(error.hints()[0].contains("g++-10"));
        let nowhere = HostSearch { cxx: None, path: Some("/nowhere".into()) };
        let error = nvcc_host_compiler(&nowhere, 0, u32::MAX, &asked).unwrap_err();
        assert_eq!(error.to_string(), "no g++, which nvcc needs for host code");
        let wrong = HostSearch { cxx: Some("g++-99".to_owned()), path: path() };
        assert!(system_host_compiler(&wrong, &asked).unwrap_err().to_string().contains("g++-99"));
        let none = HostSearch { cxx: None, path: Some("/nowhere".into()) };
        assert!(system_host_compiler(&none, &asked).unwrap_err().to_string().contains("no C++ compiler"));
    }
}
