//! One host step: configure, build and install into an empty tree.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::Share;
use super::toolset::Toolset;
use crate::arch::CudaVersion;
use crate::build_system::{BuildDriver, HostBuild, HostTools, PREFIX};
use crate::error::{Error, Result};
use crate::fs;
use crate::process::Call;

/// What a host step is called with.
pub(in crate::engine) struct HostStep<'a> {
    pub driver: BuildDriver,
    /// Simulator's name.
    pub name: &'a str,
    /// Copy of the declared sources, with the top file. Build systems may write into it.
    pub source: &'a Path,
    pub options: &'a BTreeMap<String, String>,
    pub targets: &'a [String],
    /// CUDA release whose compiler it calls; that of the host part without.
    pub cuda: Option<CudaVersion>,
    /// The prefix of the packages that it is given.
    pub dependencies: Option<&'a str>,
    /// Empty directory of this step.
    pub work: &'a Path,
    pub share: Share<'a>,
}

/// What belongs to a compiler: its name, and the variable of make and scripts.
const COMPANIONS: [(&str, &str); 5] =
    [("ar", "AR"), ("ranlib", "RANLIB"), ("ld", "LD"), ("nm", "NM"), ("strip", "STRIP")];

impl HostStep<'_> {
    /// The calls, in order, and the directory that holds the installed tree afterwards.
    pub(in crate::engine) fn calls(&self, tools: &Toolset) -> Result<(Vec<Call>, PathBuf)> {
        let dest = self.work.join("dest");
        let tree = dest.join(PREFIX.trim_start_matches('/'));
        fs_err::create_dir_all(&tree)?;
        let &Self { name, source, options, targets, dependencies, work, share, .. } = self;
        let (dest, jobs) = (&dest, share.jobs);
        let build = HostBuild { name, source, options, targets, work, dest, tree: &tree, dependencies, jobs };
        let calls = self.driver.system().calls(&build, &Arranged { step: self, tools })?;
        Ok((calls, tree))
    }

    /// Looks for what the build installed outside of its prefix.
    ///
    /// # Errors
    /// There is such a file: it would be in no package.
    pub(in crate::engine) fn finish(&self, id: &str) -> Result<()> {
        let prefix = PREFIX.trim_start_matches('/');
        let outside = fs::walk(&self.work.join("dest"))?.into_iter().find(|entry| {
            !matches!(entry.kind, fs::EntryKind::Directory) && !Path::new(&entry.path).starts_with(prefix)
        });
        match outside {
            Some(entry) => {
                Err(Error::build(format!("{id} installs /{}, which lies outside of its prefix", entry.path))
                    .detail(format!("prefix: {PREFIX}"))
                    .hint("install below the prefix that the build is given"))
            }
            None => Ok(()),
        }
    }
}

/// The tools of a step, with compilers that hide this machine's directories.
struct Arranged<'a> {
    step: &'a HostStep<'a>,
    tools: &'a Toolset,
}

impl HostTools for Arranged<'_> {
    /// Flags of the compilers are in the scripts by which they are called: no build system can drop them, or split them
    /// where a directory has a space.
    fn call(&self, program: &Path) -> Result<Call> {
        let HostStep { work, source, .. } = self.step;
        let mut flags = Vec::new();
        // The source lies in the step's directory: where both fit, compilers take the last.
        for dir in [work, source] {
            flags.push(format!("-ffile-prefix-map={}=.", fs::utf8(dir)?));
        }
        if let Some(prefix) = self.step.dependencies {
            flags.push(format!("-ffile-prefix-map={prefix}=dependencies"));
        }
        let compiler = |name: &str, command: &[String]| match command {
            [] => Err(Error::bug(format!("no command for {name}"))),
            command => self.program(name, &[command, &flags].concat()),
        };
        let cc = compiler("cc", &self.tools.cc)?;
        let cxx = compiler("c++", &self.tools.cxx)?;
        let mut call = self.tools.call(program, work)?.env("CC", fs::utf8(&cc)?).env("CXX", fs::utf8(&cxx)?);
        if let Some(prefix) = self.step.dependencies {
            // zig's linker does not know the option, and does not look for what libraries need in turn.
            let looks_further = self.tools.compiler_cache.is_none();
            call = with_dependencies(call, prefix, looks_further);
        }
        if let Some((nvcc, cxx)) = self.cuda() {
            call = call.env("NVCC", fs::utf8(nvcc)?).env("NVCC_CCBIN", fs::utf8(cxx)?);
        }
        let companions = self.companions()?;
        for (name, variable) in COMPANIONS {
            if let Some(program) = companions.get(name) {
                call = call.env(variable, fs::utf8(program)?);
            }
        }
        Ok(call)
    }

    fn pinned(&self, name: &str) -> Result<&Path> {
        let tool = self.tools.pinned.get(name);
        tool.map(PathBuf::as_path).ok_or_else(|| Error::bug(format!("no {name} for a component that is built with it")))
    }

    fn companions(&self) -> Result<BTreeMap<&'static str, PathBuf>> {
        let there = COMPANIONS.iter().filter_map(|(name, _)| Some((*name, self.tools.companions.get(*name)?)));
        there.map(|(name, command)| Ok((name, self.program(name, command)?))).collect()
    }

    fn cuda(&self) -> Option<(&Path, &Path)> {
        let compiles = self.step.options.contains_key("CMAKE_CUDA_ARCHITECTURES");
        let compiler = self.tools.cuda(self.step.cuda).filter(|_| compiles)?;
        Some((&compiler.nvcc, &compiler.cxx))
    }

    fn share(&self, call: &Call) -> Result<Option<Call>> {
        let tokens = self.step.share.tokens;
        tokens.map(|tokens| tokens.share(call.clone(), self.step.driver, self.step.work)).transpose()
    }
}

/// Where build systems look for what lies in a prefix: CMake and pkg-config by variables of their own, others by the flags
/// that conda's builds have, too.
fn with_dependencies(call: Call, prefix: &str, looks_further: bool) -> Call {
    let further = if looks_further { format!(" -Wl,-rpath-link,{prefix}/lib") } else { String::new() };
    let path = call.env.get("PATH").cloned().unwrap_or_default();
    call.env("PATH", format!("{prefix}/bin:{path}"))
        .env("CMAKE_PREFIX_PATH", prefix)
        .env("PKG_CONFIG_PATH", format!("{prefix}/lib/pkgconfig:{prefix}/share/pkgconfig"))
        .env("CPPFLAGS", format!("-I{prefix}/include"))
        .env("LDFLAGS", format!("-L{prefix}/lib{further}"))
}

impl Arranged<'_> {
    /// Build systems want a compiler to be one file: a command of several words becomes a script.
    fn program(&self, name: &str, command: &[String]) -> Result<PathBuf> {
        match command {
            [] => Err(Error::bug(format!("no command for {name}"))),
            [program] => Ok(PathBuf::from(program)),
            words => {
                let path = self.step.work.join("bin").join(name);
                if !path.exists() {
                    let quoted: Vec<String> =
                        words.iter().map(|word| format!("'{}'", word.replace('\'', "'\\''"))).collect();
                    fs::write_atomic(&path, format!("#!/bin/sh\nexec {} \"$@\"\n", quoted.join(" ")).as_bytes())?;
                    fs::set_mode(&path, 0o755)?;
                }
                Ok(path)
            }
        }
    }
}
