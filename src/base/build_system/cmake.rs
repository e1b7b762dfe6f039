//! CMake with ninja.

use std::path::PathBuf;

use super::{BuildSystem, DriverMistake, DriverWord, HostBuild, HostTools, PREFIX};
use crate::error::Result;
use crate::fs;
use crate::process::Call;

pub(super) struct Cmake;

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

    fn pinned(&self) -> &'static [&'static str] {
        &["cmake", "ninja"]
    }

    fn jobserver(&self) -> Option<&'static str> {
        Some("ninja")
    }

    fn switch(&self, on: bool) -> &'static str {
        if on { "ON" } else { "OFF" }
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
        step.work.join("build")
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

    #[test]
    fn options_that_nobody_asked_for_are_named() {
        let said = "-- Configuring done\nCMake Warning:\n  Manually-specified variables were not used by the project:\n\n    \
                    CMAKE_CUDA_ARCHITECTURES\n    WITH_MPI\n    WITH_HDF5\n\n\n-- Build files have been written to: /x\n";
        assert_eq!(Cmake.unused(said), ["WITH_MPI", "WITH_HDF5"]);
        assert_eq!(Cmake.unused("-- Configuring done\n"), [""; 0]);
    }
}
