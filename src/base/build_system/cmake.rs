//! CMake with ninja.

use std::path::{Path, PathBuf};

use super::{Begun, BuildSystem, DriverMistake, DriverWord, HostBuild, HostTools, PREFIX};
use crate::error::Result;
use crate::fs::{self, EntryKind};
use crate::process::Call;

pub(super) struct Cmake;

/// Directory of what is built, in that of the step.
const BUILD: &str = "build";

fn build_dir(work: &Path) -> PathBuf {
    work.join(BUILD)
}

/// Whether a file of the build directory is what CMake remembers of an earlier configuration: its cache, and what it found
/// out about compilers (`CMakeFiles/3.31.6`), as `cmake --fresh` removes it. That would remove objects, too.
fn is_of_configuration(path: &str) -> bool {
    let of_compilers =
        || path.strip_prefix("CMakeFiles/").is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    path == "CMakeCache.txt" || of_compilers()
}

/// Whether a file is the stamp by which ExternalProject knows that another project is built: it looks at none of that
/// project's sources again.
fn is_stamp_of_project(path: &str) -> bool {
    let mut parts = path.rsplit('/');
    let (file, dir) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    dir.strip_suffix("-stamp").is_some_and(|name| file.strip_prefix(name).is_some_and(|rest| rest.starts_with('-')))
}

/// What every step with device code is given, whether its project uses it or not.
const ARCHITECTURES: &str = "CMAKE_CUDA_ARCHITECTURES";
/// Programs that belong to a compiler, and their options.
const COMPANIONS: [(&str, &str); 5] = [
    ("ar", "CMAKE_AR"),
    ("ranlib", "CMAKE_RANLIB"),
    ("ld", "CMAKE_LINKER"),
    ("nm", "CMAKE_NM"),
    ("strip", "CMAKE_STRIP"),
];

impl BuildSystem for Cmake {
    fn tools(&self) -> &'static [&'static str] {
        &["c++", "cmake", "ninja"]
    }

    fn top_files(&self) -> &'static [&'static str] {
        &["CMakeLists.txt"]
    }

    fn pinned(&self) -> &'static [&'static str] {
        &["cmake", "ninja"]
    }

    fn jobserver(&self) -> Option<&'static str> {
        Some("ninja")
    }

    fn switch(&self, on: bool) -> &'static str {
        if on { "ON" } else { "OFF" }
    }

    fn flag(&self) -> &'static str {
        "-D"
    }

    fn sets_variables(&self) -> bool {
        false
    }

    fn says_languages(&self) -> bool {
        true
    }

    fn mistakes(&self, targets: usize, _options: &[&str]) -> Vec<DriverMistake> {
        let mistake = DriverMistake {
            at: DriverWord::Target(0),
            message: "`targets` cannot be combined with driver `cmake`",
            hint: "what CMake installs is built; choose with `options`",
        };
        if targets > 0 { vec![mistake] } else { Vec::new() }
    }

    fn has_install_target(&self) -> bool {
        true
    }

    fn built(&self, step: &HostBuild<'_>) -> PathBuf {
        build_dir(step.work)
    }

    fn builds_in_source(&self) -> bool {
        false
    }

    fn resumes(&self) -> bool {
        true
    }

    /// What was configured is forgotten: options with defaults of yesterday, results of checks, what was found of the
    /// machine. What was compiled stays, and ninja compares commands, time stamps and the headers that compilers named;
    /// what a killed command left is not in its log, and is made again.
    fn resume(&self, begun: &Begun<'_>) -> Result<bool> {
        let build = build_dir(begun.work);
        if build.symlink_metadata().is_err() {
            return Ok(true);
        }
        let tree = fs::Tree::at(begun.work)?;
        tree.directory(BUILD)?;
        let entries = fs::walk(&build)?;
        let has_projects = entries.iter().any(|entry| is_stamp_of_project(&entry.path));
        if has_projects && begun.changes.count() > 0 {
            return Ok(false);
        }
        for entry in entries.iter().filter(|entry| is_of_configuration(&entry.path)) {
            if !matches!(entry.kind, EntryKind::Directory) {
                tree.remove(&format!("{BUILD}/{}", entry.path))?;
            }
        }
        Ok(true)
    }

    /// CMake lists what it was given and never asked for, a line each, behind a line that says so.
    fn unused(&self, said: &str) -> Vec<String> {
        const HEAD: &str = "Manually-specified variables were not used by the project:";
        let Some((_, list)) = said.split_once(HEAD) else { return Vec::new() };
        let lines = list.lines().skip_while(|line| line.trim().is_empty());
        let names = lines.take_while(|line| line.starts_with("  ")).map(str::trim).filter(|name| !name.is_empty());
        names.filter(|name| *name != ARCHITECTURES).map(str::to_owned).collect()
    }

    fn calls(&self, step: &HostBuild<'_>, tools: &dyn HostTools) -> Result<Vec<Call>> {
        let cmake = tools.pinned("cmake")?;
        let build = self.built(step);
        let build = fs::utf8(&build)?;
        let mut configure = tools.call(cmake)?.args(["-G", "Ninja", "-S"]).arg(fs::utf8(step.source)?);
        configure = configure.arg("-B").arg(build);
        let defaults = [
            ("CMAKE_MAKE_PROGRAM", fs::utf8(tools.pinned("ninja")?)?),
            ("CMAKE_BUILD_TYPE", "Release"),
            ("CMAKE_INSTALL_PREFIX", PREFIX),
            ("CMAKE_INSTALL_LIBDIR", "lib"),
            // Otherwise the mode of libraries depends on whether the machine has /etc/debian_version.
            ("CMAKE_INSTALL_SO_NO_EXE", "1"),
            // With sources that are newer than the clock, ninja would configure again for ever.
            ("CMAKE_SUPPRESS_REGENERATION", "ON"),
        ];
        for (name, value) in defaults {
            configure = configure.arg(format!("-D{name}={value}"));
        }
        let companions = tools.companions()?;
        for (name, option) in COMPANIONS {
            if let Some(program) = companions.get(name) {
                configure = configure.arg(format!("-D{option}={}", fs::utf8(program)?));
            }
        }
        if let (Some(list), Some((nvcc, cxx))) = (step.options.get(ARCHITECTURES), tools.cuda()) {
            configure = configure.env("CUDAARCHS", list).env("CUDACXX", fs::utf8(nvcc)?);
            configure = configure.env("CUDAHOSTCXX", fs::utf8(cxx)?);
            // Projects from before CMake knew the language find CUDA by a module, which looks here first.
            configure = configure.env("CUDA_BIN_PATH", fs::utf8(nvcc.parent().unwrap_or(nvcc))?);
        }
        for (name, value) in step.options(PREFIX, tools)? {
            configure = configure.arg(format!("-D{name}={value}"));
        }
        let base = tools.call(cmake)?.args(["--build", build]);
        // With a number of its own ninja would take no part in the tokens.
        let make = match tools.share(&base)? {
            Some(shared) => shared,
            None => base.args(["--parallel", &step.jobs.to_string()]),
        };
        let mut calls = vec![configure, make];
        if !step.installs {
            calls.push(tools.call(cmake)?.args(["--install", build]).env("DESTDIR", fs::utf8(step.dest)?));
        }
        Ok(calls)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::build_system::SourceChanges;

    #[test]
    fn options_that_nobody_asked_for_are_named() {
        let said = "-- Configuring done\nCMake Warning:\n  Manually-specified variables were not used by the project:\n\n    \
                    CMAKE_CUDA_ARCHITECTURES\n    WITH_MPI\n    WITH_HDF5\n\n\n-- Build files have been written to: /x\n";
        assert_eq!(Cmake.unused(said), ["WITH_MPI", "WITH_HDF5"]);
        assert_eq!(Cmake.unused("-- Configuring done\n"), [""; 0]);
    }

    #[test]
    fn what_was_configured_is_forgotten_and_what_was_compiled_stays() {
        let dir = tempfile::tempdir().unwrap();
        let at = |path: &str| dir.path().join("build").join(path);
        let write = |path: &str| {
            fs_err::create_dir_all(at(path).parent().unwrap()).unwrap();
            fs_err::write(at(path), path).unwrap();
        };
        let changes = |changed: &[&str]| SourceChanges {
            changed: changed.iter().map(|path| (*path).to_owned()).collect(),
            ..SourceChanges::default()
        };
        let resumes = |changes: &SourceChanges| {
            let source = dir.path().join("source");
            Cmake.resume(&Begun { work: dir.path(), source: &source, changes, ended: false })
        };
        assert!(resumes(&changes(&["a.cc"])).unwrap(), "nothing was configured yet");
        let objects = ["CMakeFiles/sim.dir/a.cc.o", ".ninja_log", ".ninja_deps", "ext/CMakeCache.txt"];
        let forgotten = ["CMakeCache.txt", "CMakeFiles/3.31.6/CMakeCXXCompiler.cmake"];
        objects.iter().chain(&forgotten).for_each(|path| write(path));
        assert!(resumes(&changes(&["CMakeLists.txt"])).unwrap());
        assert!(objects.iter().all(|path| at(path).exists()) && !forgotten.iter().any(|path| at(path).exists()));
        write("modcc-prefix/src/modcc-stamp/modcc-build");
        assert!(!resumes(&changes(&["a.cc"])).unwrap() && resumes(&changes(&[])).unwrap());
        // A build that put something else in the place of its directory is not gone on with.
        fs_err::rename(at(""), dir.path().join("theirs")).unwrap();
        fs_err::os::unix::fs::symlink("theirs", at("").parent().unwrap().join("build")).unwrap();
        assert!(resumes(&changes(&[])).is_err());
    }
}
