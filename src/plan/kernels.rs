//! Kernel steps: one per translation unit x target x variant, keyed by the headers they include. Shaders are compiled
//! like kernels of CUDA, by a compiler of their own and for no CUDA release.

use super::headers::HeaderList;
use super::{Action, DATA, KeyPart, PlanInputs, Step, kernel_dir, key_of};
use crate::arch::{CudaVersion, KernelAbiTag, KernelTarget};
use crate::error::{Error, Result};
use crate::fs::Digest;
use crate::recipe::{ComponentKind, DeviceCompiler, KernelGroup, Recipe, VariantChoice};

/// Name among the tools of the compiler of shaders in GLSL.
pub const GLSL_COMPILER: &str = "glslang";

/// Steps of all kernel groups for one CUDA release; of shaders all that there are.
pub(super) fn steps(recipe: &Recipe, inputs: &PlanInputs, tag: Option<&KernelAbiTag>) -> Result<Vec<Step>> {
    let mut steps = Vec::new();
    for group in &recipe.groups {
        if group.form.compiler() != DeviceCompiler::Steps {
            continue;
        }
        let tag = tag.ok_or_else(|| Error::bug("kernel groups without a kernel ABI tag"))?;
        for source in &group.sources {
            for variant in &group.variants {
                for &target in &recipe.targets {
                    let Some(compiler) = Compiler::of(target) else { continue };
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
    compiler: Compiler,
}

/// What compiles for a target.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Compiler {
    Nvcc,
    Glsl,
}

impl Compiler {
    fn of(target: KernelTarget) -> Option<Self> {
        match target {
            KernelTarget::Sass(_) | KernelTarget::Ptx(_) => Some(Self::Nvcc),
            KernelTarget::Vulkan(..) => Some(Self::Glsl),
            KernelTarget::Cpu | KernelTarget::Spirv(..) => None,
        }
    }

    /// Names of its tools, as they enter keys.
    fn tools(self) -> &'static [&'static str] {
        match self {
            Self::Nvcc => &["nvcc", "c++ of nvcc"],
            Self::Glsl => &[GLSL_COMPILER],
        }
    }

    /// Arguments that choose a target, and how the names of its files end.
    fn target(target: KernelTarget) -> (Vec<String>, &'static str) {
        match target {
            KernelTarget::Ptx(capability) => {
                (vec!["-ptx".to_owned(), format!("-arch={}", capability.compute())], "ptx")
            }
            KernelTarget::Sass(capability) => {
                (vec!["-cubin".to_owned(), format!("-arch={}", capability.sm())], "cubin")
            }
            other => (vec!["--target-env".to_owned(), other.to_string()], "spv"),
        }
    }
}

fn step(recipe: &Recipe, inputs: &PlanInputs, tag: &KernelAbiTag, unit: &Unit<'_>) -> Result<Step> {
    let Unit { group, source, variant, target, compiler } = *unit;
    let (mut args, ending) = Compiler::target(target);
    args.extend(group.flags.iter().cloned());
    args.extend(variant.flags.iter().cloned());
    args.extend(variant.define.iter().map(|define| format!("-D{define}")));
    for when in group.when.iter().filter(|when| target.capability().is_some_and(|it| when.applies(it))) {
        args.extend(when.flags.iter().cloned());
        args.extend(when.define.iter().map(|define| format!("-D{define}")));
    }
    let file = source.rsplit('/').next().unwrap_or(source);
    let stem = file.rsplit_once('.').map_or(file, |(stem, _)| stem);
    let output = format!("{}/{stem}.{ending}", kernel_dir(recipe, tag, &variant.name, target));

    let mut parts = vec![KeyPart::new("simpack", env!("CARGO_PKG_VERSION")), KeyPart::new("action", "kernel 4")];
    parts.extend(data_part(inputs, recipe.cuda));
    for name in compiler.tools() {
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
        cuda: (compiler == Compiler::Nvcc).then_some(recipe.cuda),
        host: None,
        key: key_of(&parts),
        parts,
        direct: Some(direct),
        action: Action::Kernel { source: source.to_owned(), target, variant: variant.name.clone(), args, output },
    })
}

/// Part of a key that waits for a list of headers.
const HEADERS: &str = "headers";

impl Step {
    /// Whether its key is final. That of a translation unit that was not compiled yet waits for the
    /// compiler to say which headers it includes; nothing is ever found under such a key.
    pub fn is_settled(&self) -> bool {
        self.parts.last().is_none_or(|part| part.name != HEADERS)
    }

    /// Files that it declares to read, below the source root, with their digests.
    pub fn inputs(&self) -> impl Iterator<Item = (&str, Digest)> {
        let files = self.parts.iter().filter_map(|part| Some((part.name.strip_prefix("file ")?, &part.value)));
        files.filter_map(|(path, digest)| Some((path, digest.parse().ok()?)))
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
