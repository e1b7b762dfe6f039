//! The machine's own compiler, with what it calls itself; for its own glibc, or held to an older one.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::ceiling::Ceiling;
use super::compiler::{CompilerKind, HostCompiler, HostSearch, system_host_compiler};
use super::source::{HostCommands, HostSource};
use crate::arch::GlibcVersion;
use crate::bundle::ToolVersion;
use crate::error::{Error, Result};
use crate::fs;
use crate::lastrun::VersionCache;
use crate::manifest::GlibcLevels;
use crate::toolchain::Store;
use crate::ui::Ui;

pub(super) struct System {
    compiler: HostCompiler,
    /// The glibc that it is held to.
    ceiling: Option<Ceiling>,
}

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
        Ok(Self { compiler: cxx, ceiling: None })
    }

    /// The same for another glibc than the machine's, where one is asked for.
    pub(super) fn held_to(
        self,
        glibc: Option<GlibcVersion>,
        levels: &GlibcLevels,
        store: &Store,
        answers: &VersionCache,
    ) -> Result<Self> {
        let ceiling = Ceiling::asked(self.compiler.clone(), glibc, levels, store, answers)?;
        Ok(Self { ceiling, ..self })
    }

    /// What it says of itself, with the glibc.
    fn said(&self) -> &HostCompiler {
        self.ceiling.as_ref().map_or(&self.compiler, Ceiling::compiler)
    }
}

impl HostSource for System {
    fn versions(&self, answers: &VersionCache) -> BTreeMap<String, ToolVersion> {
        let compiler = self.said();
        let found = [("c++", Some(compiler.describe())), ("binutils", compiler.binutils(answers))];
        let known = found.into_iter().filter_map(|(name, version)| Some((name.to_owned(), version?)));
        let known = known.map(|(name, version)| (name, ToolVersion { version, sha256: None }));
        known.chain(self.ceiling.iter().flat_map(Ceiling::versions)).collect()
    }

    fn major(&self) -> Option<u32> {
        // What is held to a glibc takes from the C++ library only what that of every such system has.
        if self.ceiling.is_some() { None } else { self.compiler.major() }
    }

    fn looked_at(&self) -> Vec<PathBuf> {
        self.ceiling.iter().flat_map(Ceiling::looked_at).collect()
    }

    fn commands(&self, store: &Store, answers: &VersionCache, offline: bool, ui: &Ui) -> Result<HostCommands> {
        let cxx = &self.compiler;
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
        if let Some(ceiling) = &self.ceiling {
            let held = ceiling.commands(store, offline, ui)?;
            commands.behind =
                [&commands.cc, &commands.cxx].into_iter().filter_map(|it| it.first()).map(PathBuf::from).collect();
            commands.cc = vec![fs::utf8(&held.cc)?.to_owned()];
            commands.cxx = vec![fs::utf8(&held.cxx)?.to_owned()];
        }
        Ok(commands)
    }
}

/// The C compiler that belongs to a C++ compiler: `g++-12` to `gcc-12`, `clang++` to `clang`.
pub(super) fn c_compiler(cxx: &str) -> String {
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
