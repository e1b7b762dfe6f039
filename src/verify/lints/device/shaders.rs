//! SPIR-V: against the target environment, against the core's table, and one module against another.

use std::collections::BTreeMap;

use crate::gpu::{
    BufferBinding, BufferField, FloatArithmetic, KernelSignature, Param, ShaderNeeds, SpirvBinding, SpirvBlock,
    SpirvEntryPoint, SpirvMember, SpirvModule,
};
use crate::lint::{Hits, Parameters, Predicate};
use crate::manifest::SpirvEnvironment;
use crate::verify::BundleFacts;

use super::layout::{difference as field_difference, fields_of};
use super::modules::{shader_not_embedded, shaders};

pub(super) fn predicates() -> Vec<Predicate<BundleFacts>> {
    vec![
        Predicate { id: "shader-environment", parameters: &[], check: shader_environment },
        Predicate { id: "shader-inexact", parameters: &[], check: shader_inexact },
        Predicate { id: "shader-layout", parameters: &[], check: shader_layout },
        Predicate { id: "shader-not-embedded", parameters: &[], check: shader_not_embedded },
        Predicate { id: "shader-version", parameters: &[], check: shader_version },
    ]
}

/// The package's target says which SPIR-V version its devices take.
fn shader_version(facts: &BundleFacts, _: &Parameters, hits: &mut Hits) {
    for shader in shaders(facts) {
        let environment = shader.target.and_then(|target| facts.rules.manifests.spirv.of(target));
        let Some(SpirvEnvironment { name, spirv: Some((major, minor)), .. }) = environment else { continue };
        if shader.module.version > (*major, *minor) {
            let (found, part) = shader.module.version;
            let message = format!("is SPIR-V {found}.{part}; {name}, which the package is for, takes {major}.{minor}");
            hits.add(shader.subject, message);
        }
    }
}

/// What a module asks beyond what every device of its environment has. The environment is that of the
/// package's target, else the lowest that takes the module's version.
fn shader_environment(facts: &BundleFacts, _: &Parameters, hits: &mut Hits) {
    let environments = &facts.rules.manifests.spirv;
    let own = shaders(facts).map(|shader| (shader.subject, shader.target, shader.module));
    let foreign = facts.foreign.iter().flat_map(|contents| {
        contents.files.iter().flat_map(move |file| {
            let images = file.device.images.iter();
            images.filter_map(move |image| Some((contents.subject(&file.path), image.target(), image.spirv.as_ref()?)))
        })
    });
    for (subject, target, module) in own.chain(foreign) {
        let of_package = target.and_then(|target| environments.of(target));
        let Some(environment) = of_package.or_else(|| environments.taking(module.version)) else {
            let (major, minor) = module.version;
            hits.incomplete(subject, format!("no environment of SPIR-V {major}.{minor} is known"));
            continue;
        };
        for (what, fix) in beyond(module, environment) {
            let hit = hits.add(&subject, format!("{what}; not every device of {} has that", environment.name));
            if let Some(fix) = fix {
                hit.fix(fix);
            }
        }
    }
}

/// What goes beyond an environment, each with its own fix if there is one.
fn beyond(module: &SpirvModule, environment: &SpirvEnvironment) -> Vec<(String, Option<String>)> {
    let limits = &environment.limits;
    let mut found = Vec::new();
    let optional = module.capabilities.iter().filter(|name| !environment.capabilities.contains(name));
    found.extend(optional.map(|name| {
        (
            format!("needs capability {name}"),
            Some(format!("ask the device for the feature behind {name}, or do without")),
        )
    }));
    for entry in &module.entry_points {
        let Some(size) = entry.local_size else { continue };
        let all: u64 = size.iter().map(|part| u64::from(*part)).fold(1, u64::saturating_mul);
        let text = size.map(|part| part.to_string()).join("x");
        if all > limits.workgroup_invocations {
            found.push((
                format!("`{}` has workgroups of {text}, more than {}", entry.name, limits.workgroup_invocations),
                None,
            ));
        } else if size.iter().zip(limits.workgroup_size).any(|(part, most)| *part > most) {
            let most = limits.workgroup_size.map(|part| part.to_string()).join("x");
            found.push((format!("`{}` has workgroups of {text}, beyond {most}", entry.name), None));
        }
    }
    let needs = ShaderNeeds::of(module);
    let mut compare = |what: &str, has: u64, most: u64| {
        if has > most {
            found.push((format!("{what} {has}, more than {most}"), None));
        }
    };
    compare("bytes of shared memory:", needs.shared_memory, limits.workgroup_bytes);
    compare("bytes of push constants:", needs.push_constants, limits.push_constant_bytes);
    compare("descriptor sets:", needs.descriptor_sets, limits.descriptor_sets.into());
    compare("storage buffers:", needs.storage_buffers, limits.storage_buffers);
    compare("bytes of a storage buffer:", needs.storage_buffer_range, limits.storage_buffer_bytes);
    compare("bytes of a uniform buffer:", needs.uniform_buffer_range, limits.uniform_buffer_bytes);
    found
}

/// What devices may compute in their own way in shaders of which the recipe says that their bits are the same everywhere.
fn shader_inexact(facts: &BundleFacts, _: &Parameters, hits: &mut Hits) {
    for shader in shaders(facts) {
        let Some(exact) = shader.package.manifest.exact.get(shader.variant) else { continue };
        let mut entries = shader.module.entry_points.iter().map(|entry| shader.kernel(&entry.name));
        if !entries.any(|name| exact.contains(name)) {
            continue;
        }
        let FloatArithmetic { kept, joinable, unpromised } = &shader.module.arithmetic;
        if *joinable > 0 {
            let all = kept + joinable;
            let message = format!("{joinable} of {all} operations on floats may be joined with others");
            hits.add(&shader.subject, message).fix(
                "declare their results `precise` in GLSL or HLSL; give shaders in WGSL `flags = [\"-ffp-contract=off\"]`",
            );
        }
        if !unpromised.is_empty() {
            let names: Vec<&str> = unpromised.iter().map(String::as_str).collect();
            let message = format!("no bits are promised of {}", names.join(", "));
            hits.add(&shader.subject, message).fix(
                "compute it by multiplications and additions, from a table or in integers; or leave the variant out of `exact`",
            );
        }
    }
}

/// A binding that one host code serves: stem of the file, entry points, set, binding.
type Place<'a> = (&'a str, Vec<&'a str>, u32, u32);

/// Push constants against the parameters that core's table declares, and every binding against the same
/// binding of the package's other modules: core fills one descriptor for all of them.
fn shader_layout(facts: &BundleFacts, _: &Parameters, hits: &mut Hits) {
    for shader in shaders(facts) {
        let module = shader.module;
        for entry in &module.entry_points {
            let name = shader.kernel(&entry.name);
            let Some(known) = shader.package.manifest.kernels.iter().find(|kernel| kernel.name == name) else {
                continue;
            };
            let beside = beside_the_table(known, module).into_iter();
            for what in beside.chain(unpromised(known, module, entry)) {
                hits.add(&shader.subject, format!("`{name}`: {what}"));
            }
            let compiled = params(module);
            let what = match &known.push_constants {
                Some(structure) => field_difference(&structure.fields, &pushed(module)).map(|what| format!(": {what}")),
                None if known.params == compiled || is_one_struct(known, module) => None,
                None => Some(" are not the parameters that the table declares".to_owned()),
            };
            if let Some(what) = what {
                hits.add(&shader.subject, format!("push constants of `{name}`{what}"))
                    .evidence(format!("declared: {}", layout(&known.params)))
                    .evidence(format!("compiled: {}", layout(&compiled)));
            }
        }
    }
    for contents in facts.contents() {
        // Files of one name with the same entry points are variants of one shader.
        let mut first: BTreeMap<Place<'_>, (&str, Vec<&SpirvBinding>)> = BTreeMap::new();
        for file in &contents.files {
            for module in file.device.images.iter().filter_map(|image| image.spirv.as_ref()) {
                let entries: Vec<&str> = module.entry_points.iter().map(|entry| entry.name.as_str()).collect();
                for ((set, at), views) in views(module) {
                    let stem = file.name().split('.').next().unwrap_or_default();
                    let key = (stem, entries.clone(), set, at);
                    let (path, others) = first.entry(key).or_insert_with(|| (&file.path, views.clone()));
                    let pairs = || views.iter().flat_map(|one| others.iter().map(|other| difference(other, one)));
                    if let Some(difference) = pairs().next().flatten().filter(|_| pairs().all(|pair| pair.is_some())) {
                        hits.add(
                            contents.subject(&file.path),
                            format!("set {set} binding {at} is not that of {path}: {difference}"),
                        );
                    }
                }
            }
        }
    }
}

/// Types of one buffer that are compared, each with each; people write three or four.
const MOST_VIEWS: usize = 32;

/// What a module finds at each binding. One buffer may be looked at by several types, as bytes and as words: the host fills
/// it by one of them.
fn views(module: &SpirvModule) -> BTreeMap<(u32, u32), Vec<&SpirvBinding>> {
    let mut found: BTreeMap<(u32, u32), Vec<&SpirvBinding>> = BTreeMap::new();
    for binding in &module.bindings {
        let views = found.entry((binding.set, binding.binding)).or_default();
        if views.len() < MOST_VIEWS {
            views.push(binding);
        }
    }
    found
}

/// What a module finds at one binding, as the table would declare it.
pub(super) fn buffers(module: &SpirvModule, (set, at): (u32, u32)) -> Vec<BufferBinding> {
    let here = module.bindings.iter().filter(|one| (one.set, one.binding) == (set, at));
    here.take(MOST_VIEWS).filter_map(buffer).collect()
}

/// All fields of a module's push constants.
pub(super) fn pushed(module: &SpirvModule) -> Vec<BufferField> {
    module.push_constants.iter().flat_map(fields_of).collect()
}

/// Buffers that the module uses and the table declares otherwise or not at all. A declared one that a module does
/// not use was optimised away, which harms nobody; a table without bindings says nothing of them.
fn beside_the_table(known: &KernelSignature, module: &SpirvModule) -> Vec<String> {
    if known.bindings.is_empty() {
        return Vec::new();
    }
    let mut wrong = Vec::new();
    for (place, views) in views(module) {
        let views: Vec<BufferBinding> = views.into_iter().filter_map(buffer).collect();
        let Some(first) = views.first() else { continue };
        match known.bindings.iter().find(|one| (one.set, one.binding) == place) {
            Some(one) if views.iter().any(|found| differs(one, found).is_none()) => {}
            Some(one) => {
                // The host's type is the one with its elements, if any is.
                let is_its = |found: &&BufferBinding| found.stride == one.stride && !found.fields.is_empty();
                wrong.extend(differs(one, views.iter().find(is_its).unwrap_or(first)));
            }
            None => wrong.push(format!("binding {first} is not in the table (set.binding type bytes)")),
        }
    }
    wrong
}

/// In what a buffer of a module is not the declared one: the first field, where fields are declared.
fn differs(declared: &BufferBinding, found: &BufferBinding) -> Option<String> {
    let place = || format!("set {} binding {}", found.set, found.binding);
    let field = field_difference(&declared.fields, &found.fields).filter(|_| !declared.fields.is_empty());
    if let Some(what) = field {
        return Some(format!("{}: {what}", place()));
    }
    let is_same = (declared.resource, declared.size, declared.stride) == (found.resource, found.size, found.stride);
    (!is_same).then(|| format!("binding {found}, the table declares {declared} (set.binding type bytes)"))
}

/// Sizes of workgroups and constants of a module that the table does not promise.
fn unpromised(known: &KernelSignature, module: &SpirvModule, entry: &SpirvEntryPoint) -> Vec<String> {
    let text = |size: [u32; 3]| size.map(|part| part.to_string()).join("x");
    let mut found = Vec::new();
    if let (Some(declared), Some(size)) = (known.workgroup, entry.local_size)
        && declared != size
    {
        found.push(format!("workgroups of {}, the table declares {}", text(size), text(declared)));
    }
    let is_declared = |id: u32| known.constants.iter().any(|constant| constant.id == id);
    let others = module.spec_constants.iter().filter(|(id, _)| !known.constants.is_empty() && !is_declared(*id));
    found.extend(others.map(|(id, name)| match name {
        Some(name) => format!("constant {id}, `{name}`, is not in the table"),
        None => format!("constant {id} is not in the table"),
    }));
    found
}

/// A buffer of a module as the table would declare it; none for images, samplers and what has no known layout.
fn buffer(binding: &SpirvBinding) -> Option<BufferBinding> {
    let block = binding.block.as_ref()?;
    let last = block.members.last();
    let open = last.and_then(|member| member.arrays.first()).filter(|array| array.count.is_none());
    let number = |value: u64| u32::try_from(value).ok();
    Some(BufferBinding {
        set: binding.set,
        binding: binding.binding,
        resource: binding.resource,
        size: number(block.size?)?,
        stride: open.and_then(|array| array.stride).and_then(number),
        fields: fields_of(block),
        host: None,
    })
}

/// Whether push constants that the table declares as one structure, of whose fields it says nothing, are one.
fn is_one_struct(known: &KernelSignature, module: &SpirvModule) -> bool {
    let members: Vec<&SpirvMember> = module.push_constants.iter().flat_map(|block| &block.members).collect();
    matches!((known.params.as_slice(), members.as_slice()), ([param], [member])
        if member.offset == Some(param.offset.into()) && member.size == Some(param.size.into()))
}

/// Push constants by their members. Those of a module made of WGSL are one structure in a block.
fn params(module: &SpirvModule) -> Vec<Param> {
    let members: Vec<&SpirvMember> = module.push_constants.iter().flat_map(|block| &block.members).collect();
    let members = match members.as_slice() {
        [one] if one.offset == Some(0) && one.arrays.is_empty() && !one.members.is_empty() => {
            one.members.iter().collect()
        }
        _ => members,
    };
    let param = |member: &SpirvMember| {
        let number = |value: Option<u64>| value.and_then(|value| u32::try_from(value).ok());
        Some(Param { offset: number(member.offset)?, size: number(member.size)? })
    };
    members.into_iter().filter_map(param).collect()
}

fn layout(params: &[Param]) -> String {
    if params.is_empty() {
        return "none".to_owned();
    }
    let all: Vec<String> = params.iter().map(|param| format!("{}+{}", param.offset, param.size)).collect();
    format!("{} (offset+bytes)", all.join(" "))
}

/// In what two descriptions of one binding differ, as far as the host must know.
fn difference(a: &SpirvBinding, b: &SpirvBinding) -> Option<String> {
    if a.resource != b.resource {
        return Some(format!("{:?} and {:?}", a.resource, b.resource));
    }
    if a.count != b.count {
        return Some("arrays of other lengths".to_owned());
    }
    let (Some(a), Some(b)) = (&a.block, &b.block) else { return None };
    blocks(a, b)
}

fn blocks(a: &SpirvBlock, b: &SpirvBlock) -> Option<String> {
    if a.size != b.size {
        let bytes = |size: Option<u64>| size.map_or_else(|| "an unknown number of".to_owned(), |size| size.to_string());
        return Some(format!("{} and {} bytes", bytes(a.size), bytes(b.size)));
    }
    let same = |a: &SpirvMember, b: &SpirvMember| {
        let strides = |member: &SpirvMember| member.arrays.iter().map(|array| array.stride).collect::<Vec<_>>();
        (a.offset, a.size, strides(a)) == (b.offset, b.size, strides(b))
    };
    let all = a.members.len() == b.members.len() && a.members.iter().zip(&b.members).all(|(a, b)| same(a, b));
    (!all).then(|| "members at other places".to_owned())
}
