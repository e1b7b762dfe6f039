//! Kernel tables as people read them: names beside sizes.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Serialize;

use crate::gpu::{BufferBinding, BufferField, KernelSignature, SpecConstant, SpirvResource};
use crate::recipe::{KernelGroup, KernelNames, UNNAMED_VARIANT};

/// The kernel table of a group, as people read it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct KernelTable {
    /// Name of the group.
    name: String,
    /// What it ships as.
    form: String,
    /// Names of its variants; none without axes.
    variants: Vec<String>,
    kernels: Vec<Kernel>,
    structures: Vec<Structure>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct Kernel {
    name: String,
    source: Option<String>,
    /// Invocations of a workgroup: `64 x 1 x 1`.
    workgroup: Option<String>,
    params: Vec<Param>,
    /// The structure that they are the fields of.
    push_constants: Option<String>,
    buffers: Vec<Buffer>,
    constants: Vec<SpecConstant>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct Param {
    name: String,
    /// As the table writes it: `u32`.
    kind: String,
    offset: u32,
    size: u32,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct Buffer {
    set: u32,
    binding: u32,
    /// `storage` or `uniform`.
    kind: &'static str,
    /// The structure in it.
    element: Option<String>,
    /// Bytes before its elements, or of all of it.
    size: u32,
    /// Bytes from one element to the next.
    stride: Option<u32>,
}

/// A structure that host and shaders share.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct Structure {
    name: String,
    /// The type of the host that it is, where the recipe says so.
    host: Option<String>,
    /// Bytes of one, up to the next in an array.
    size: u32,
    fields: Vec<BufferField>,
}

impl KernelTable {
    /// The table of a group; none of a group whose library launches its own kernels.
    pub fn of(group: &KernelGroup) -> Option<Self> {
        let variants = group.variants.iter().map(|variant| variant.name.clone());
        let kernels = group.table.iter().map(|signature| {
            let mut names = group.names.get(&signature.name).cloned().unwrap_or_default();
            // A shader's kernel has the name of its file.
            let stem = |source: &&String| Path::new(source.as_str()).file_stem() == Some(signature.name.as_ref());
            names.source = names.source.or_else(|| group.sources.iter().find(stem).cloned());
            kernel(signature, names)
        });
        group.form.has_table().then(|| Self {
            name: group.name.clone(),
            form: group.form.name().to_owned(),
            variants: variants.filter(|name| name != UNNAMED_VARIANT).collect(),
            kernels: kernels.collect(),
            structures: structures(group),
        })
    }
}

fn kernel(signature: &KernelSignature, names: KernelNames) -> Kernel {
    let params = signature.params.iter().zip(names.params).map(|(param, (name, kind))| {
        let (offset, size) = (param.offset, param.size);
        Param { name, kind, offset, size }
    });
    let buffers = signature.bindings.iter().zip(names.elements).map(|(binding, element)| {
        let BufferBinding { set, binding, resource, size, stride, .. } = *binding;
        let kind = if resource == SpirvResource::UniformBuffer { "uniform" } else { "storage" };
        Buffer { set, binding, kind, element, size, stride }
    });
    Kernel {
        name: signature.name.clone(),
        source: names.source,
        workgroup: signature.workgroup.map(|[x, y, z]| format!("{x} x {y} x {z}")),
        params: params.collect(),
        push_constants: names.push_constants,
        buffers: buffers.collect(),
        constants: signature.constants.clone(),
    }
}

/// The structures of all buffers and push constants, by name. An array says how large one is with the room up to the next; a
/// uniform buffer ends with the last field, as push constants do, so the larger of both counts.
fn structures(group: &KernelGroup) -> Vec<Structure> {
    let mut found: BTreeMap<&str, (u32, &[BufferField])> = BTreeMap::new();
    for signature in &group.table {
        let names = group.names.get(&signature.name);
        let elements = names.map_or(&[][..], |names| &names.elements);
        if let Some((pushed, name)) =
            signature.push_constants.as_ref().zip(names.and_then(|it| it.push_constants.as_ref()))
        {
            let size = pushed.fields.iter().map(|field| field.offset + field.size).max().unwrap_or_default();
            let known = found.entry(name).or_insert((size, &pushed.fields));
            known.0 = known.0.max(size);
        }
        for (binding, element) in signature.bindings.iter().zip(elements) {
            let Some(name) = element else { continue };
            let size = binding.stride.unwrap_or(binding.size);
            let known = found.entry(name).or_insert((size, &binding.fields));
            known.0 = known.0.max(size);
        }
    }
    let structure = |(name, (size, fields)): (&str, (u32, &[BufferField]))| {
        let types = group.host_structures.iter().flat_map(|from| &from.types);
        let host = types.filter(|one| one.name == name).map(|one| one.host.clone()).next();
        Structure { name: name.to_owned(), host, size, fields: fields.to_vec() }
    };
    found.into_iter().map(structure).collect()
}
