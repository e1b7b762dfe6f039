//! Kernel steps: one compiler call makes the file of one step, those of several steps of a unit, or those of several
//! shaders; and the headers that each was made of.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::headers::{HeaderContext, read_alone, read_by};
use super::kind::cached_name;
use super::nvcc::{LIST, are_alike, each_as_if_alone, is_plain, list_of_read, same_source_path, stem};
use super::sandbox::isolation::changed;
use super::sandbox::toolset::{Toolset, temporary};
use crate::arch::{Capability, CudaVersion, KernelCompiler, KernelTarget};
use crate::engine::options::BuildOptions;
use crate::error::{Error, Result};
use crate::fs::{self, Digest};
use crate::gpu::LARGEST_WGSL;
use crate::plan::{Action, Step, wgsl_module};
use crate::process::Call;

/// Where kernel steps are compiled.
pub(in crate::engine) struct KernelPlace<'a> {
    pub tools: &'a Toolset,
    pub options: &'a BuildOptions,
    /// Root of the source tree.
    pub root: &'a Path,
    /// What a call sees besides the system, the tools and its own directory.
    pub seen: &'a BTreeSet<PathBuf>,
    /// Empty directory of this call.
    pub work: &'a Path,
}

/// What a call leaves of one step.
pub(in crate::engine) struct Made {
    /// Directory with the step's file and no other.
    pub dir: PathBuf,
    /// The preprocessor's list of what it read; none of a language without one.
    list: Option<PathBuf>,
}

/// The file that a kernel step compiles: its path below the source root, and its name.
fn source_of(step: &Step) -> Option<(&str, &str)> {
    let Action::Kernel { source, .. } = &step.action else { return None };
    Some((source, source.rsplit('/').next().unwrap_or(source)))
}

/// What steps have in common that one call can take.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::engine) enum InCommon<'a> {
    /// One unit for several capabilities, by nvcc: CUDA release, unit, and arguments behind that for the target.
    Unit(Option<CudaVersion>, &'a str, &'a [String]),
    /// Several shaders with the same arguments, by glslc.
    Arguments(&'a [String]),
}

/// What a step has in common with those that one call can take. None for a step that needs a call of its own.
pub(in crate::engine) fn shareable(step: &Step) -> Option<InCommon<'_>> {
    let Action::Kernel { compiler, source, args, .. } = &step.action else { return None };
    let common = match compiler {
        KernelCompiler::Nvcc => {
            let arch = format!("-arch={}", machine_code(step)?.sm());
            let [mode, given, flags @ ..] = args.as_slice() else { return None };
            let is_known = mode == "-cubin" && *given == arch && are_alike(flags);
            is_known.then_some(InCommon::Unit(step.cuda, source, flags))?
        }
        // With `-g` the path of the source, which such a call gives in another way, is in the module.
        KernelCompiler::Glslc => (!args.iter().any(|arg| arg == "-g")).then_some(InCommon::Arguments(args))?,
        KernelCompiler::Glslang | KernelCompiler::Dxc | KernelCompiler::Naga => return None,
    };
    is_plain(source).then_some(common)
}

/// The capability whose machine code a step makes.
fn machine_code(step: &Step) -> Option<Capability> {
    match step.target() {
        Some(KernelTarget::Sass(capability)) => Some(capability),
        _ => None,
    }
}

impl KernelPlace<'_> {
    /// The calls for one step, and what they will leave. No call where simpack itself has compiled it.
    pub(in crate::engine) fn calls(&self, step: &Step) -> Result<(Vec<Call>, Made)> {
        let Action::Kernel { compiler, source, args, .. } = &step.action else {
            return Err(Error::bug(format!("{} is no kernel step", step.id)));
        };
        // The list goes to the call's directory of temporary files.
        let list = temporary(self.work).join(LIST);
        let dir = self.work.join("made");
        fs_err::create_dir_all(&dir)?;
        let output = dir.join(cached_name(step));
        let named = fs::utf8(&list)?;
        let call = match compiler {
            KernelCompiler::Naga => {
                self.naga(source, args, &output)?;
                return Ok((Vec::new(), Made { dir, list: None }));
            }
            KernelCompiler::Nvcc => self.nvcc(step.cuda, source, args.iter().cloned())?.args(list_of_read(named)),
            KernelCompiler::Glslc => {
                self.shader(*compiler, source, self.root)?.args(args).args(["-c", "-MD", "-MF", named])
            }
            // It says which file it compiles, which is no news.
            KernelCompiler::Glslang => {
                self.shader(*compiler, source, self.root)?.args(args).args(["--quiet", "--depfile", named])
            }
            // When it lists what it reads, it does nothing else; with debug information it does not even that.
            KernelCompiler::Dxc => {
                let call = self.shader(*compiler, source, self.root)?;
                let listing = args.iter().filter(|arg| !arg.starts_with("-fspv-debug"));
                let lists = call.clone().args(listing).args(["-MF", named, source]);
                let compiles = call.args(args).args(["-Fo", fs::utf8(&output)?, source]);
                return Ok((vec![lists, compiles], Made { dir, list: Some(list) }));
            }
        };
        let call = call.args(["-o", fs::utf8(&output)?, source]);
        Ok((vec![call], Made { dir, list: Some(list) }))
    }

    /// One call for several steps. None unless all have in common what one call can take, and the call's directory
    /// has a name that compilers can write to.
    pub(in crate::engine) fn shared_call(&self, steps: &[&Step]) -> Result<Option<Call>> {
        let all: Vec<_> = steps.iter().filter_map(|step| shareable(step)).collect();
        let kept = self.kept();
        let Some(&common) = all.first() else { return Ok(None) };
        let are_alike = all.len() == steps.len() && all.iter().all(|other| *other == common);
        if !are_alike || !is_plain(fs::utf8(&kept)?) {
            return Ok(None);
        }
        fs_err::create_dir_all(&kept)?;
        match common {
            InCommon::Unit(cuda, source, flags) => {
                let all = steps.iter().filter_map(|step| machine_code(step));
                let codes = all.map(|one| format!("-gencode=arch={},code={}", one.compute(), one.sm()));
                let args = std::iter::once("-fatbin".to_owned()).chain(codes).chain(flags.iter().cloned());
                let call = self.nvcc(cuda, source, args)?.args(each_as_if_alone(&kept)?);
                let output = kept.join("all.fatbin");
                Ok(Some(call.args(["-o", fs::utf8(&output)?, source])))
            }
            InCommon::Arguments(args) => {
                // It names what it makes after the shaders' files, in its working directory.
                let names: BTreeSet<&str> = steps.iter().filter_map(|step| Some(source_of(step)?.1)).collect();
                if names.len() < steps.len() || !is_plain(fs::utf8(self.root)?) {
                    return Ok(None);
                }
                let below_root = |arg: &String| match arg.strip_prefix("-I") {
                    Some(dir) => Ok(format!("-I{}", fs::utf8(&self.root.join(dir))?)),
                    None => Ok(arg.clone()),
                };
                let args = args.iter().map(below_root).collect::<Result<Vec<_>>>()?;
                let call = self.shader(KernelCompiler::Glslc, "several shaders", &kept)?.args(args).args(["-c", "-MD"]);
                let sources = steps.iter().filter_map(|step| source_of(step)).map(|(path, _)| self.root.join(path));
                let sources = sources.map(|path| Ok(fs::utf8(&path)?.to_owned())).collect::<Result<Vec<_>>>()?;
                Ok(Some(call.args(sources)))
            }
        }
    }

    /// Directory in which a call for several steps keeps what it makes.
    fn kept(&self) -> PathBuf {
        self.work.join("kept")
    }

    /// What the call for several steps has left of one of them.
    pub(in crate::engine) fn made_by_shared_call(&self, step: &Step) -> Result<Made> {
        let bug = || Error::bug(format!("{} has shared a call", step.id));
        let (name, file, list) = match shareable(step).ok_or_else(bug)? {
            InCommon::Unit(_, source, _) => {
                let capability = machine_code(step).ok_or_else(bug)?;
                let named = |ending: &str| format!("{}.{}.{ending}", stem(source), capability.compute());
                (capability.sm(), named("cubin"), named("cpp1.d"))
            }
            InCommon::Arguments(_) => {
                let (_, name) = source_of(step).ok_or_else(bug)?;
                (format!("made-{name}"), format!("{name}.spv"), format!("{name}.spv.d"))
            }
        };
        let made = Made { dir: self.work.join(name), list: Some(self.kept().join(list)) };
        fs_err::create_dir(&made.dir)?;
        fs_err::rename(self.kept().join(file), made.dir.join(cached_name(step)))?;
        Ok(made)
    }

    /// nvcc for a unit. The working directory is the source root, so that no path of this machine is spelled in a
    /// command that could leave it in its output.
    fn nvcc(&self, cuda: Option<CudaVersion>, source: &str, args: impl Iterator<Item = String>) -> Result<Call> {
        let tools = self.tools;
        let compiler = tools.cuda(cuda).ok_or_else(|| Error::bug(format!("no nvcc to compile {source}")))?;
        let call = tools.call(&compiler.nvcc, self.work)?.dir(self.root).args(args);
        let call = call.args(["-ccbin", fs::utf8(&compiler.cxx)?]);
        let sandbox = self.options.isolation.sandbox(self.work, self.seen.iter().cloned(), [])?;
        Ok(call.args(same_source_path(source)).within(sandbox))
    }

    /// A compiler of GLSL and HLSL, called in a directory; as nvcc, in the source root for a shader alone.
    fn shader(&self, compiler: KernelCompiler, source: &str, dir: &Path) -> Result<Call> {
        let tools = self.tools;
        let program = tools.shaders.get(&compiler).ok_or_else(|| Error::bug(format!("no compiler for {source}")))?;
        let sandbox = self.options.isolation.sandbox(self.work, self.seen.iter().cloned(), [])?;
        Ok(tools.call(program, self.work)?.dir(dir).within(sandbox))
    }

    /// Makes a module of a shader in WGSL at `output`.
    fn naga(&self, source: &str, args: &[String], output: &Path) -> Result<()> {
        let text = fs::read_short(&self.root.join(source), LARGEST_WGSL as u64)?;
        if self.options.sources.get(source) != Some(&Digest::of(text.as_bytes())) {
            return Err(changed(source));
        }
        fs::write_renamed(output, &wgsl_module((source, &text), args)?)
    }

    /// The step with the key that the headers give it, when its file is made.
    ///
    /// # Errors
    /// It left other files than the one it declares; it read what is not in the source.
    pub(in crate::engine) fn finish(&self, step: &Step, made: &Made) -> Result<Step> {
        let name = cached_name(step);
        if let Some(other) = fs::walk(&made.dir)?.into_iter().find(|entry| entry.path != name) {
            return Err(Error::build(format!("{} leaves {}, which it does not declare", step.id, other.path))
                .detail(format!("declared: {name}"))
                .hint("look for a flag of the kernel group that keeps or writes files"));
        }
        let (Action::Kernel { source, .. }, Some(direct)) = (&step.action, step.direct) else {
            return Err(Error::bug(format!("{} is no kernel step", step.id)));
        };
        let BuildOptions { sources, isolation, headers, .. } = self.options;
        let place = HeaderContext { root: self.root, sources, isolation, store: headers };
        let (list, sought) = match &made.list {
            Some(list) => read_by(source, list, &place)?,
            None => read_alone(source, sources),
        };
        headers.record(direct, &list, &sought);
        Ok(step.clone().settled(&list))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recipe::ComponentKind;

    fn step(compiler: KernelCompiler, source: &str, target: &str, args: &[&str]) -> Step {
        let action = Action::Kernel {
            compiler,
            source: source.to_owned(),
            target: target.parse().unwrap(),
            variant: "default".to_owned(),
            args: args.iter().map(ToString::to_string).collect(),
            output: format!("lib/{target}/a.cubin"),
        };
        let (id, key, component) = (target.to_owned(), Digest::of(target.as_bytes()), ComponentKind::Kernels);
        Step { id, component, cuda: None, host: None, key, parts: Vec::new(), direct: None, action }
    }

    #[test]
    fn steps_of_one_unit_share_a_call_when_their_arguments_differ_in_the_target_alone() {
        let of = |source, target, args: &[&str]| {
            let step = step(KernelCompiler::Nvcc, source, target, args);
            match shareable(&step) {
                Some(InCommon::Unit(_, source, flags)) => Some((source.to_owned(), flags.to_vec())),
                other => {
                    assert_eq!(other, None);
                    None
                }
            }
        };
        let found = Some(("k/a.cu".to_owned(), vec!["-O3".to_owned()]));
        assert_eq!(of("k/a.cu", "sm_90a", &["-cubin", "-arch=sm_90a", "-O3"]), found);
        assert_eq!(of("k/a.cu", "sm_75", &["-cubin", "-arch=sm_75", "-O3"]), found);
        for (source, target, args) in [
            ("k/a.cu", "compute_75", ["-ptx", "-arch=compute_75", "-O3"]),
            ("k/a.cu", "sm_75", ["-cubin", "-arch=sm_75", "-G"]),
            ("k/a.cu", "sm_75", ["-cubin", "-arch=compute_75", "-O3"]),
            ("k/a b.cu", "sm_75", ["-cubin", "-arch=sm_75", "-O3"]),
        ] {
            assert_eq!(of(source, target, &args), None, "{source} {target} {args:?}");
        }
    }

    #[test]
    fn shaders_share_a_call_when_their_arguments_are_the_same() {
        let args = ["--target-env=vulkan1.2", "-Ishaders", "-DFIXED"];
        let of = |compiler, source, args: &[&str]| {
            let step = step(compiler, source, "vulkan1.2", args);
            shareable(&step)
                .map(|common| common == InCommon::Arguments(&args.iter().map(ToString::to_string).collect::<Vec<_>>()))
        };
        assert_eq!(of(KernelCompiler::Glslc, "s/a.comp", &args), Some(true));
        assert_eq!(of(KernelCompiler::Glslc, "s/a b.comp", &args), None);
        assert_eq!(of(KernelCompiler::Glslc, "s/a.comp", &[args[0], "-g"]), None);
        assert_eq!(of(KernelCompiler::Glslang, "s/a.comp", &args), None);
    }
}
