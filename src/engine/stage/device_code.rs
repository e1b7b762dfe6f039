//! Device code of the bundles: its place, its lists, and what core embeds of it.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::inputs::StageInputs;
use super::place::{artifacts, place};
use super::steps::steps_of;
use crate::arch::{CudaVersion, KernelCompiler, KernelTarget};
use crate::bundle::{
    Artifact, ArtifactKind, Bundle, EmbeddedModule, EmbeddedShaders, KERNELS_LIST, KERNELS_SCHEMA, KernelsList,
    ToolVersion,
};
use crate::engine::step::cached_name;
use crate::error::{Error, Result};
use crate::fs::Tree;
use crate::gpu::{KernelSignature, ShaderNeeds};
use crate::plan::{Action, kernel_dir};
use crate::recipe::{Recipe, UNNAMED_VARIANT};

/// A list of device code before its files have their last bytes.
#[derive(Debug)]
pub struct PendingList {
    /// Directory of the bundle.
    pub(super) dir: String,
    /// All but the files.
    pub(super) list: KernelsList,
}

/// Lays out the modules of a target; answers the lists of its directories, and what was installed and is no module.
pub(super) fn stage_kernels(
    inputs: &StageInputs<'_>,
    cuda: Option<CudaVersion>,
    target: KernelTarget,
    bundle: &Bundle,
) -> Result<(Vec<PendingList>, Vec<String>)> {
    let recipe = inputs.recipes.of(cuda);
    let mut variants: Vec<&str> = Vec::new();
    let mut others = Vec::new();
    let Some(tag) = &inputs.plan.kernel_abi else { return Ok((Vec::new(), others)) };
    for step in steps_of(inputs.plan, cuda, target) {
        let Some(entry) = inputs.outcome.entries.get(&step.id) else { continue };
        match &step.action {
            Action::Kernel { output, variant, .. } => {
                place(entry, cached_name(step), bundle, output)?;
                variants.push(variant);
            }
            Action::Generate { .. } | Action::Structures { .. } => {}
            Action::Host { .. } => {
                let (variant, name) = (UNNAMED_VARIANT, recipe.plugin(target));
                let installed = format!("lib/{name}");
                if !entry.artifacts.iter().any(|artifact| artifact.path == installed) {
                    return Err(Error::build(format!("{} installs no {installed}", step.id))
                        .hint("name the library by `{target}` in the options of the build of component `kernels`"));
                }
                let dir = kernel_dir(recipe, tag, variant, target);
                place(entry, &installed, bundle, &format!("{dir}/{name}"))?;
                others.extend(entry.artifacts.iter().map(|file| file.path.clone()).filter(|path| *path != installed));
                variants.push(variant);
            }
        }
    }
    variants.sort_unstable();
    variants.dedup();
    let kernels = kernels_of(recipe, target.is_shader());
    let mut lists = Vec::new();
    for variant in variants {
        let dir = kernel_dir(recipe, tag, variant, target);
        let list = KernelsList {
            schema: KERNELS_SCHEMA,
            kernel_abi: tag.clone(),
            target,
            cuda,
            variant: variant.to_owned(),
            modules: Vec::new(),
            kernels: kernels.clone(),
            compilers: compilers(inputs.plan.tools_of(cuda), target),
        };
        lists.push(PendingList { dir, list });
    }
    Ok((lists, others))
}

pub(super) fn write_list(bundle: &Bundle, dir: &str, list: &KernelsList) -> Result<()> {
    let mut text =
        serde_json::to_vec_pretty(list).map_err(|error| Error::bug("a list does not print as JSON").because(error))?;
    text.push(b'\n');
    Tree::at(&bundle.root)?.write(&format!("{dir}/{KERNELS_LIST}"), &text)
}

/// The tools that compile for a target, with their versions.
pub(super) fn compilers(tools: &BTreeMap<String, ToolVersion>, target: KernelTarget) -> BTreeMap<String, String> {
    let is_its = |name: &str| match target.is_shader() {
        true => KernelCompiler::OF_SHADERS.iter().any(|compiler| compiler.name() == name),
        false => name.contains("nvcc") || name.contains("nvvm"),
    };
    let kernel_tools = tools.iter().filter(|(name, _)| is_its(name));
    kernel_tools.map(|(name, tool)| (name.clone(), tool.version.clone())).collect()
}

/// What the build of core was given of shaders: their bundles are there to be examined, and are not packed.
pub(super) fn embedded(
    inputs: &StageInputs<'_>,
    bundles: &[Bundle],
    lists: &BTreeMap<PathBuf, Vec<PendingList>>,
) -> Result<Vec<EmbeddedShaders>> {
    let mut found = Vec::new();
    for bundle in bundles {
        let target = bundle.manifest.target.filter(|target| inputs.recipes.own().is_embedded(*target));
        let (Some(target), Some(lists)) = (target, lists.get(&bundle.root)) else { continue };
        let mut shaders = EmbeddedShaders { target, needs: BTreeMap::new(), modules: Vec::new() };
        for PendingList { dir, list } in lists {
            let modules = artifacts(bundle, dir)?;
            shaders.needs.insert(list.variant.clone(), needs(bundle, dir, &modules)?);
            shaders.modules.extend(modules.into_iter().filter_map(|module| {
                let ArtifactKind::File { sha256, size, .. } = module.kind else { return None };
                let kernel = module.path.split('.').next().unwrap_or_default().to_owned();
                Some(EmbeddedModule { kernel, variant: list.variant.clone(), size, sha256 })
            }));
        }
        found.push(shaders);
    }
    Ok(found)
}

/// Declared kernels, sorted by name: of shaders, or of CUDA.
pub(super) fn kernels_of(recipe: &Recipe, shaders: bool) -> Vec<KernelSignature> {
    let mut kernels = recipe.kernels();
    kernels.retain(|kernel| kernel.shader == shaders);
    kernels
}

/// What the shaders of a directory need of a device.
pub(super) fn needs(bundle: &Bundle, dir: &str, modules: &[Artifact]) -> Result<ShaderNeeds> {
    modules.iter().try_fold(ShaderNeeds::default(), |all, module| {
        let code = bundle.device_code_of(&format!("{dir}/{}", module.path))?;
        let found = code.images.iter().filter_map(|image| image.spirv.as_ref()).map(ShaderNeeds::of);
        Ok(found.fold(all, ShaderNeeds::with))
    })
}
