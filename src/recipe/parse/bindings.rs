//! What a kernel of the form `spirv` expects at its bindings, as the kernel table declares it.

use std::collections::BTreeSet;

use super::reader::{Fields, Reader, Value};
use crate::gpu::{BufferBinding, SpirvResource};

/// Descriptor types that hold a buffer with a layout of its own.
const RESOURCES: [(&str, SpirvResource); 2] =
    [("storage-buffer", SpirvResource::StorageBuffer), ("uniform-buffer", SpirvResource::UniformBuffer)];

/// Most sets and bindings of any device today are far below.
const MOST: u64 = 65_535;

/// Reads `bindings = [{ set = 0, binding = 1, type = "storage-buffer", size = 4, stride = 8 }]`, sorted.
pub(in crate::recipe) fn bindings(reader: &mut Reader, value: &Value<'_>) -> Option<Vec<BufferBinding>> {
    let mut found = reader.list(value, "bindings", binding)?;
    let mut seen = BTreeSet::new();
    if let Some(twice) = found.iter().find(|one| !seen.insert((one.set, one.binding))) {
        reader.wrong(value.span(), format!("set {} binding {} is declared twice", twice.set, twice.binding));
    }
    found.sort();
    Some(found)
}

fn binding(reader: &mut Reader, value: &Value<'_>) -> Option<BufferBinding> {
    let mut fields = reader.fields(value, "a binding")?;
    let kind = fields.required(reader, "type").and_then(|value| reader.choice(value, "type", &RESOURCES));
    let set = fields.get("set").map_or(Some(0), |value| number(reader, value, "set", 0..=MOST));
    let at = fields.required(reader, "binding").and_then(|value| number(reader, value, "binding", 0..=MOST));
    let size = fields.required(reader, "size");
    let size = size.and_then(|value| number(reader, value, "size", 0..=u64::from(u32::MAX)));
    let stride = stride(reader, &mut fields);
    fields.finish(reader);
    Some(BufferBinding { set: set?, binding: at?, resource: kind?.value, size: size?, stride: stride? })
}

/// Nothing for a buffer without an open end; none when what is there is wrong.
fn stride(reader: &mut Reader, fields: &mut Fields<'_, '_>) -> Option<Option<u32>> {
    let Some(value) = fields.get("stride") else { return Some(None) };
    number(reader, value, "stride", 1..=u64::from(u32::MAX)).map(Some)
}

fn number(reader: &mut Reader, value: &Value<'_>, what: &str, range: std::ops::RangeInclusive<u64>) -> Option<u32> {
    u32::try_from(reader.integer(value, what, range)?.value).ok()
}
