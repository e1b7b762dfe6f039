//! Meson with ninja.

use std::path::{Path, PathBuf};

use super::{BuildSystem, DriverMistake, DriverWord, HostBuild, HostTools, MachineTool, PREFIX};
use crate::error::Result;
use crate::fs;
use crate::process::Call;

pub(super) struct Meson;

/// What runs it: its wheel holds Python's modules alone.
const PYTHON: MachineTool = MachineTool { name: "python3", hint: "Meson runs on it: install Python 3.10 or newer" };

/// A call of a program that calls Meson: its modules lie where the pinned file lies.
fn calling(program: &Path, tools: &dyn HostTools) -> Result<Call> {
    let main = tools.pinned("meson")?;
    let modules = main.parent().and_then(Path::parent).unwrap_or(main);
    Ok(tools.call(program)?.env("PYTHONPATH", fs::utf8(modules)?))
}

/// A call of Meson.
fn meson(tools: &dyn HostTools) -> Result<Call> {
    let call = calling(Path::new(PYTHON.name), tools)?;
    Ok(call.env("PYTHONDONTWRITEBYTECODE", "1").env("NINJA", fs::utf8(tools.pinned("ninja")?)?).args([
        "-P",
        "-m",
        "mesonbuild.mesonmain",
    ]))
}

impl BuildSystem for Meson {
    fn tools(&self) -> &'static [&'static str] {
        &["c++", "meson", "ninja"]
    }

    fn top_files(&self) -> &'static [&'static str] {
        &["meson.build"]
    }

    fn pinned(&self) -> &'static [&'static str] {
        &["meson", "ninja"]
    }

    fn of_machine(&self) -> Option<&'static MachineTool> {
        Some(&PYTHON)
    }

    fn jobserver(&self) -> Option<&'static str> {
        Some("ninja")
    }

    fn switch(&self, on: bool) -> &'static str {
        if on { "true" } else { "false" }
    }

    fn flag(&self) -> &'static str {
        "-D"
    }

    fn sets_variables(&self) -> bool {
        false
    }

    fn mistakes(&self, targets: usize, _options: &[&str]) -> Vec<DriverMistake> {
        let mistake = DriverMistake {
            at: DriverWord::Target(0),
            message: "`targets` cannot be combined with driver `meson`",
            hint: "what Meson installs is built; choose with `options`",
        };
        if targets > 0 { vec![mistake] } else { Vec::new() }
    }

    fn has_install_target(&self) -> bool {
        true
    }

    fn built(&self, step: &HostBuild<'_>) -> PathBuf {
        step.work.join("build")
    }

    fn builds_in_source(&self) -> bool {
        false
    }

    fn calls(&self, step: &HostBuild<'_>, tools: &dyn HostTools) -> Result<Vec<Call>> {
        let build = self.built(step);
        let build = fs::utf8(&build)?;
        let mut setup = meson(tools)?.args(["setup", build]).arg(fs::utf8(step.source)?).args([
            &format!("--prefix={PREFIX}"),
            "--libdir=lib",
            "--buildtype=release",
            // Steps have no network, and what a project would take instead is in no lock.
            "--wrap-mode=nodownload",
        ]);
        for (name, value) in step.options(PREFIX, tools)? {
            setup = setup.arg(format!("-D{name}={value}"));
        }
        // Its commands call Meson again.
        let base = calling(tools.pinned("ninja")?, tools)?.args(["-C", build]);
        let ninja = match tools.share(&base)? {
            Some(shared) => shared,
            None => base.arg(format!("-j{}", step.jobs)),
        };
        let mut calls = vec![setup, ninja];
        if !step.installs {
            let install = meson(tools)?.args(["install", "--no-rebuild", "-C", build]);
            calls.push(install.env("DESTDIR", fs::utf8(step.dest)?));
        }
        Ok(calls)
    }
}
