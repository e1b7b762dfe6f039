//! Types of the host as core was compiled with them, by its debug information, against what modules of shaders read.

use std::collections::BTreeMap;

use crate::gpu::BufferField;
use crate::layout::{CompiledType, FieldType, LayoutError, Structure};
use crate::lint::{Hits, Parameters, Predicate};
use crate::report::Subject;
use crate::verify::{BundleFacts, PackageFacts};

use super::layout::difference;
use super::modules::{Shader, shaders};
use super::shaders::{buffers, pushed};

pub(super) fn predicates() -> Vec<Predicate<BundleFacts>> {
    vec![Predicate { id: "core-layout", parameters: &[], check: core_layout }]
}

/// What a module reads of one type of the host.
struct Reading<'a> {
    shader: Shader<'a>,
    /// The views of the buffer, or the push constants.
    views: Vec<View>,
}

/// Bytes of a type as a module has them.
struct View {
    fields: Vec<BufferField>,
    /// Bytes from one element to the next, in an array without an end.
    stride: Option<u32>,
}

/// Types of which debug information says another layout than a module of the same kernel ABI has.
fn core_layout(facts: &BundleFacts, _: &Parameters, hits: &mut Hits) {
    let objects = || {
        facts.packages.iter().flat_map(|package| {
            let files = package.files().iter();
            files.flat_map(move |file| file.objects.iter().map(move |object| (package, file, object)))
        })
    };
    if objects().all(|(.., object)| object.types.is_empty()) {
        return;
    }
    let readings = readings(facts);
    for (package, file, object) in objects() {
        let path = match &object.member {
            Some(member) => format!("{}({member})", file.path),
            None => file.path.clone(),
        };
        for compiled in &object.types {
            let all: Vec<&Reading<'_>> = readings.get(compiled.name.as_str()).map_or(Vec::new(), |all| {
                all.iter().filter(|one| is_launched_by(one.shader.package, package)).collect()
            });
            // Without a module nothing tells what would be right.
            if !all.is_empty() {
                compare(compiled, &all, package.subject(&path), hits);
            }
        }
    }
}

/// Whether a package holds what core, or what ships with its debug information, launches: of the same table, or where it
/// says none of the same version.
fn is_launched_by(shaders: &PackageFacts, core: &PackageFacts) -> bool {
    let (shaders, core) = (&shaders.manifest, &core.manifest);
    let is_same = match (&shaders.kernel_abi, &core.kernel_abi) {
        (Some(one), Some(other)) => one == other,
        _ => shaders.version == core.version,
    };
    is_same && shaders.simulator == core.simulator
}

fn compare(compiled: &CompiledType, readings: &[&Reading<'_>], subject: Subject, hits: &mut Hits) {
    let name = &compiled.name;
    let structures = match &compiled.structures {
        Ok(structures) => structures,
        Err(LayoutError::Damaged(why)) => return hits.incomplete(subject, format!("`{name}`: {why}")),
        Err(error) => {
            let hit = hits.add(subject, format!("`{name}`, as core was compiled: {error}"));
            hit.evidence_lines(unit(compiled));
            return;
        }
    };
    let Some(core) = structures.last() else { return };
    let mut fields = Vec::new();
    flatten(structures, core, ("", 0), &mut fields);
    let mut wrong = readings.iter().filter_map(|one| Some((one, of_views(core, &fields, &one.views)?)));
    let Some((first, what)) = wrong.next() else { return };
    let count = 1 + wrong.count();
    let reader = format!("read by {count} of {} modules, the first is {}", readings.len(), first.shader.subject);
    hits.add(subject, format!("`{name}`: {what}")).evidence(reader).evidence_lines(unit(compiled));
}

/// Where a type was compiled so.
fn unit(compiled: &CompiledType) -> Option<String> {
    compiled.unit.as_ref().map(|unit| format!("compiled so in {unit}"))
}

/// What every module reads of each type of the host.
fn readings(facts: &BundleFacts) -> BTreeMap<&str, Vec<Reading<'_>>> {
    let mut found: BTreeMap<&str, Vec<Reading<'_>>> = BTreeMap::new();
    for shader in shaders(facts) {
        for entry in &shader.module.entry_points {
            let name = shader.kernel(&entry.name);
            let Some(known) = shader.package.manifest.kernels.iter().find(|kernel| kernel.name == name) else {
                continue;
            };
            for binding in &known.bindings {
                let Some(host) = &binding.host else { continue };
                let views = buffers(shader.module, (binding.set, binding.binding));
                let views = views.into_iter().filter(|view| !view.fields.is_empty());
                let views: Vec<View> = views.map(|view| View { fields: view.fields, stride: view.stride }).collect();
                if !views.is_empty() {
                    found.entry(host).or_default().push(Reading { shader: shader.clone(), views });
                }
            }
            let fields = pushed(shader.module);
            if let Some(host) = known.push_constants.as_ref().and_then(|pushed| pushed.host.as_ref())
                && !fields.is_empty()
            {
                let views = vec![View { fields, stride: None }];
                found.entry(host).or_default().push(Reading { shader: shader.clone(), views });
            }
        }
    }
    found
}

/// In what a type is none of the views of a module: one is enough, because people look at one buffer as bytes and as words.
fn of_views(core: &Structure, fields: &[BufferField], views: &[View]) -> Option<String> {
    let mut first = None;
    for view in views {
        let what = match difference(fields, &view.fields) {
            Some(what) => what,
            None => match view.stride.filter(|stride| *stride != core.size) {
                Some(stride) => format!("has {} bytes in the core, {stride} in the shader", core.size),
                None => return None,
            },
        };
        first.get_or_insert(what);
    }
    first
}

/// The fields of a structure, those of structures in it by names with dots. What was read is as deep and as large as a table's.
fn flatten(all: &[Structure], structure: &Structure, (before, start): (&str, u32), found: &mut Vec<BufferField>) {
    for field in &structure.fields {
        let name = if before.is_empty() { field.name.clone() } else { format!("{before}.{}", field.name) };
        let (inner, size) = match &field.kind {
            FieldType::Scalar(scalar) => (None, scalar.size()),
            FieldType::Structure(of) => {
                let inner = all.iter().find(|one| one.name == *of);
                (inner, inner.map_or(0, |inner| inner.size))
            }
        };
        let offset = start.saturating_add(field.offset);
        found.push(BufferField { name: name.clone(), offset, size: size.saturating_mul(field.count) });
        if let Some(inner) = inner {
            flatten(all, inner, (&name, offset), found);
        }
    }
}
