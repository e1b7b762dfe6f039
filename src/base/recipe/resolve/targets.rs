//! The matrix: which CUDA release builds, for which capabilities and PTX; or for which versions of Vulkan.

use std::path::Path;

use super::kernels::{embeds, form_of};
use super::resolver::Resolver;
use crate::arch::{Capability, CudaVersion, KernelTarget, Suffix};
use crate::manifest::Unsupported;
use crate::recipe::diagnostic::{Diagnostic, Spanned};
use crate::recipe::file::{OptionValue, RecipeFile};
use crate::recipe::model::{ComponentKind, CudaToolchain};
use crate::recipe::parse::words::placeholders;

/// The release that builds: asked for, the toolchain's, or the first of the matrix.
pub(in crate::recipe) fn cuda(resolver: &mut Resolver<'_>) -> Option<CudaVersion> {
    let file = resolver.file;
    let toolkits = resolver.manifests.cuda.toolkits();
    let listed = file.matrix.cuda.as_deref().unwrap_or_default();
    for release in listed.iter().chain(&file.toolchain.cuda) {
        if !toolkits.contains(&release.value) {
            let mistake = unknown_release(resolver, Some(release), release.value);
            resolver.mistakes.push(mistake);
        }
    }
    if let Some(release) = &file.toolchain.cuda
        && !listed.is_empty()
        && !listed.iter().any(|item| item.value == release.value)
    {
        let mistake = resolver
            .mistake(release, format!("the toolchain's CUDA {} is not in the matrix", release.value))
            .known("`cuda` in [matrix]", listed.iter().map(|item| item.value));
        resolver.mistakes.push(mistake);
    }
    for (release, _) in &file.matrix.releases {
        if !listed.iter().any(|item| item.value == release.value) {
            let mistake = resolver
                .mistake(release, format!("CUDA {} is not in the matrix", release.value))
                .known("`cuda` in [matrix]", listed.iter().map(|item| item.value));
            resolver.mistakes.push(mistake);
        }
    }
    if resolver.release.is_some() {
        return resolver.release;
    }
    if let Some(asked) = resolver.selection.cuda {
        if !toolkits.contains(&asked) {
            let mistake = unknown_release(resolver, None, asked);
            resolver.mistakes.push(mistake);
            return None;
        }
        return Some(asked);
    }
    let named: Vec<CudaVersion> = file.toolchain.cuda.iter().chain(listed).map(|release| release.value).collect();
    if !named.is_empty() || file.matrix.cuda.is_some() {
        // With an unknown one among them nothing is resolved, but the rest is still looked at with a known one.
        let found = named.into_iter().find(|release| toolkits.contains(release));
        if found.is_none() {
            unknown_in_all(resolver);
        }
        return found;
    }
    if !asks_for_cuda(resolver) {
        // Nothing that is built, packed or locked follows from it.
        return toolkits.last().copied();
    }
    let place = Spanned { value: (), span: file.matrix.span.clone() };
    let mistake = resolver.mistake(&place, "no CUDA release is named").hint("add `cuda = [\"13.0\"]` to [matrix]");
    resolver.mistakes.push(mistake);
    None
}

/// Whether anything of the recipe follows from the CUDA release: device code, runtime compilation, a vendor's library, an
/// option of a build, capabilities.
fn asks_for_cuda(resolver: &Resolver<'_>) -> bool {
    let file = resolver.file;
    let (matrix, components) = (&file.matrix, || file.components.values());
    let names_it = |option: &Spanned<OptionValue>| match &option.value {
        OptionValue::Text(text) => placeholders(text).iter().any(|word| word.starts_with("cuda")),
        OptionValue::Switch(_) => false,
    };
    let of_variants = components().flat_map(|component| &component.variants).flat_map(|(_, values)| values);
    let of_builds =
        components().filter_map(|component| component.build.as_ref()).flat_map(|build| build.options.values());
    let mut options = of_variants.flat_map(|value| value.options.values()).chain(of_builds);
    (!file.groups.is_empty() && !is_of_shaders(file))
        || file.components.contains_key(&ComponentKind::Rtc)
        || (!is_of_shaders(file) && (matrix.capabilities.is_some() || matrix.ptx.is_some()))
        || components().flat_map(|component| &component.uses).any(|used| !used.value.verbatim)
        || options.any(names_it)
}

/// A mistake at a place of the recipe, or in what was asked for.
fn placed<T>(resolver: &Resolver<'_>, at: Option<&Spanned<T>>, message: String) -> Diagnostic {
    match at {
        Some(at) => resolver.mistake(at, message),
        None => Diagnostic::asked(message),
    }
}

fn unknown_release(resolver: &Resolver<'_>, at: Option<&Spanned<CudaVersion>>, release: CudaVersion) -> Diagnostic {
    let toolkits = resolver.manifests.cuda.toolkits();
    placed(resolver, at, format!("unknown CUDA release `{release}`"))
        .known("known", &toolkits)
        .near(&release.to_string(), &toolkits)
}

/// Notes capabilities that no release has, when no release is known to resolve with.
fn unknown_in_all(resolver: &mut Resolver<'_>) {
    let matrix = &resolver.file.matrix;
    let Some(&newest) = resolver.manifests.cuda.toolkits().last() else { return };
    let sass = matrix.capabilities.iter().flat_map(|list| &list.value);
    for item in sass.chain(matrix.ptx.iter().flatten()) {
        if let Err(why @ (Unsupported::Unknown | Unsupported::NoVariant)) =
            resolver.manifests.capabilities.check(item.value, newest)
        {
            let mistake = unsupported(resolver, Some(item), item.value, newest, why);
            resolver.mistakes.push(mistake);
        }
    }
}

/// Whether its device code is shaders and nothing else.
fn is_of_shaders(file: &RecipeFile) -> bool {
    has_shaders(file) && file.groups.values().all(|group| !form_of(group).is_cuda())
}

fn has_shaders(file: &RecipeFile) -> bool {
    file.groups.values().any(|group| !form_of(group).is_cuda())
}

/// Versions of Vulkan, ascending, then WebGPU.
fn environments(resolver: &mut Resolver<'_>) -> Option<Vec<KernelTarget>> {
    let matrix = &resolver.file.matrix;
    let of_capabilities = matrix.capabilities.as_ref().map(|list| ("capabilities", list.span.clone()));
    let of_ptx = matrix.ptx.as_ref().map(|list| {
        let span = list.first().map_or_else(|| matrix.span.clone(), |first| first.span.clone());
        ("ptx", span)
    });
    let is_alone = is_of_shaders(resolver.file);
    for (key, span) in [of_capabilities, of_ptx].into_iter().flatten().filter(|_| is_alone) {
        let place = Spanned { value: (), span };
        let mistake = resolver.mistake(&place, format!("`{key}` cannot be combined with form = \"spirv\""));
        resolver.mistakes.push(mistake.hint("shaders are compiled for `environments`, not for capabilities"));
    }
    let asks = |list: &Option<Vec<Capability>>| list.as_ref().is_some_and(|list| !list.is_empty());
    if is_alone && (asks(&resolver.selection.capabilities) || asks(&resolver.selection.ptx)) {
        let mistake = Diagnostic::asked("the recipe's device code is shaders, which no capability is asked for");
        resolver.mistakes.push(mistake.hint("leave out --capability and --ptx"));
    }
    let names = || resolver.manifests.spirv.iter().map(|environment| environment.name.clone());
    let Some(listed) = &matrix.environments else {
        let place = Spanned { value: (), span: matrix.span.clone() };
        let mistake = resolver.mistake(&place, "[matrix] lacks `environments`").known("known", names());
        resolver
            .mistakes
            .push(mistake.hint("add `environments = [\"vulkan1.1\"]`: every device of Vulkan 1.1 takes it"));
        return None;
    };
    let mut found = Vec::new();
    let mut wrong = Vec::new();
    let asked = resolver.selection.environments.iter().flatten().map(|name| (None, name));
    let written = listed.value.iter().map(|item| (Some(item), &item.value));
    let is_asked = resolver.selection.environments.is_some();
    for (at, name) in written.chain(asked) {
        match resolver.manifests.spirv.iter().find(|known| known.name == *name) {
            // What is asked for takes the place of what is written, which must be sound all the same.
            Some(known) if is_asked == at.is_none() => found.extend(known.target()),
            Some(_) => {}
            None => {
                let mistake = placed(resolver, at, format!("unknown environment `{name}`"));
                wrong.push(mistake.known("known", names()).near(name, names()));
            }
        }
    }
    let is_none = is_asked && resolver.selection.environments.iter().flatten().next().is_none();
    let why = match resolver.file.groups.values().any(embeds) {
        true => Some("the build of core embeds the shaders, and they are for no environment"),
        false => is_alone.then_some("the recipe's device code is shaders alone, and they are for no environment"),
    };
    wrong.extend(why.filter(|_| is_none).map(|why| Diagnostic::asked(why).hint("leave out `--environment none`")));
    resolver.mistakes.extend(wrong);
    found.sort();
    found.dedup();
    Some(found)
}

/// Machine code ascending, then PTX ascending; then versions of Vulkan for shaders, which belong to no CUDA release: they
/// are compiled with the recipe's own.
pub(in crate::recipe) fn targets(resolver: &mut Resolver<'_>, cuda: CudaVersion) -> Option<Vec<KernelTarget>> {
    let shaders = match has_shaders(resolver.file) {
        true if resolver.release.is_some() => Some(Vec::new()),
        true => environments(resolver),
        false => {
            no_environments(resolver);
            Some(Vec::new())
        }
    };
    if is_of_shaders(resolver.file) {
        return shaders;
    }
    let sass = capabilities(resolver, cuda)?;
    let ptx = ptx(resolver, cuda, &sass);
    let mut sass: Vec<_> = sass.into_iter().map(KernelTarget::Sass).collect();
    let mut ptx: Vec<_> = ptx.into_iter().map(KernelTarget::Ptx).collect();
    for list in [&mut sass, &mut ptx] {
        list.sort();
        list.dedup();
    }
    sass.extend(ptx);
    sass.extend(shaders?);
    Some(sass)
}

/// Notes environments of a recipe without shaders.
fn no_environments(resolver: &mut Resolver<'_>) {
    if resolver.selection.environments.as_ref().is_some_and(|asked| !asked.is_empty()) {
        let mistake = Diagnostic::asked("the recipe has no shaders, which environments are asked for");
        resolver.mistakes.push(mistake.hint("leave out --environment"));
    }
    if let Some(listed) = &resolver.file.matrix.environments {
        let mistake =
            resolver.mistake(listed, "`environments` are for shaders, and no kernel group is of form \"spirv\"");
        resolver.mistakes.push(mistake);
    }
}

fn capabilities(resolver: &mut Resolver<'_>, cuda: CudaVersion) -> Option<Vec<Capability>> {
    let file = resolver.file;
    if let Some(asked) = &resolver.selection.capabilities {
        let written = |cuda| file.matrix.release(cuda).and_then(|release| release.capabilities.as_deref());
        let general = file.matrix.capabilities.as_ref().map(|listed| listed.value.as_slice());
        return Some(asked_for(resolver, asked, cuda, &|cuda| written(cuda).or(general)));
    }
    if let Some(own) = file.matrix.release(cuda).and_then(|release| release.capabilities.as_ref()) {
        return Some(written_for(resolver, own, cuda));
    }
    let Some(listed) = &file.matrix.capabilities else {
        if !file.groups.is_empty() {
            let place = Spanned { value: (), span: file.matrix.span.clone() };
            let targets = resolver.manifests.capabilities.targets(cuda);
            let mistake = resolver
                .mistake(&place, "[matrix] lacks `capabilities`")
                .known(&format!("known for CUDA {cuda}"), targets);
            resolver.mistakes.push(mistake);
            return None;
        }
        return Some(Vec::new());
    };
    Some(fitting(resolver, &listed.value, cuda, "--capability"))
}

fn ptx(resolver: &mut Resolver<'_>, cuda: CudaVersion, sass: &[Capability]) -> Vec<Capability> {
    let file = resolver.file;
    if let Some(asked) = &resolver.selection.ptx {
        let written = |cuda| file.matrix.release(cuda).and_then(|release| release.ptx.as_deref());
        return asked_for(resolver, asked, cuda, &|cuda| written(cuda).or(file.matrix.ptx.as_deref()));
    }
    if let Some(own) = file.matrix.release(cuda).and_then(|release| release.ptx.as_ref()) {
        return written_for(resolver, own, cuda);
    }
    match &file.matrix.ptx {
        Some(listed) => fitting(resolver, listed, cuda, "--ptx"),
        // The fallback for everything newer: the lowest plain capability reaches most devices.
        None => {
            sass.iter().copied().filter(|capability| capability.suffix == Suffix::Plain).min().into_iter().collect()
        }
    }
}

/// What the recipe lists for a release.
type Listed<'a> = &'a dyn Fn(CudaVersion) -> Option<&'a [Spanned<Capability>]>;

/// What was asked for on the command line must fit. Of several releases those take a capability that the recipe lists it
/// for; where it is listed for none, all that compile for it.
fn asked_for(
    resolver: &mut Resolver<'_>,
    asked: &[Capability],
    cuda: CudaVersion,
    listed: Listed<'_>,
) -> Vec<Capability> {
    let known = &resolver.manifests.capabilities;
    let releases: Vec<CudaVersion> = match (resolver.selection.cuda, &resolver.file.matrix.cuda) {
        (None, Some(releases)) => releases.iter().map(|release| release.value).collect(),
        _ => vec![cuda],
    };
    let mut kept = Vec::new();
    for &capability in asked {
        let compiles = |release: CudaVersion| known.check(capability, release).is_ok();
        let is_listed = |release: &CudaVersion| {
            let mut list = listed(*release).into_iter().flatten();
            compiles(*release) && list.any(|item| item.value == capability)
        };
        match known.check(capability, cuda) {
            Ok(()) if is_listed(&cuda) || !releases.iter().any(is_listed) => kept.push(capability),
            Err(why) if !releases.iter().any(|release| compiles(*release)) => {
                let mistake = unsupported(resolver, None, capability, cuda, why);
                resolver.mistakes.push(mistake);
            }
            _ => {}
        }
    }
    kept
}

/// What the recipe lists for the release alone must fit it.
fn written_for(resolver: &mut Resolver<'_>, listed: &[Spanned<Capability>], cuda: CudaVersion) -> Vec<Capability> {
    for item in listed {
        if let Err(why) = resolver.manifests.capabilities.check(item.value, cuda) {
            let mistake = unsupported(resolver, Some(item), item.value, cuda, why);
            resolver.mistakes.push(mistake);
        }
    }
    listed.iter().map(|item| item.value).collect()
}

/// Where the compiler of a release comes from.
pub(in crate::recipe) fn toolchain(file: &RecipeFile, dir: &Path, cuda: CudaVersion) -> CudaToolchain {
    let named = file.matrix.release(cuda).and_then(|release| release.toolchain.as_ref());
    match named.map(|named| named.value.as_str()) {
        None | Some("pinned") => CudaToolchain::Pinned,
        Some("system") => CudaToolchain::System,
        Some(directory) => CudaToolchain::Directory(dir.join(directory)),
    }
}

/// The listed capabilities that the release compiles for. One that another release of the matrix compiles for is that
/// one's. Others are mistakes: each by itself when the recipe chose the release, all in one when the command line did.
fn fitting(
    resolver: &mut Resolver<'_>,
    listed: &[Spanned<Capability>],
    cuda: CudaVersion,
    option: &str,
) -> Vec<Capability> {
    let capabilities = &resolver.manifests.capabilities;
    let releases = resolver.file.matrix.cuda.as_deref().unwrap_or_default();
    let is_listed = releases.iter().any(|release| release.value == cuda);
    let of_another = |capability: Capability| {
        is_listed && releases.iter().any(|release| capabilities.check(capability, release.value).is_ok())
    };
    let mut kept = Vec::new();
    let mut missing: Vec<(&Spanned<Capability>, Unsupported)> = Vec::new();
    let mut skipped = None;
    for item in listed {
        match capabilities.check(item.value, cuda) {
            Ok(()) => kept.push(item.value),
            Err(why @ (Unsupported::Unknown | Unsupported::NoVariant)) => {
                let mistake = unsupported(resolver, Some(item), item.value, cuda, why);
                resolver.mistakes.push(mistake);
            }
            Err(_) if of_another(item.value) => skipped = skipped.or(Some(item)),
            Err(why) => missing.push((item, why)),
        }
    }
    if let Some(first) = skipped.filter(|_| kept.is_empty() && missing.is_empty() && option != "--ptx") {
        let mistake = resolver
            .mistake(first, format!("CUDA {cuda} compiles for none of these capabilities"))
            .known("it compiles for", capabilities.targets(cuda));
        let hint = format!("list some of them in [matrix.release.\"{cuda}\"], or take the release out of the matrix");
        resolver.mistakes.push(mistake.hint(hint));
    }
    if resolver.selection.cuda.is_none() {
        for (item, why) in missing {
            let mistake = unsupported(resolver, Some(item), item.value, cuda, why);
            resolver.mistakes.push(mistake);
        }
    } else if let Some((first, _)) = missing.first() {
        let names: Vec<_> = missing.iter().map(|(item, _)| item.value.to_string()).collect();
        let mut mistake = resolver
            .mistake(first, format!("CUDA {cuda} does not compile for {}", names.join(" ")))
            .note(missing.iter().map(|(item, why)| format!("{} is {why}", item.value)).collect::<Vec<_>>().join(", "));
        mistake = match kept.is_empty() {
            true if option == "--ptx" => mistake.hint("`--ptx none` builds no PTX"),
            true => mistake.known("it compiles for", capabilities.targets(cuda)),
            false => {
                let names: Vec<_> = kept.iter().map(ToString::to_string).collect();
                mistake
                    .hint(format!("`{option} {}` asks for those of the recipe that it compiles for", names.join(",")))
            }
        };
        resolver.mistakes.push(mistake);
    }
    kept
}

fn unsupported(
    resolver: &Resolver<'_>,
    at: Option<&Spanned<Capability>>,
    capability: Capability,
    cuda: CudaVersion,
    why: Unsupported,
) -> Diagnostic {
    let message = match why {
        Unsupported::Unknown => format!("unknown capability `{capability}`"),
        Unsupported::NoVariant => format!("capability `{}` has no variant `{capability}`", capability.plain()),
        _ => format!("CUDA {cuda} does not compile for capability `{capability}`"),
    };
    let mut mistake = placed(resolver, at, message);
    if !matches!(why, Unsupported::Unknown | Unsupported::NoVariant) {
        mistake = mistake.note(format!("{capability} is {why}"));
    }
    let targets = resolver.manifests.capabilities.targets(cuda);
    mistake = mistake.known(&format!("known for CUDA {cuda}"), &targets);
    match why {
        Unsupported::Renamed(to, _) => mistake.hint(format!("write `{to}`")),
        Unsupported::NoVariant => mistake.hint(format!("did you mean `{}`?", capability.plain())),
        _ => mistake.near(&capability.to_string(), targets),
    }
}
