//! Kernel steps: one per translation unit x target x variant, keyed by the headers they include. Shaders are compiled
//! like kernels of CUDA, by a compiler of their own and for no CUDA release.

use std::collections::BTreeMap;

use serde::Serialize;

use super::headers::HeaderList;
use super::taken::TAKEN;
use super::{Action, DATA, KeyPart, PlanInputs, Step, kernel_dir, key_of};
use crate::arch::{CudaVersion, KernelAbiTag, KernelCompiler, KernelTarget};
use crate::bundle::ToolVersion;
use crate::error::{Error, Result};
use crate::fs::Digest;
use crate::recipe::{ComponentKind, DeviceCompiler, KernelGroup, Recipe, ShaderLanguage, VariantChoice};

/// Steps of all kernel groups for one CUDA release; of shaders all that there are.
pub(super) fn steps(recipe: &Recipe, inputs: &PlanInputs, tag: Option<&KernelAbiTag>) -> Result<Vec<Step>> {
    let mut steps = Vec::new();
    let none = BTreeMap::new();
    let tools = inputs.tools.get(&recipe.cuda).unwrap_or(&none);
    for group in &recipe.groups {
        if group.form.compiler() != DeviceCompiler::Steps {
            continue;
        }
        let tag = tag.ok_or_else(|| Error::bug("kernel groups without a kernel ABI tag"))?;
        for source in &group.sources {
            for variant in &group.variants {
                for &target in recipe.targets.iter().filter(|target| target.is_shader() != group.form.is_cuda()) {
                    let Some(compiler) = compiler_of(source, target, tools) else { continue };
                    let unit = Unit { group, source, variant, target, compiler };
                    steps.push(step(recipe, inputs, tag, &unit)?);
                }
            }
        }
    }
    steps.sort_by(|a, b| a.id.cmp(&b.id));
    Ok(steps)
}

/// What one step compiles.
struct Unit<'a> {
    group: &'a KernelGroup,
    source: &'a str,
    variant: &'a VariantChoice,
    target: KernelTarget,
    compiler: KernelCompiler,
}

/// What compiles a unit for a target; of two that do, the one among the tools. None for what nothing compiles.
fn compiler_of(source: &str, target: KernelTarget, tools: &BTreeMap<String, ToolVersion>) -> Option<KernelCompiler> {
    match target {
        KernelTarget::Sass(_) | KernelTarget::Ptx(_) => Some(KernelCompiler::Nvcc),
        KernelTarget::Vulkan(..) | KernelTarget::WebGpu if ShaderLanguage::of(source) == Some(ShaderLanguage::Wgsl) => {
            Some(KernelCompiler::Naga)
        }
        KernelTarget::Vulkan(..)
            if ShaderLanguage::of(source) == Some(ShaderLanguage::Hlsl)
                && tools.contains_key(KernelCompiler::Dxc.name()) =>
        {
            Some(KernelCompiler::Dxc)
        }
        KernelTarget::Vulkan(..) if tools.contains_key(KernelCompiler::Glslc.name()) => Some(KernelCompiler::Glslc),
        KernelTarget::Vulkan(..) => Some(KernelCompiler::Glslang),
        KernelTarget::Cpu | KernelTarget::Spirv(..) | KernelTarget::WebGpu => None,
    }
}

/// Names of a compiler's tools, as they enter keys.
fn tools_of(compiler: KernelCompiler) -> Vec<&'static str> {
    let of_host = (compiler == KernelCompiler::Nvcc).then_some("c++ of nvcc");
    std::iter::once(compiler.name()).chain(of_host).collect()
}

/// Arguments that choose language and target, and how the names of its files end.
fn target_args(compiler: KernelCompiler, source: &str, target: KernelTarget) -> (Vec<String>, &'static str) {
    let is_hlsl = ShaderLanguage::of(source) == Some(ShaderLanguage::Hlsl);
    let hlsl = |args: &[&str]| args.iter().filter(|_| is_hlsl).map(ToString::to_string).collect::<Vec<_>>();
    match (compiler, target) {
        (_, KernelTarget::Ptx(capability)) => {
            (vec!["-ptx".to_owned(), format!("-arch={}", capability.compute())], "ptx")
        }
        (_, KernelTarget::Sass(capability)) => {
            (vec!["-cubin".to_owned(), format!("-arch={}", capability.sm())], "cubin")
        }
        (KernelCompiler::Naga, KernelTarget::WebGpu) => (vec![target.to_string()], target.ending_of_shaders()),
        (KernelCompiler::Naga, other) => {
            let version = other.spirv().map(|(major, minor)| KernelTarget::Spirv(major, minor).to_string());
            (version.into_iter().collect(), "spv")
        }
        (KernelCompiler::Glslc, other) => {
            let args = std::iter::once(format!("--target-env={other}"));
            (args.chain(hlsl(&["-x", "hlsl", "-fshader-stage=compute"])).collect(), "spv")
        }
        (KernelCompiler::Dxc, other) => {
            let environment = format!("-fspv-target-env={other}");
            let args = ["-spirv", "-T", "cs_6_0", "-E", "main", &environment];
            (args.map(str::to_owned).to_vec(), "spv")
        }
        (_, other) => {
            let args = ["--target-env".to_owned(), other.to_string()].into_iter();
            (args.chain(hlsl(&["-D", "-S", "comp", "-e", "main"])).collect(), "spv")
        }
    }
}

/// The flags of recipes in the words of dxc. It optimises in any case: what it leaves undone without are variables that
/// nothing uses, at bindings that nobody declared.
fn flags_of_dxc(flags: &[&String]) -> Vec<String> {
    let others = flags.iter().filter(|flag| **flag != "-Os").map(|flag| match flag.as_str() {
        // `-Zi` puts its command line into the module, with the place of the output.
        "-g" => "-fspv-debug=line".to_owned(),
        other => other.to_owned(),
    });
    others.collect()
}

impl Unit<'_> {
    /// Arguments of its compiler, but for input and output, and the name of its file.
    fn arguments(&self) -> (Vec<String>, String) {
        let Self { group, source, variant, target, compiler } = *self;
        let (mut args, ending) = target_args(compiler, source, target);
        let flags: Vec<&String> = group.flags.iter().chain(&variant.flags).collect();
        match compiler {
            KernelCompiler::Dxc => args.extend(flags_of_dxc(&flags)),
            _ => args.extend(flags.into_iter().cloned()),
        }
        // Of WGSL, which has no macros, they are the values of constants that a pipeline may override.
        let option = if compiler == KernelCompiler::Naga { "" } else { "-D" };
        args.extend(variant.define.iter().map(|define| format!("{option}{define}")));
        for when in group.when.iter().filter(|when| target.capability().is_some_and(|it| when.applies(it))) {
            args.extend(when.flags.iter().cloned());
            args.extend(when.define.iter().map(|define| format!("-D{define}")));
        }
        let file = source.rsplit('/').next().unwrap_or(source);
        let stem = file.rsplit_once('.').map_or(file, |(stem, _)| stem);
        (args, format!("{stem}.{ending}"))
    }
}

/// Arguments of nvcc for a unit of a group, but for input and output, and the name of the file that it makes.
pub fn nvcc_arguments(
    group: &KernelGroup,
    source: &str,
    variant: &VariantChoice,
    target: KernelTarget,
) -> (Vec<String>, String) {
    Unit { group, source, variant, target, compiler: KernelCompiler::Nvcc }.arguments()
}

/// What a compiler of shaders is called with for one of them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ShaderCall {
    /// Shader, relative to the source.
    pub source: String,
    /// Arguments, but for those that name the files.
    pub args: Vec<String>,
    /// Module that it makes, relative to the prefix.
    pub output: String,
}

/// The calls of glslc that make all shaders of a recipe but those in WGSL, as its build makes them.
pub fn glslc_calls(recipe: &Recipe) -> Vec<ShaderCall> {
    shader_calls(recipe, KernelCompiler::Glslc)
}

/// What simpack itself makes its shaders in WGSL with.
pub fn wgsl_calls(recipe: &Recipe) -> Vec<ShaderCall> {
    shader_calls(recipe, KernelCompiler::Naga)
}

fn shader_calls(recipe: &Recipe, compiler: KernelCompiler) -> Vec<ShaderCall> {
    let Some(tag) = recipe.kernel_abi_tag() else { return Vec::new() };
    let mut calls = Vec::new();
    for group in recipe.groups.iter().filter(|group| !group.form.is_cuda()) {
        let is_its = |source: &&String| {
            (ShaderLanguage::of(source) == Some(ShaderLanguage::Wgsl)) == (compiler == KernelCompiler::Naga)
        };
        for source in group.sources.iter().filter(is_its) {
            for variant in &group.variants {
                for &target in recipe.targets.iter().filter(|target| target.is_shader()) {
                    let unit = Unit { group, source, variant, target, compiler };
                    let (args, name) = unit.arguments();
                    let output = format!("{}/{name}", kernel_dir(recipe, &tag, &variant.name, target));
                    calls.push(ShaderCall { source: source.clone(), args, output });
                }
            }
        }
    }
    calls
}

fn step(recipe: &Recipe, inputs: &PlanInputs, tag: &KernelAbiTag, unit: &Unit<'_>) -> Result<Step> {
    let Unit { group, source, variant, target, compiler } = *unit;
    let (args, name) = unit.arguments();
    let output = format!("{}/{name}", kernel_dir(recipe, tag, &variant.name, target));

    let mut parts = vec![KeyPart::new("simpack", env!("CARGO_PKG_VERSION")), KeyPart::new("action", "kernel 4")];
    parts.extend(data_part(inputs, recipe.cuda));
    for name in tools_of(compiler) {
        parts.push(tool_part(inputs, recipe.cuda, name)?);
    }
    parts.extend(args.iter().enumerate().map(|(index, arg)| KeyPart::new(format!("argument {index}"), arg)));
    let digest = inputs.sources.get(source).ok_or_else(|| missing(group, source))?;
    parts.push(KeyPart::new(format!("file {source}"), digest));
    let direct = key_of(&parts);
    parts.push(KeyPart::new(HEADERS, "known after the first compilation"));
    Ok(Step {
        id: format!("{source} {target} ({})", variant.name),
        component: ComponentKind::Kernels,
        cuda: (compiler == KernelCompiler::Nvcc).then_some(recipe.cuda),
        host: None,
        key: key_of(&parts),
        parts,
        direct: Some(direct),
        action: Action::Kernel {
            compiler,
            source: source.to_owned(),
            target,
            variant: variant.name.clone(),
            args,
            output,
        },
    })
}

/// Part of a key that waits for a list of headers.
const HEADERS: &str = "headers";

impl Step {
    /// Whether its key is final. That of a translation unit that was not compiled yet waits for the
    /// compiler to say which headers it includes, and that of what takes of it waits, too; nothing is ever found under
    /// such a key.
    pub fn is_settled(&self) -> bool {
        self.parts.last().is_none_or(|part| part.name != HEADERS && part.name != TAKEN)
    }

    /// Files that it declares to read, below the source root, with their digests.
    pub fn inputs(&self) -> impl Iterator<Item = (&str, Digest)> {
        let files = self.parts.iter().filter_map(|part| Some((part.name.strip_prefix("file ")?, &part.value)));
        files.filter_map(|(path, digest)| Some((path, digest.parse().ok()?)))
    }

    /// Directories of the source that hold nothing, and that it declares to read.
    pub fn empty_directories(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().filter_map(KeyPart::directory)
    }

    /// The step with the key that a compilation's list gives it.
    #[must_use]
    pub fn settled(mut self, list: &HeaderList) -> Self {
        self.settle(list);
        self
    }

    /// Gives the step the key that follows from a compilation's list.
    pub(super) fn settle(&mut self, list: &HeaderList) {
        let Action::Kernel { source, .. } = &self.action else { return };
        self.parts.retain(|part| part.name != HEADERS);
        let included = list.read.iter().filter(|(path, _)| *path != source);
        self.parts.extend(included.map(|(path, digest)| KeyPart::new(format!("header {path}"), digest)));
        self.key = key_of(&self.parts);
    }
}

fn missing(group: &KernelGroup, path: &str) -> Error {
    Error::recipe(format!("kernel group `{}` names {path}, which the source does not hold", group.name))
}

/// The user's manifests and templates as a key part, where there are any.
pub(super) fn data_part(inputs: &PlanInputs, cuda: CudaVersion) -> Option<KeyPart> {
    tool_part(inputs, cuda, DATA).ok()
}

/// A tool of a release as a key part: its version and, when it is pinned, its digest.
pub(super) fn tool_part(inputs: &PlanInputs, cuda: CudaVersion, name: &str) -> Result<KeyPart> {
    let tool = inputs
        .tools
        .get(&cuda)
        .and_then(|tools| tools.get(name))
        .ok_or_else(|| Error::bug(format!("no tool `{name}` in the plan's inputs")))?;
    let digest = tool.sha256.map(|digest| format!(" {digest}")).unwrap_or_default();
    Ok(KeyPart::new(format!("tool {name}"), format!("{}{digest}", tool.version)))
}
