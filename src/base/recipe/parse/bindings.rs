//! What a kernel of the form `spirv` expects at its bindings, as the kernel table declares it.

use std::collections::BTreeSet;

use super::reader::{Reader, Value};
use super::structs::{Structs, named};
use crate::gpu::{BufferBinding, Param, PushConstants, SpecConstant, SpirvResource};
use crate::recipe::diagnostic::Spanned;

/// Descriptor types that hold a buffer with a layout of its own.
const RESOURCES: [(&str, SpirvResource); 2] =
    [("storage-buffer", SpirvResource::StorageBuffer), ("uniform-buffer", SpirvResource::UniformBuffer)];

/// Most sets and bindings of any device today are far below.
const MOST: u64 = 65_535;

/// Reads `bindings = [{ set = 0, binding = 1, type = "storage-buffer", size = 4, stride = 8 }]`, sorted, each with the name
/// of the structure of its elements, where it has one.
pub(in crate::recipe) fn bindings(
    reader: &mut Reader,
    value: &Value<'_>,
    structs: &Structs,
) -> Option<Vec<(BufferBinding, Option<String>)>> {
    let mut found = reader.list(value, "bindings", |reader, value| binding(reader, value, structs))?;
    let mut seen = BTreeSet::new();
    if let Some(twice) = found.iter().map(|(one, _)| one).find(|one| !seen.insert((one.set, one.binding))) {
        reader.wrong(value.span(), format!("set {} binding {} is declared twice", twice.set, twice.binding));
    }
    found.sort();
    Some(found)
}

fn binding(reader: &mut Reader, value: &Value<'_>, structs: &Structs) -> Option<(BufferBinding, Option<String>)> {
    let mut fields = reader.fields(value, "a binding")?;
    let kind = fields.required(reader, "type").and_then(|value| reader.choice(value, "type", &RESOURCES));
    let set = fields.get("set").map_or(Some(0), |value| number(reader, value, "set", 0..=MOST));
    let at = fields.required(reader, "binding").and_then(|value| number(reader, value, "binding", 0..=MOST));
    let resource = kind.as_ref().map(|kind| kind.value);
    let of = fields.get("of");
    let size = match of {
        None => fields.required(reader, "size"),
        Some(_) => fields.get("size"),
    };
    let is_left_out = size.is_none() && of.is_some();
    let size = size.and_then(|value| number(reader, value, "size", 0..=u64::from(u32::MAX)));
    let written = fields.get("stride");
    let stride = stride(reader, written);
    let layout = of.and_then(|value| {
        if let Some(written) = written {
            reader.wrong(written.span(), "`stride` follows from `of`");
        }
        if !is_left_out && resource == Some(SpirvResource::UniformBuffer) {
            reader.wrong(value.span(), "`size` of a uniform buffer follows from `of`");
        }
        named(reader, ("of", value), structs)
    });
    fields.finish(reader);
    let (set, binding, resource) = (set?, at?, resource?);
    let element = of.and_then(|value| value.get_ref().as_str()).map(str::to_owned);
    let found = match (of, layout, resource) {
        (None, ..) => {
            BufferBinding { set, binding, resource, size: size?, stride: stride?, fields: Vec::new(), host: None }
        }
        (Some(_), Some(layout), SpirvResource::UniformBuffer) => {
            let end = layout.fields.iter().map(|field| field.offset + field.size).max();
            let (size, fields) = (end.unwrap_or(layout.size), layout.fields.clone());
            BufferBinding { set, binding, resource, size, stride: None, fields, host: None }
        }
        (Some(_), Some(layout), _) => {
            let (stride, fields) = (Some(layout.size), layout.fields.clone());
            BufferBinding { set, binding, resource, size: size.unwrap_or(0), stride, fields, host: None }
        }
        (Some(_), None, _) => return None,
    };
    Some((found, element))
}

/// A structure whose fields are the parameters of a kernel.
pub(in crate::recipe) struct Pushed {
    /// Its name.
    pub name: Spanned<String>,
    /// Name and type of each of its own fields, for people.
    pub names: Vec<(String, String)>,
    /// Where these lie.
    pub params: Vec<Param>,
    /// All fields.
    pub constants: PushConstants,
}

/// Reads `push-constants = "Step"`.
pub(in crate::recipe) fn push_constants(reader: &mut Reader, value: &Value<'_>, structs: &Structs) -> Option<Pushed> {
    let layout = named(reader, ("push-constants", value), structs)?;
    let (mut names, mut params) = (Vec::new(), Vec::new());
    for field in &layout.declared {
        let size = layout.fields.iter().find(|flat| flat.name == field.name)?.size;
        let array = if field.count == 1 { String::new() } else { format!("[{}]", field.count) };
        names.push((field.name.clone(), format!("{}{array}", field.kind)));
        params.push(Param { offset: field.offset, size });
    }
    let name = reader.text(value, "push-constants")?;
    Some(Pushed { name, names, params, constants: PushConstants { fields: layout.fields.clone(), host: None } })
}

/// Nothing for a buffer without an open end; none when what is there is wrong.
fn stride(reader: &mut Reader, value: Option<&Value<'_>>) -> Option<Option<u32>> {
    let Some(value) = value else { return Some(None) };
    number(reader, value, "stride", 1..=u64::from(u32::MAX)).map(Some)
}

/// Reads `workgroup = [64]`: what is left out is 1.
pub(in crate::recipe) fn workgroup(reader: &mut Reader, value: &Value<'_>) -> Option<[u32; 3]> {
    let sizes =
        reader.list(value, "workgroup", |reader, value| number(reader, value, "a size", 1..=u64::from(u32::MAX)))?;
    if sizes.is_empty() || sizes.len() > 3 {
        reader.wrong(value.span(), "workgroups have one to three sizes: x, y, z");
        return None;
    }
    let size = |index: usize| sizes.get(index).copied().unwrap_or(1);
    Some([size(0), size(1), size(2)])
}

/// Reads `constants = [{ id = 0, name = "width" }]`, sorted.
pub(in crate::recipe) fn constants(reader: &mut Reader, value: &Value<'_>) -> Option<Vec<SpecConstant>> {
    let mut found = reader.list(value, "constants", |reader, value| {
        let mut fields = reader.fields(value, "a constant")?;
        let id = fields.required(reader, "id").and_then(|it| number(reader, it, "id", 0..=u64::from(u32::MAX)));
        let name = fields.required(reader, "name").and_then(|value| reader.text(value, "name"));
        fields.finish(reader);
        Some(SpecConstant { id: id?, name: name?.value })
    })?;
    found.sort();
    if let Some(twice) = found.windows(2).find(|pair| pair[0].id == pair[1].id) {
        reader.wrong(value.span(), format!("constant {} is declared twice", twice[0].id));
    }
    Some(found)
}

fn number(reader: &mut Reader, value: &Value<'_>, what: &str, range: std::ops::RangeInclusive<u64>) -> Option<u32> {
    u32::try_from(reader.integer(value, what, range)?.value).ok()
}
