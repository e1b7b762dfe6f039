//! One host step: configure, build and install into an empty tree.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::step::Share;
use super::toolset::Toolset;
use crate::error::{Error, Result};
use crate::fs;
use crate::process::Call;
use crate::recipe::BuildDriver;

/// What a host step is called with.
pub(super) struct HostStep<'a> {
    pub driver: BuildDriver,
    /// Simulator's name.
    pub name: &'a str,
    /// Copy of the declared sources, with the top file. Build systems may write into it.
    pub source: PathBuf,
    pub options: &'a BTreeMap<String, String>,
    pub targets: &'a [String],
    /// Empty directory of this step.
    pub work: &'a Path,
    pub share: Share<'a>,
}

/// Prefix that the build systems believe in; the real tree is below `DESTDIR`. A fixed one keeps
/// the name of this machine's directories out of generated files.
const PREFIX: &str = "/opt/simpack";

/// What belongs to a compiler: CMake's option, the variable of make and scripts, the name.
const COMPANIONS: [(&str, &str, &str); 5] = [
    ("CMAKE_AR", "AR", "ar"),
    ("CMAKE_RANLIB", "RANLIB", "ranlib"),
    ("CMAKE_LINKER", "LD", "ld"),
    ("CMAKE_NM", "NM", "nm"),
    ("CMAKE_STRIP", "STRIP", "strip"),
];

impl HostStep<'_> {
    /// The calls, in order, and the directory that holds the installed tree afterwards.
    pub(super) fn calls(&self, tools: &Toolset) -> Result<(Vec<Call>, PathBuf)> {
        let dest = self.work.join("dest");
        let tree = dest.join(PREFIX.trim_start_matches('/'));
        fs_err::create_dir_all(&tree)?;
        let calls = match self.driver {
            BuildDriver::Cmake => self.cmake(tools, &dest)?,
            BuildDriver::Make => self.make(tools, &dest)?,
            BuildDriver::Script => self.script(tools, &tree)?,
            BuildDriver::Copy => {
                fs::copy_tree(&self.source, &tree.join("share").join(self.name), &BTreeMap::new())?;
                Vec::new()
            }
        };
        Ok((calls, tree))
    }

    /// Looks for what the build installed outside of its prefix.
    ///
    /// # Errors
    /// There is such a file: it would be in no package.
    pub(super) fn finish(&self, id: &str) -> Result<()> {
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

    fn fill(&self, value: &str, prefix: &str) -> String {
        value.replace("{prefix}", prefix).replace("{jobs}", &self.share.jobs.to_string())
    }

    fn cmake(&self, tools: &Toolset, dest: &Path) -> Result<Vec<Call>> {
        let cmake = tools.cmake.as_ref().ok_or_else(|| Error::bug("no cmake for a component that is built with it"))?;
        let ninja =
            tools.ninja.as_ref().ok_or_else(|| Error::bug("no ninja for a component that is built with cmake"))?;
        let build = self.work.join("build");
        let mut configure = self.base(tools, cmake)?.args(["-G", "Ninja", "-S"]).arg(fs::utf8(&self.source)?);
        configure = configure.arg("-B").arg(fs::utf8(&build)?);
        let defaults = [
            ("CMAKE_MAKE_PROGRAM", fs::utf8(ninja)?),
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
        for (option, _, name) in COMPANIONS {
            if let Some(program) = tools.companions.get(name) {
                configure = configure.arg(format!("-D{option}={}", fs::utf8(&self.program(name, program)?)?));
            }
        }
        if let (Some(list), Some(nvcc)) = (self.options.get("CMAKE_CUDA_ARCHITECTURES"), &tools.nvcc) {
            configure = configure.env("CUDAARCHS", list).env("CUDACXX", fs::utf8(nvcc)?);
            if let Some(cxx) = &tools.nvcc_cxx {
                configure = configure.env("CUDAHOSTCXX", fs::utf8(cxx)?);
            }
        }
        for (name, value) in self.options {
            configure = configure.arg(format!("-D{name}={}", self.fill(value, PREFIX)));
        }
        let build_dir = fs::utf8(&build)?;
        let base = self.base(tools, cmake)?.args(["--build", build_dir]);
        let jobs = self.share.jobs.to_string();
        let make = match self.share.tokens {
            // With a number of its own ninja would take no part in the tokens.
            Some(tokens) => tokens.share(base, self.driver, self.work)?,
            None => base.args(["--parallel", &jobs]),
        };
        Ok(vec![
            configure,
            make,
            self.base(tools, cmake)?.args(["--install", build_dir]).env("DESTDIR", fs::utf8(dest)?),
        ])
    }

    fn make(&self, tools: &Toolset, dest: &Path) -> Result<Vec<Call>> {
        if fs::utf8(self.work)?.contains(char::is_whitespace) {
            return Err(Error::build(format!(
                "make cannot work in {}: it takes the name apart at the space",
                self.work.display()
            ))
            .hint("name a directory without spaces in --work"));
        }
        let mut options: Vec<String> =
            self.options.iter().map(|(name, value)| format!("{name}={}", self.fill(value, PREFIX))).collect();
        options.push(format!("PREFIX={PREFIX}"));
        options.push(format!("DESTDIR={}", fs::utf8(dest)?));
        let base = self.base(tools, "make")?.dir(&self.source);
        let base = match self.share.tokens {
            Some(tokens) => tokens.share(base, self.driver, self.work)?,
            None => base.arg(format!("-j{}", self.share.jobs)),
        };
        let base = base.args(options);
        Ok(vec![base.clone().args(self.targets.iter().cloned()), base.arg("install")])
    }

    fn script(&self, tools: &Toolset, tree: &Path) -> Result<Vec<Call>> {
        let script = self.targets.first().ok_or_else(|| Error::bug("a script build without its script"))?;
        let mut call = self.base(tools, "/bin/sh")?.dir(&self.source).args(["-eu", script.as_str()]);
        for (name, value) in self.options {
            call = call.env(name.clone(), self.fill(value, fs::utf8(tree)?));
        }
        Ok(vec![call.env("PREFIX", fs::utf8(tree)?).env("JOBS", self.share.jobs.to_string())])
    }

    /// A call with compilers that hide this machine's directories. Their flags are in the scripts by
    /// which they are called: no build system can drop them, or split them where a directory has a space.
    fn base(&self, tools: &Toolset, program: impl Into<PathBuf>) -> Result<Call> {
        let mut flags = Vec::new();
        // The source lies in the step's directory: where both fit, compilers take the last.
        for dir in [self.work, &self.source] {
            flags.push(format!("-ffile-prefix-map={}=.", fs::utf8(dir)?));
        }
        let compiler = |name: &str, command: &[String]| match command {
            [] => Err(Error::bug(format!("no command for {name}"))),
            command => self.program(name, &[command, &flags].concat()),
        };
        let cc = compiler("cc", &tools.cc)?;
        let cxx = compiler("c++", &tools.cxx)?;
        let mut call = tools.call(program, self.work)?.env("CC", fs::utf8(&cc)?).env("CXX", fs::utf8(&cxx)?);
        if let (true, Some(nvcc)) = (self.options.contains_key("CMAKE_CUDA_ARCHITECTURES"), &tools.nvcc) {
            call = call.env("NVCC", fs::utf8(nvcc)?);
            if let Some(cxx) = &tools.nvcc_cxx {
                call = call.env("NVCC_CCBIN", fs::utf8(cxx)?);
            }
        }
        for (_, variable, name) in COMPANIONS {
            if let Some(program) = tools.companions.get(name) {
                call = call.env(variable, fs::utf8(&self.program(name, program)?)?);
            }
        }
        Ok(call)
    }

    /// Build systems want a compiler to be one file: a command of several words becomes a script.
    fn program(&self, name: &str, command: &[String]) -> Result<PathBuf> {
        match command {
            [] => Err(Error::bug(format!("no command for {name}"))),
            [program] => Ok(PathBuf::from(program)),
            words => {
                let path = self.work.join("bin").join(name);
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
