//! What glslang, alone and in shaderc, does not make of HLSL: it writes buffers as SPIR-V had them up to 1.3 (`BufferBlock`),
//! whatever it is told to write, and says nothing. DirectXShaderCompiler's dxc makes all; whether a machine has one, a
//! recipe does not know.

use super::diagnostic::Diagnostic;
use super::file::RecipeFile;
use super::model::Recipe;
use super::model::ShaderLanguage;
use crate::arch::KernelTarget;

/// Where to get what compiles it, and what to do without.
pub const WITHOUT_DXC: [&str; 2] = [
    "put DirectXShaderCompiler's `dxc` into PATH, which compiles HLSL for all versions of Vulkan",
    "or compile for vulkan1.1, which later devices take, too; or write it in GLSL or WGSL",
];

/// Whether glslang compiles HLSL for an environment.
fn is_beyond(target: KernelTarget) -> bool {
    target.is_shader() && target.spirv().is_some_and(|version| version > (1, 3))
}

/// What of a recipe dxc alone compiles: shader and environment.
pub fn needs_dxc(recipe: &Recipe) -> Option<(&str, KernelTarget)> {
    let mut sources = recipe.groups.iter().flat_map(|group| &group.sources);
    let source = sources.find(|source| ShaderLanguage::of(source) == Some(ShaderLanguage::Hlsl))?;
    recipe.targets.iter().copied().find(|target| is_beyond(*target)).map(|target| (source.as_str(), target))
}

/// The same as mistakes of a recipe, on a machine without dxc.
pub fn beyond_glslang(file: &RecipeFile) -> Vec<Diagnostic> {
    let environments = file.matrix.environments.iter().flat_map(|list| &list.value);
    let mut targets = environments.filter_map(|name| name.value.parse::<KernelTarget>().ok());
    let Some(beyond) = targets.find(|target| is_beyond(*target)) else { return Vec::new() };
    let sources = file.groups.values().flat_map(|group| &group.sources).flat_map(|sources| &sources.value);
    let in_hlsl = sources.filter(|source| ShaderLanguage::of(&source.value) == Some(ShaderLanguage::Hlsl));
    let mistake = |source: &super::Spanned<String>| {
        let message =
            format!("`{}` cannot be compiled for {beyond} here: it is HLSL, and there is no dxc", source.value);
        let mistake = Diagnostic::at(&file.document, source.span.clone(), message);
        WITHOUT_DXC.iter().fold(mistake, |mistake, hint| mistake.hint(*hint))
    };
    in_hlsl.map(mistake).collect()
}
