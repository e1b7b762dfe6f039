//! Shaders that the build of core puts into core: what has to be said together.

use super::kernels::{embeds, form_of};
use super::resolver::Resolver;
use crate::recipe::diagnostic::Spanned;
use crate::recipe::file::{ComponentTable, OptionValue};
use crate::recipe::model::ComponentKind;
use crate::recipe::parse::words::placeholders;

/// Stands in options for the directory with the modules.
const SHADERS: &str = "shaders";

/// Notes what contradicts itself: groups that embed beside groups that ship, a build that is not given what it is to embed,
/// one that asks for what there is not.
pub(super) fn embedded(resolver: &mut Resolver<'_>) {
    let file = resolver.file;
    let mut shaders = file.groups.iter().filter(|(_, group)| !form_of(group).is_cuda());
    let embedding = shaders.clone().find(|(_, group)| embeds(group));
    let mut wrong = Vec::new();
    for (kind, table) in &file.components {
        for option in asking(table) {
            let (what, hint) = match (embedding, kind) {
                (_, ComponentKind::Core) if embedding.is_some() => continue,
                (_, ComponentKind::Core) => (
                    "`{shaders}` is known where the build of core embeds them",
                    "write `embed = true` in the kernel group; shaders that ship lie in the directory of `{kernel-abi}`",
                ),
                _ => ("`{shaders}` is known to the build of component `core` alone", "embed the shaders in core"),
            };
            wrong.push(resolver.mistake(option, what).hint(hint));
        }
    }
    if let Some((name, group)) = embedding {
        if let Some((other, ships)) = shaders.find(|(_, group)| !embeds(group)) {
            let place = Spanned { value: (), span: ships.span.clone() };
            let message = format!("the shaders of `{other}` ship, and those of `{name}` are embedded");
            wrong.push(resolver.mistake(&place, message).hint("let all groups of shaders say `embed = true`, or none"));
        }
        let core = file.components.get(&ComponentKind::Core);
        if let Some(at) = group.embed.as_ref().filter(|_| core.is_none_or(|core| asking(core).is_empty())) {
            let message = format!("nothing gives the shaders of `{name}` to the build of core");
            wrong.push(resolver.mistake(at, message).hint(
                "say `{shaders}` in an option of that build: the directory in which they lie as VARIANT/ENVIRONMENT/KERNEL.spv",
            ));
        }
        let kernels = file.components.get(&ComponentKind::Kernels).filter(|_| file.groups.values().all(embeds));
        if let Some(kernels) = kernels {
            let place = Spanned { value: (), span: kernels.span.clone() };
            let mistake =
                resolver.mistake(&place, "component `kernels` holds nothing: all shaders are embedded in core");
            wrong.push(mistake.hint("leave it out"));
        }
    }
    resolver.mistakes.extend(wrong);
}

/// Options of a component's builds that stand for the shaders.
fn asking(component: &ComponentTable) -> Vec<&Spanned<OptionValue>> {
    let of_build = component.build.iter().flat_map(|build| build.options.values());
    let of_variants = component.variants.iter().flat_map(|(_, values)| values).flat_map(|one| one.options.values());
    let asks = |option: &&Spanned<OptionValue>| match &option.value {
        OptionValue::Text(text) => placeholders(text).contains(&SHADERS),
        OptionValue::Switch(_) => false,
    };
    of_build.chain(of_variants).filter(asks).collect()
}
