//! Kernel groups: their tables, their variants, their files.

use std::collections::{BTreeMap, BTreeSet};

use super::resolver::Resolver;
use super::{host_structures, webgpu};
use crate::gpu::{Contraction, KernelSignature, spirv, wgsl_to_spirv};
use crate::layout::Structure;
use crate::recipe::diagnostic::{Diagnostic, Spanned};
use crate::recipe::file::{Additions, GroupTable};
use crate::recipe::files::RecipeFiles;
use crate::recipe::model::{
    DeviceCompiler, HostStructures, KernelForm, KernelGroup, NO_CONTRACTION, ShaderLanguage, UNNAMED_VARIANT,
    VariantChoice, When,
};
use crate::recipe::parse::table::{DeclaredKernel, DeclaredTable, kernel_table};

/// Combinations of variants that one group may have: more is a slip, not a plan.
const MOST_VARIANTS: usize = 256;

pub(in crate::recipe) fn groups(resolver: &mut Resolver<'_>) -> Option<Vec<KernelGroup>> {
    let file = resolver.file;
    one_form(resolver);
    one_answer_for_the_cpu(resolver);
    let mut seen: BTreeMap<String, String> = BTreeMap::new();
    let mut found = Vec::new();
    for (name, table) in &file.groups {
        if let Some(group) = group(resolver, name, table, &mut seen) {
            found.push(group);
        }
    }
    Some(found)
}

pub(super) fn form_of(group: &GroupTable) -> KernelForm {
    group.form.as_ref().map_or(KernelForm::Cubin, |form| form.value)
}

/// Whether the build of core puts a group's modules into core.
pub(super) fn embeds(group: &GroupTable) -> bool {
    group.embed.as_ref().is_some_and(|embed| embed.value)
}

/// A target has one package, which holds all groups for it: those of CUDA ship in one form. Shaders have targets of their
/// own, and stand beside any form that core launches by a kernel table, as they are.
fn one_form(resolver: &mut Resolver<'_>) {
    let file = resolver.file;
    let fit = |one: &GroupTable, other: &GroupTable| {
        let (one, other) = (form_of(one), form_of(other));
        one == other || one.is_cuda() != other.is_cuda() && one.has_table() && other.has_table()
    };
    let mut before: Vec<(&String, &GroupTable)> = Vec::new();
    for (name, group) in &file.groups {
        if let Some((other, one)) = before.iter().find(|(_, one)| !fit(one, group)) {
            let (form, of_other) = (form_of(group).name(), form_of(one).name());
            let place = Spanned { value: (), span: span_of(group) };
            let message = format!("kernel group `{name}` ships as `{form}`, and `{other}` as `{of_other}`");
            let hint = match form_of(group).is_cuda() == form_of(one).is_cuda() {
                true => "a target has one package: let all kernel groups of CUDA have one form",
                false => {
                    "a library that ships cut launches its own kernels: shaders stand beside `cubin` and `library`"
                }
            };
            let mistake = resolver.mistake(&place, message);
            resolver.mistakes.push(mistake.hint(hint));
        }
        before.push((name, group));
    }
}

/// All that ships cut is in one package for machines without a GPU, or there is none.
fn one_answer_for_the_cpu(resolver: &mut Resolver<'_>) {
    let file = resolver.file;
    let is_cut = |group: &&GroupTable| form_of(group).is_exclusive();
    let answers = || file.groups.values().filter(is_cut).map(|group| group.cpu.as_ref());
    let is_for_cpu = |answer: Option<&Spanned<bool>>| answer.is_none_or(|cpu| cpu.value);
    let Some(without) = answers().flatten().find(|cpu| !cpu.value) else { return };
    if answers().any(is_for_cpu) {
        let mistake = resolver.mistake(without, "another kernel group has a package for machines without a GPU");
        resolver.mistakes.push(mistake.hint("all that ships cut lies in one package: write the same of all groups"));
    }
}

/// Where a group's form stands, or its name.
fn span_of(group: &GroupTable) -> std::ops::Range<usize> {
    group.form.as_ref().map_or_else(|| group.span.clone(), |form| form.span.clone())
}

fn group(
    resolver: &mut Resolver<'_>,
    name: &str,
    group: &GroupTable,
    seen: &mut BTreeMap<String, String>,
) -> Option<KernelGroup> {
    let form = form_of(group);
    for source in group.sources.iter().flat_map(|sources| &sources.value) {
        resolver.must_be_in_source(source);
    }
    let table = if form.has_table() { table(resolver, group, seen, name) } else { Some(Default::default()) };
    if form == KernelForm::Spirv {
        shaders(resolver, group, table.as_ref().map(|(declared, _)| declared.as_slice()));
    }
    let host_structures = group.structures.as_ref().zip(group.table.as_ref()).zip(table.as_ref());
    let host_structures = host_structures.map(|((written, path), (_, declared))| {
        host_structures::host_structures(resolver, written, (&path.value, declared))
    });
    let variants = variants(resolver, group);
    let exact = exact(resolver, group, variants.as_deref().unwrap_or_default());
    let plain = |list: &[Spanned<String>]| list.iter().map(|item| item.value.clone()).collect::<Vec<_>>();
    let sources = match form.compiler() {
        DeviceCompiler::Steps => plain(&group.sources.as_ref()?.value),
        _ => Vec::new(),
    };
    let (declared, structures) = table?;
    Some(KernelGroup {
        name: name.to_owned(),
        sources,
        names: declared.iter().map(|kernel| (kernel.name.value.clone(), kernel.names.clone())).collect(),
        table: declared.into_iter().map(|kernel| signature(kernel, form, host_structures.as_ref())).collect(),
        form,
        files: plain(&group.files),
        gpu_only: group.cpu.as_ref().is_some_and(|cpu| !cpu.value),
        flags: plain(&group.flags),
        variants: variants?,
        generator: group.generator.clone(),
        embed: embeds(group),
        exact,
        structures,
        host_structures,
        when: group
            .when
            .iter()
            .map(|(range, added)| When {
                from: range.value.from,
                below: range.value.below,
                define: added.define.clone(),
                flags: added.flags.clone(),
            })
            .collect(),
    })
}

/// The signature of a kernel, with the types of the host that it is launched with.
fn signature(kernel: DeclaredKernel, form: KernelForm, host: Option<&HostStructures>) -> KernelSignature {
    let type_of = |name: Option<&String>| {
        let types = host.iter().flat_map(|host| &host.types);
        types.filter(|one| Some(&one.name) == name).map(|one| one.host.clone()).next()
    };
    let DeclaredKernel { mut signature, names, .. } = kernel;
    for (binding, element) in signature.bindings.iter_mut().zip(&names.elements) {
        binding.host = type_of(element.as_ref());
    }
    if let Some(pushed) = &mut signature.push_constants {
        pushed.host = type_of(names.push_constants.as_ref());
    }
    KernelSignature { shader: !form.is_cuda(), ..signature }
}

/// The variants that promise bits. What WGSL computes with floats cannot be among them: the language has no word for it.
fn exact(resolver: &mut Resolver<'_>, group: &GroupTable, variants: &[VariantChoice]) -> BTreeSet<String> {
    let mut wrong = Vec::new();
    for asked in group.exact.iter().filter(|asked| !variants.iter().any(|one| one.name == asked.value)) {
        let names = || variants.iter().map(|one| one.name.clone());
        let mistake = resolver.mistake(asked, format!("`{}` is no variant of the group", asked.value));
        wrong.push(mistake.known("its variants", names()).near(&asked.value, names()));
    }
    let found: BTreeSet<String> = group.exact.iter().map(|asked| asked.value.clone()).collect();
    let promised = || variants.iter().filter(|one| found.contains(&one.name));
    // Text for WebGPU has no word for the flag.
    let is_for_webgpu = webgpu::is_for_webgpu(resolver);
    let of_wgsl = |source: &&Spanned<String>| ShaderLanguage::of(&source.value) == Some(ShaderLanguage::Wgsl);
    for source in group.sources.iter().flat_map(|sources| &sources.value).filter(of_wgsl) {
        // What is not here, or does not compile, is said elsewhere.
        let Some(text) = resolver.source_text(&source.value) else { continue };
        let Some(variant) = promised().find(|one| {
            let is_off = !is_for_webgpu && keeps_operations_apart(group, one);
            computes_with_floats((&source.value, &text), one, is_off)
        }) else {
            continue;
        };
        let name = &variant.name;
        let message = format!("`{}` computes with floats, and nothing promises the bits of `{name}`", source.value);
        let mistake = resolver.mistake(source, message);
        wrong.push(mistake.hint(match is_for_webgpu {
            true => "WebGPU's devices may join operations and round as they like: compute in integers, or leave the variant out of `exact`",
            false => "`flags = [\"-ffp-contract=off\"]` keeps operations apart; divisions and functions have no promise: compute in integers, or leave the variant out of `exact`",
        }));
    }
    resolver.mistakes.extend(wrong);
    found
}

/// Whether operations on floats are not joined with others, where the module can say it.
fn keeps_operations_apart(group: &GroupTable, variant: &VariantChoice) -> bool {
    let mut flags = group.flags.iter().map(|flag| &flag.value).chain(&variant.flags);
    flags.any(|flag| flag == NO_CONTRACTION)
}

/// Whether a shader in WGSL does what devices may do in their own way.
fn computes_with_floats(source: (&str, &str), variant: &VariantChoice, is_off: bool) -> bool {
    let constant = |define: &String| {
        let (name, value) = define.split_once('=').unwrap_or((define, "1"));
        Some((name.to_owned(), value.parse().ok()?))
    };
    let constants: Vec<_> = variant.define.iter().filter_map(constant).collect();
    let contraction = if is_off { Contraction::Off } else { Contraction::Allowed };
    let module = wgsl_to_spirv(source, (1, 3), &constants, contraction);
    module.ok().and_then(|module| spirv(&module).ok()).is_some_and(|module| !module.arithmetic.is_exact())
}

/// Each shader is compute code whose one entry point is called `main`: its kernel has the file's name.
fn shaders(resolver: &mut Resolver<'_>, group: &GroupTable, declared: Option<&[DeclaredKernel]>) {
    let mut wrong = Vec::new();
    for source in group.sources.iter().flat_map(|sources| &sources.value) {
        let file = source.value.rsplit('/').next().unwrap_or(&source.value);
        let stem = ShaderLanguage::ENDINGS.iter().find_map(|(ending, _)| file.strip_suffix(ending));
        let Some(stem) = stem else {
            let mistake = resolver.mistake(source, format!("`{file}` is no compute shader in GLSL, HLSL or WGSL"));
            let endings = ShaderLanguage::ENDINGS.map(|(ending, _)| ending);
            wrong.push(mistake.known("the name of such a file ends in", endings));
            continue;
        };
        match ShaderLanguage::of(file) {
            Some(ShaderLanguage::Wgsl) => wrong.extend(beside_wgsl(resolver, group, source)),
            Some(ShaderLanguage::Glsl | ShaderLanguage::Hlsl) => {
                wrong.extend(beside_precise(resolver, group, source));
                wrong.extend(webgpu::not_in_wgsl(resolver, source));
            }
            None => {}
        }
        if let Some(declared) = declared.filter(|all| !all.iter().any(|kernel| kernel.name.value == stem)) {
            let names = || declared.iter().map(|kernel| kernel.name.value.clone());
            let message = format!("the kernel of `{file}` is `{stem}`, which the table does not declare");
            wrong.push(resolver.mistake(source, message).known("declared", names()).near(stem, names()));
        }
    }
    resolver.mistakes.extend(wrong);
}

/// A flag that compilers of GLSL and HLSL do not know: the languages have a word for it.
fn beside_precise(resolver: &Resolver<'_>, group: &GroupTable, source: &Spanned<String>) -> Option<Diagnostic> {
    flags_of(group).find(|flag| *flag == NO_CONTRACTION)?;
    let message = format!("`{}` is not WGSL, whose shaders alone `{NO_CONTRACTION}` is for", source.value);
    Some(resolver.mistake(source, message).hint("declare what has to keep its bits `precise`"))
}

/// Flags of a group and of its variants.
fn flags_of(group: &GroupTable) -> impl Iterator<Item = &str> {
    let of_variants = group.variants.values().flat_map(BTreeMap::values).flat_map(|added| &added.flags);
    group.flags.iter().map(|flag| &flag.value).chain(of_variants).map(String::as_str)
}

/// What a group says that has no meaning for a shader in WGSL: the language has no preprocessor, and its compiler no flags.
fn beside_wgsl(resolver: &Resolver<'_>, group: &GroupTable, source: &Spanned<String>) -> Option<Diagnostic> {
    let choices = || group.variants.values().flat_map(BTreeMap::values);
    if let Some(flag) = flags_of(group).find(|flag| *flag != NO_CONTRACTION) {
        let mistake =
            resolver.mistake(source, format!("`{}` is compiled by naga, which takes no flag `{flag}`", source.value));
        return Some(mistake.hint("flags are for GLSL and HLSL: put the shaders in WGSL into a group of their own"));
    }
    let is_number = |define: &str| define.split_once('=').is_none_or(|(_, value)| value.parse::<f64>().is_ok());
    let other = choices().flat_map(|added| &added.define).find(|define| !is_number(define))?;
    let mistake = resolver.mistake(source, format!("`{other}` cannot be given to `{}`", source.value));
    Some(mistake.hint("in WGSL a definition is the value of a constant that is declared `override`: a number"))
}

/// The declared kernels, sorted by name, and structures. The table is part of the recipe, so it is looked for in the recipe's
/// directory, and then in a source tree that was fetched.
fn table(
    resolver: &mut Resolver<'_>,
    group: &GroupTable,
    seen: &mut BTreeMap<String, String>,
    name: &str,
) -> Option<(Vec<DeclaredKernel>, Vec<Structure>)> {
    let at = group.table.as_ref()?;
    let files = table_files(resolver, at)?;
    let text = match files.text(&at.value) {
        Ok(text) => text,
        Err(why) => {
            resolver.wrong(at, format!("kernel table `{}` cannot be read: {why}", at.value));
            return None;
        }
    };
    let recipe = &resolver.file.document.path;
    let path = match recipe.rsplit_once('/') {
        Some((dir, _)) => format!("{dir}/{}", at.value),
        None => at.value.clone(),
    };
    let DeclaredTable { document, kernels, structures, mistakes } =
        kernel_table(&text, &path, &awaited(resolver, group));
    resolver.mistakes.extend(mistakes);
    if form_of(group) == KernelForm::Spirv {
        let wrong = webgpu::with_push_constants(resolver, &document, &kernels);
        resolver.mistakes.extend(wrong);
    }
    resolver.places.add_table(&document, &kernels);
    if kernels.is_empty() {
        let mistake = resolver.mistake(at, format!("kernel table `{}` declares no kernel", at.value));
        resolver.mistakes.push(mistake);
    }
    let sources: Vec<&str> =
        group.sources.iter().flat_map(|sources| &sources.value).map(|source| source.value.as_str()).collect();
    for kernel in &kernels {
        if let (Some(pushed), true) = (kernel.params.first(), kernel.is_pushed() && form_of(group).is_cuda()) {
            let message = format!("`{}` has `push-constants`, which shaders alone have", kernel.name.value);
            let mistake = Diagnostic::at(&document, pushed.span.clone(), message);
            resolver.mistakes.push(mistake.hint("`params` lists the parameters of a kernel of CUDA"));
        }
        if let Some(other) = seen.insert(kernel.name.value.clone(), name.to_owned()) {
            let message = format!("kernel `{}` is declared by group `{other}` already", kernel.name.value);
            resolver.mistakes.push(Diagnostic::at(&document, kernel.name.span.clone(), message));
        }
        let Some(source) = &kernel.source else { continue };
        let is_this = |unit: &str| {
            unit.strip_suffix(source.value.as_str()).is_some_and(|dir| dir.is_empty() || dir.ends_with('/'))
        };
        if !sources.is_empty() && !sources.iter().any(|unit| is_this(unit)) {
            let message = format!("`{}` is no source of group `{name}`", source.value);
            let names = sources.iter().map(|unit| unit.rsplit('/').next().unwrap_or(unit));
            let mistake = Diagnostic::at(&document, source.span.clone(), message)
                .known("its sources", &sources)
                .near(&source.value, names);
            resolver.mistakes.push(mistake);
        }
    }
    Some((kernels, structures))
}

/// Structures of the host that are about to be written into the table.
fn awaited(resolver: &Resolver<'_>, group: &GroupTable) -> BTreeSet<String> {
    let types = group.structures.iter().flat_map(|structures| &structures.types);
    types.filter(|_| resolver.selection.writes_structures).map(|one| one.value.name.clone()).collect()
}

/// Where a kernel table is; none and a mistake when it is nowhere.
fn table_files<'a>(resolver: &mut Resolver<'a>, at: &Spanned<String>) -> Option<&'a dyn RecipeFiles> {
    let files = resolver.files;
    if files.exists(&at.value) || !resolver.is_source_elsewhere() {
        return resolver.must_exist(at, &at.value).then_some(files);
    }
    let message = |place: &str| format!("kernel table `{}` is neither beside the recipe nor {place}", at.value);
    match files.fetched() {
        Some(fetched) if fetched.exists(&at.value) => Some(fetched),
        Some(fetched) => {
            let dir = at.value.rsplit_once('/').map_or(String::new(), |(dir, _)| format!("{dir}/"));
            let names = files.siblings(&at.value).into_iter().chain(fetched.siblings(&at.value));
            let mistake = resolver.mistake(at, message("in the fetched source"));
            resolver.mistakes.push(mistake.near(&at.value, names.map(|name| dir.clone() + &name)));
            None
        }
        None => {
            let mistake = resolver.mistake(at, message("in a source that is here"));
            let hint = "the source is fetched once nothing else is wrong and --offline is not given";
            resolver.mistakes.push(mistake.hint(hint));
            None
        }
    }
}

/// Every combination of the axes' values, in the order of the axes' names.
fn variants(resolver: &mut Resolver<'_>, group: &GroupTable) -> Option<Vec<VariantChoice>> {
    let count = group.variants.values().map(BTreeMap::len).try_fold(1_usize, usize::checked_mul);
    if count.is_none_or(|count| count > MOST_VARIANTS) {
        let place = Spanned { value: (), span: group.span.clone() };
        resolver.wrong(&place, format!("the variant axes make more than {MOST_VARIANTS} combinations"));
        return None;
    }
    let none = VariantChoice { name: String::new(), choice: BTreeMap::new(), define: Vec::new(), flags: Vec::new() };
    let mut all = vec![none];
    for (axis, choices) in &group.variants {
        let extended =
            all.iter().flat_map(|before| choices.iter().map(|(value, added)| with(before, axis, value, added)));
        all = extended.collect();
    }
    if group.variants.is_empty() {
        all[0].name = UNNAMED_VARIANT.to_owned();
    }
    Some(all)
}

fn with(before: &VariantChoice, axis: &str, value: &str, added: &Additions) -> VariantChoice {
    let mut next = before.clone();
    if !next.name.is_empty() {
        next.name.push('-');
    }
    next.name.push_str(value);
    next.choice.insert(axis.to_owned(), value.to_owned());
    next.define.extend(added.define.iter().cloned());
    next.flags.extend(added.flags.iter().cloned());
    next
}
