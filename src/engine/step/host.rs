//! One host step: configure, build and install into an empty tree.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::failure::Share;
use super::installed::install::install;
use super::installed::relocate::relocate;
use super::installed::soname::give_sonames;
use super::sandbox::launcher::Launching;
use super::sandbox::toolset::Toolset;
use crate::arch::CudaVersion;
use crate::build_system::{BuildDriver, HostBuild, HostTools, PREFIX};
use crate::error::{Error, Result};
use crate::fs::{self, Digest};
use crate::plan::Step;
use crate::process::{Call, await_closed};
use crate::recipe::{Install, Soname};

/// What a host step is called with.
pub(in crate::engine) struct HostStep<'a> {
    pub driver: BuildDriver,
    pub step: &'a Step,
    /// What its compilers are called through.
    pub launching: Option<&'a Launching<'a>>,
    /// Simulator's name.
    pub name: &'a str,
    /// Copy of the declared sources, with the top file. Build systems may write into it.
    pub source: &'a Path,
    pub options: &'a BTreeMap<String, String>,
    pub targets: &'a [String],
    /// What is installed of what was built; by the build itself where empty.
    pub install: &'a [Install],
    /// SONAMEs of libraries whose build gives them none.
    pub sonames: &'a [Soname],
    /// CUDA release whose compiler it calls; that of the host part without.
    pub cuda: Option<CudaVersion>,
    /// The prefix of the packages that it is given.
    pub dependencies: Option<&'a str>,
    /// The prefix of what it is built against.
    pub against: Option<&'a Path>,
    /// Directory of the shaders that it embeds.
    pub shaders: Option<&'a Path>,
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
        let build = self.build(&dest, &tree);
        let calls = self.driver.system().calls(&build, &Arranged { step: self, tools })?;
        Ok((calls, tree))
    }

    fn build<'b>(&'b self, dest: &'b Path, tree: &'b Path) -> HostBuild<'b> {
        let &Self { name, source, options, targets, dependencies, against, shaders, work, share, .. } = self;
        let (jobs, installs) = (share.jobs, !self.install.is_empty());
        HostBuild { name, source, options, targets, installs, work, dest, tree, dependencies, against, shaders, jobs }
    }

    /// Installs what the recipe lists into `tree`, looks for what the build installed outside of its prefix, lets texts find
    /// that from where they lie, and gives libraries the SONAMEs of the recipe.
    ///
    /// # Errors
    /// A file lies outside: it would be in no package. What is to be installed is not there. A library has another SONAME
    /// than the recipe says.
    pub(in crate::engine) fn finish(&self, id: &str, tree: &Path) -> Result<()> {
        let built = self.driver.system().built(&self.build(&self.work.join("dest"), tree));
        install(self.install, &built, tree).map_err(|error| error.detail(format!("of {id}")))?;
        self.is_within(id)?;
        relocate(tree)?;
        give_sonames(self.sonames, tree)
    }

    fn is_within(&self, id: &str) -> Result<()> {
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
    fn call(&self, program: &Path) -> Result<Call> {
        let (cc, cxx) = (self.compiler("cc", &self.tools.cc)?, self.cxx()?);
        let mut call = self.tools.call(program, self.step.work)?.env("CC", fs::utf8(&cc)?).env("CXX", fs::utf8(&cxx)?);
        // zig's linker does not know the option, and does not look for what libraries need in turn.
        let looks_further = self.tools.compiler_cache.is_none();
        let against = self.step.against.map(fs::utf8).transpose()?;
        let prefixes: Vec<&str> = against.into_iter().chain(self.step.dependencies).collect();
        if !prefixes.is_empty() {
            call = with_prefixes(call, &prefixes, looks_further);
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

    fn cxx(&self) -> Result<PathBuf> {
        self.compiler("c++", &self.tools.cxx)
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

/// Where build systems look for what lies in prefixes, the first first: CMake and pkg-config by variables of their own, others
/// by the flags that conda's builds have, too.
fn with_prefixes(call: Call, prefixes: &[&str], looks_further: bool) -> Call {
    let list = |directories: &[&str]| {
        let below = |prefix: &&str| directories.iter().map(|it| format!("{prefix}/{it}")).collect::<Vec<_>>().join(":");
        prefixes.iter().map(below).collect::<Vec<_>>().join(":")
    };
    // The directory of a step may have a space in its name: a shell reads what build systems make of the flags.
    let word = |word: String| if word.contains(char::is_whitespace) { quote(&word) } else { word };
    let flags = |flags: &[&str], directory: &str| {
        let of =
            |prefix: &&str| flags.iter().map(|flag| word(format!("{flag}{prefix}/{directory}"))).collect::<Vec<_>>();
        prefixes.iter().flat_map(of).collect::<Vec<_>>().join(" ")
    };
    let link: &[&str] = if looks_further { &["-L", "-Wl,-rpath-link,"] } else { &["-L"] };
    let path = call.env.get("PATH").cloned().unwrap_or_default();
    call.env("PATH", format!("{}:{path}", list(&["bin"])))
        .env("CMAKE_PREFIX_PATH", prefixes.join(":"))
        .env("PKG_CONFIG_PATH", list(&["lib/pkgconfig", "share/pkgconfig"]))
        .env("CPPFLAGS", flags(&["-I"], "include"))
        .env("LDFLAGS", flags(link, "lib"))
}

impl Arranged<'_> {
    /// Flags of the compilers are in the scripts by which they are called: no build system can drop them, or split them
    /// where a directory has a space.
    fn compiler(&self, name: &str, command: &[String]) -> Result<PathBuf> {
        if command.is_empty() {
            return Err(Error::bug(format!("no command for {name}")));
        }
        if let Some(launching) = self.step.launching {
            return self.launched(name, command, launching);
        }
        let HostStep { work, source, .. } = self.step;
        let mut flags = Vec::new();
        // The source lies in the step's directory: where both fit, compilers take the last.
        for dir in [work, source] {
            flags.push(format!("-ffile-prefix-map={}=.", fs::utf8(dir)?));
        }
        flags.extend(self.dependencies());
        self.program(name, &[command, &flags].concat())
    }

    fn dependencies(&self) -> Option<String> {
        Some(format!("-ffile-prefix-map={}=dependencies", self.step.dependencies?))
    }

    /// A compiler behind a launcher, which takes the digest of its file for what the compiler is: that file is a script with
    /// the same text in every step that has the same tools, and finds the directory of its step by its own name.
    fn launched(&self, name: &str, command: &[String], launching: &Launching<'_>) -> Result<PathBuf> {
        const BELOW: &str = "bin/launched";
        let HostStep { work, source, step, .. } = self.step;
        let below = source.strip_prefix(work).map_err(|_| Error::bug("the source of a step lies outside of it"))?;
        let mut text = "#!/bin/sh\n".to_owned();
        // What our keys say of tools, and the program itself.
        for part in step.parts.iter().filter(|part| part.name == "simpack" || part.name.starts_with("tool ")) {
            text.push_str(&format!("# {}: {}\n", part.name, part.value.replace('\n', " ")));
        }
        text.push_str(&format!("# {}\n", Digest::of_file(Path::new(&command[0]))?));
        let dependencies = self.dependencies();
        let quoted = quoted(command.iter().chain(&dependencies));
        text.push_str(&format!("step=${{0%/{BELOW}/*}}\n"));
        text.push_str(&exchanged(PLACEHOLDER, "$step"));
        text.push_str(&format!(
            "exec {quoted} \"-ffile-prefix-map=$step=.\" \"-ffile-prefix-map=$step/\"{}=. \"$@\"\n",
            quote(fs::utf8(below)?)
        ));
        let compiler = work.join(BELOW).join(name);
        write_program(&compiler, &text)?;
        let variables = launching.variables()?;
        let set = variables.iter().map(|(name, value)| format!("{name}={}", quote(value)));
        let set = set.collect::<Vec<_>>().join(" ");
        let launcher = work.join("bin").join(name);
        let compiler = quote(fs::utf8(&compiler)?);
        let exchanged = exchanged(&quote(fs::utf8(work)?), PLACEHOLDER);
        let text = format!("#!/bin/sh\nexport {set}\n{exchanged}exec \"$SIMPACK_LAUNCHER\" {compiler} \"$@\"\n");
        write_program(&launcher, &text)?;
        Ok(launcher)
    }

    /// Build systems want a compiler to be one file: a command of several words becomes a script.
    fn program(&self, name: &str, command: &[String]) -> Result<PathBuf> {
        match command {
            [] => Err(Error::bug(format!("no command for {name}"))),
            [program] => Ok(PathBuf::from(program)),
            words => {
                let path = self.step.work.join("bin").join(name);
                write_program(&path, &format!("#!/bin/sh\nexec {} \"$@\"\n", quoted(words)))?;
                Ok(path)
            }
        }
    }
}

/// What stands for the directory of a step where a launcher compares options.
const PLACEHOLDER: &str = "/simpack-step";

/// Lines of a shell that put one directory in the place of another in the options by which a build maps directories away.
/// They name the step's own, which is another each time and changes nothing.
fn exchanged(from: &str, to: &str) -> String {
    format!(
        "from={from} to={to}\nfor word; do\n    shift\n    case $word in\n    -f*-prefix-map=\"$from\"[/=]*) \
         word=${{word%%=*}}=$to${{word#*=\"$from\"}} ;;\n    esac\n    set -- \"$@\" \"$word\"\ndone\n"
    )
}

/// Writes a script, once.
fn write_program(path: &Path, text: &str) -> Result<()> {
    if path.exists() {
        return Ok(());
    }
    fs::write_atomic(path, text.as_bytes())?;
    fs::set_mode(path, 0o755)?;
    // A step that was started meanwhile, by another thread, may have it open until its own program runs.
    await_closed(path);
    Ok(())
}

/// Words as a shell takes them.
fn quoted<'w>(words: impl IntoIterator<Item = &'w String>) -> String {
    words.into_iter().map(|word| quote(word)).collect::<Vec<_>>().join(" ")
}

fn quote(word: &str) -> String {
    format!("'{}'", word.replace('\'', "'\\''"))
}
