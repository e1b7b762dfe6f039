//! The machine's own compiler, with what it calls itself.

use std::collections::BTreeMap;

use super::{CompilerKind, HostCommands, HostCompiler, HostSearch, HostSource, system_host_compiler};
use crate::bundle::ToolVersion;
use crate::error::{Error, Result};
use crate::fs;
use crate::lastrun::VersionCache;
use crate::toolchain::Store;
use crate::ui::Ui;

pub(super) struct System(HostCompiler);

impl System {
    pub(super) fn find(min: Option<u32>, answers: &VersionCache) -> Result<Self> {
        let cxx = system_host_compiler(&HostSearch::from_env(), answers)?;
        if let (Some(min), Some(major), CompilerKind::Gcc) = (min, cxx.major(), cxx.kind)
            && major < min
        {
            return Err(Error::toolchain(format!("{} is older than the recipe needs", cxx.describe()))
                .detail(format!("the recipe asks for g++ {min} or newer"))
                .hint("set CXX to a newer compiler, or build with `--host zig`"));
        }
        Ok(Self(cxx))
    }
}

impl HostSource for System {
    fn versions(&self, answers: &VersionCache) -> BTreeMap<String, ToolVersion> {
        let found = [("c++", Some(self.0.describe())), ("binutils", self.0.binutils(answers))];
        let known = found.into_iter().filter_map(|(name, version)| Some((name.to_owned(), version?)));
        known.map(|(name, version)| (name, ToolVersion { version, sha256: None })).collect()
    }

    fn major(&self) -> Option<u32> {
        self.0.major()
    }

    fn commands(&self, _: &Store, answers: &VersionCache, _: bool, ui: &Ui) -> Result<HostCommands> {
        let cxx = &self.0;
        let program = fs::utf8(&cxx.cxx)?.to_owned();
        let mut commands = HostCommands {
            cc: std::iter::once(c_compiler(&program)).chain(cxx.args.iter().cloned()).collect(),
            cxx: std::iter::once(program).chain(cxx.args.iter().cloned()).collect(),
            ..HostCommands::default()
        };
        for name in ["ar", "ranlib", "ld", "nm", "strip"] {
            if let Some(program) = cxx.companion(name, answers) {
                commands.companions.insert(name.to_owned(), vec![fs::utf8(&program)?.to_owned()]);
            }
        }
        for note in cxx.ignored_variables(&commands.cc, |name| std::env::var(name).ok()) {
            ui.note(format!("  note       {note}"));
        }
        Ok(commands)
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
