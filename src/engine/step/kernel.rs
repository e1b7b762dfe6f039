//! Kernel steps: one compiler call makes the file of one step, or those of several steps of a unit; and the headers
//! that each was made of.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::cached_name;
use super::headers::{HeaderContext, read_by};
use super::nvcc::{LIST, are_alike, each_as_if_alone, is_plain, list_of_read, same_source_path, stem};
use super::toolset::{Toolset, temporary};
use crate::arch::{Capability, CudaVersion, KernelTarget};
use crate::engine::run::BuildOptions;
use crate::error::{Error, Result};
use crate::fs;
use crate::plan::{Action, Step};
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
    /// The preprocessor's list of what it read.
    list: PathBuf,
}

/// What steps have in common that one call can take: CUDA release, unit, and arguments behind that for the target.
pub(in crate::engine) type InCommon<'a> = (Option<CudaVersion>, &'a str, &'a [String]);

/// What a step has in common with those that one call can take, and for which capability it is. None for a step that
/// needs a call of its own.
pub(in crate::engine) fn shareable(step: &Step) -> Option<(InCommon<'_>, Capability)> {
    let Action::Kernel { source, target: KernelTarget::Sass(capability), args, .. } = &step.action else { return None };
    let [mode, arch, flags @ ..] = args.as_slice() else { return None };
    let is_known = mode == "-cubin" && *arch == format!("-arch={}", capability.sm());
    (is_known && is_plain(source) && are_alike(flags)).then_some(((step.cuda, source, flags), *capability))
}

impl KernelPlace<'_> {
    /// The call for one step, and what it will leave.
    pub(in crate::engine) fn call(&self, step: &Step) -> Result<(Call, Made)> {
        let Action::Kernel { source, args, .. } = &step.action else {
            return Err(Error::bug(format!("{} is no kernel step", step.id)));
        };
        // The list goes to the call's directory of temporary files.
        let made = Made { dir: self.work.join("made"), list: temporary(self.work).join(LIST) };
        fs_err::create_dir_all(&made.dir)?;
        let output = made.dir.join(cached_name(step));
        if step.target().is_some_and(KernelTarget::is_shader) {
            let call = self.glslang(source, args)?.args(["--depfile", fs::utf8(&made.list)?]);
            return Ok((call.args(["-o", fs::utf8(&output)?, source]), made));
        }
        let call = self.nvcc(step.cuda, source, args.iter().cloned())?.args(list_of_read(fs::utf8(&made.list)?));
        Ok((call.args(["-o", fs::utf8(&output)?, source]), made))
    }

    /// One call for several steps. None unless all have in common what one call can take, and the call's directory
    /// has a name that nvcc can write to.
    pub(in crate::engine) fn shared_call(&self, steps: &[&Step]) -> Result<Option<Call>> {
        let all: Vec<_> = steps.iter().filter_map(|step| shareable(step)).collect();
        let kept = self.kept();
        let Some((common @ (cuda, source, flags), _)) = all.first().copied() else { return Ok(None) };
        let are_alike = all.len() == steps.len() && all.iter().all(|(other, _)| *other == common);
        if !are_alike || !is_plain(fs::utf8(&kept)?) {
            return Ok(None);
        }
        fs_err::create_dir_all(&kept)?;
        let codes = all.iter().map(|(_, one)| format!("-gencode=arch={},code={}", one.compute(), one.sm()));
        let args = std::iter::once("-fatbin".to_owned()).chain(codes).chain(flags.iter().cloned());
        let call = self.nvcc(cuda, source, args)?.args(each_as_if_alone(&kept)?);
        let output = kept.join("all.fatbin");
        Ok(Some(call.args(["-o", fs::utf8(&output)?, source])))
    }

    /// Directory in which a call for several steps keeps what it makes.
    fn kept(&self) -> PathBuf {
        self.work.join("kept")
    }

    /// What the call for several steps has left of one of them.
    pub(in crate::engine) fn made_by_shared_call(&self, step: &Step) -> Result<Made> {
        let ((_, source, _), capability) =
            shareable(step).ok_or_else(|| Error::bug(format!("{} has shared a call", step.id)))?;
        let named = |ending: &str| self.kept().join(format!("{}.{}.{ending}", stem(source), capability.compute()));
        let made = Made { dir: self.work.join(capability.sm()), list: named("cpp1.d") };
        fs_err::create_dir(&made.dir)?;
        fs_err::rename(named("cubin"), made.dir.join(cached_name(step)))?;
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

    /// glslang for a shader, in the source root as nvcc is. It says which file it compiles, which is no news.
    fn glslang(&self, source: &str, args: &[String]) -> Result<Call> {
        let tools = self.tools;
        let program = tools.glsl.as_ref().ok_or_else(|| Error::bug(format!("no glslang to compile {source}")))?;
        let sandbox = self.options.isolation.sandbox(self.work, self.seen.iter().cloned(), [])?;
        Ok(tools.call(program, self.work)?.dir(self.root).args(args).args(["--quiet"]).within(sandbox))
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
        let (list, sought) = read_by(source, &made.list, &place)?;
        headers.record(direct, &list, &sought);
        Ok(step.clone().settled(&list))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fs::Digest;
    use crate::recipe::ComponentKind;

    fn step(source: &str, target: &str, args: &[&str]) -> Step {
        let action = Action::Kernel {
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
            let step = step(source, target, args);
            shareable(&step).map(|((_, source, flags), one)| (source.to_owned(), flags.to_vec(), one.sm()))
        };
        let (source, flags) = ("k/a.cu".to_owned(), vec!["-O3".to_owned()]);
        let found = of("k/a.cu", "sm_90a", &["-cubin", "-arch=sm_90a", "-O3"]);
        assert_eq!(found, Some((source.clone(), flags.clone(), "sm_90a".to_owned())));
        let found = of("k/a.cu", "sm_75", &["-cubin", "-arch=sm_75", "-O3"]);
        assert_eq!(found, Some((source, flags, "sm_75".to_owned())));
        for (source, target, args) in [
            ("k/a.cu", "compute_75", ["-ptx", "-arch=compute_75", "-O3"]),
            ("k/a.cu", "sm_75", ["-cubin", "-arch=sm_75", "-G"]),
            ("k/a.cu", "sm_75", ["-cubin", "-arch=compute_75", "-O3"]),
            ("k/a b.cu", "sm_75", ["-cubin", "-arch=sm_75", "-O3"]),
        ] {
            assert_eq!(of(source, target, &args), None, "{source} {target} {args:?}");
        }
    }
}
