//! What WebGPU does not have and a recipe asks of it: other languages than WGSL, push constants.

use super::resolver::Resolver;
use crate::arch::KernelTarget;
use crate::recipe::diagnostic::{Diagnostic, Document, Spanned};
use crate::recipe::model::ShaderLanguage;
use crate::recipe::parse::table::DeclaredKernel;

/// What to do without.
const LEAVE_OUT: &str = "or leave `webgpu` out of `environments`";

/// Whether shaders are made for WebGPU, by the recipe or because somebody asks for it.
pub(super) fn is_for_webgpu(resolver: &Resolver<'_>) -> bool {
    let written = resolver.file.matrix.environments.iter().flat_map(|list| &list.value).map(|name| &name.value);
    let mut names = written.chain(resolver.selection.environments.iter().flatten());
    names.any(|name| name.parse() == Ok(KernelTarget::WebGpu))
}

/// A shader in a language that WebGPU does not take.
pub(super) fn not_in_wgsl(resolver: &Resolver<'_>, source: &Spanned<String>) -> Option<Diagnostic> {
    let language = match ShaderLanguage::of(&source.value)? {
        ShaderLanguage::Glsl => "GLSL",
        ShaderLanguage::Hlsl => "HLSL",
        ShaderLanguage::Wgsl => return None,
    };
    let message = format!("`{}` is {language}, and WebGPU takes WGSL alone", source.value);
    is_for_webgpu(resolver).then(|| resolver.mistake(source, message).hint("write it in WGSL").hint(LEAVE_OUT))
}

/// Kernels of a table with push constants.
pub(super) fn with_push_constants(
    resolver: &Resolver<'_>,
    document: &Document,
    kernels: &[DeclaredKernel],
) -> Vec<Diagnostic> {
    let first = kernels.iter().filter_map(|kernel| Some((kernel, kernel.params.first()?)));
    let mistake = |(kernel, param): (&DeclaredKernel, &Spanned<String>)| {
        let message = format!("`{}` is a push constant of `{}`, and WebGPU has none", param.value, kernel.name.value);
        let mistake = Diagnostic::at(document, param.span.clone(), message);
        mistake.hint("give it in a buffer: a structure at a binding of type \"uniform-buffer\"").hint(LEAVE_OUT)
    };
    first.filter(|_| is_for_webgpu(resolver)).map(mistake).collect()
}
