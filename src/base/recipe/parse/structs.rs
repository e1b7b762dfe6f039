//! Structures that host and shaders share, as the kernel table declares them: to fields with offsets.

use std::collections::BTreeMap;

use super::reader::{Fields, Reader, Value};
use super::table::SCALARS;
use crate::gpu::BufferField;
use crate::recipe::diagnostic::Spanned;

/// Bytes of a structure, and elements of an array in it: far above any, and nothing overflows.
const MOST: u64 = 1 << 28;
/// Fields of a structure with those of the structures in it.
const MOST_FIELDS: usize = 4096;

/// A structure by the layout of C and of `std430` and scalar blocks: natural alignment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::recipe) struct Layout {
    /// Bytes of one, up to the next in an array.
    pub size: u32,
    /// Bytes.
    pub align: u32,
    /// All fields in order, those of structures in it by names with dots.
    pub fields: Vec<BufferField>,
}

/// Structures by name.
pub(in crate::recipe) type Structs = BTreeMap<String, Layout>;

/// Reads `[[struct]]`. One may hold those that are declared above it.
pub(in crate::recipe) fn structs(reader: &mut Reader, value: &Value<'_>) -> Structs {
    let mut found = Structs::new();
    reader.list(value, "struct", |reader, value| {
        let mut fields = reader.fields(value, "[[struct]]")?;
        let name = fields.required(reader, "name").and_then(|value| reader.text(value, "name"));
        let layout = fields.required(reader, "fields").and_then(|value| {
            let list = reader.list(value, "fields", |reader, value| field(reader, value, &found))?;
            let names = list.iter().map(|field| field.name.clone()).collect();
            reader.unique("fields", names);
            let layout = layout(&list);
            // A field that is wrong itself was told.
            let is_whole = value.get_ref().as_array().is_some_and(|fields| fields.len() == list.len());
            if layout.is_none() && is_whole {
                reader.wrong(value.span(), "the structure is empty or too large");
            }
            layout
        });
        fields.finish(reader);
        let (name, layout) = (name?, layout?);
        if found.insert(name.value.clone(), layout).is_some() {
            reader.wrong(name.span, format!("struct `{}` is declared twice", name.value));
        }
        Some(())
    });
    found
}

/// The structure that a key names.
pub(in crate::recipe) fn named<'s>(reader: &mut Reader, value: &Value<'_>, structs: &'s Structs) -> Option<&'s Layout> {
    let name = reader.text(value, "of")?;
    let found = structs.get(&name.value);
    if found.is_none() {
        let mistake = reader.mistake(name.span, format!("no struct `{}` is declared above", name.value));
        reader.push(mistake.known("declared", structs.keys()).near(&name.value, structs.keys()));
    }
    found
}

/// A field before it has its place.
struct Field {
    name: Spanned<String>,
    size: u32,
    align: u32,
    /// Of the first, where it is a structure.
    inner: Vec<BufferField>,
}

fn field(reader: &mut Reader, value: &Value<'_>, structs: &Structs) -> Option<Field> {
    let mut fields = reader.fields(value, "a field")?;
    let name = fields.required(reader, "name").and_then(|value| reader.text(value, "name"));
    let kinds: Vec<(&str, Option<u32>)> =
        SCALARS.iter().map(|&(name, size)| (name, Some(size))).chain([("struct", None)]).collect();
    let kind = fields.required(reader, "type").and_then(|value| reader.choice(value, "type", &kinds));
    let count = fields.get("count").map_or(Some(1), |value| Some(reader.integer(value, "count", 1..=MOST)?.value));
    let of = inner(reader, &mut fields, kind.as_ref().map(|kind| kind.value), structs);
    fields.finish(reader);
    let (size, align, inner) = of?;
    let size = u32::try_from(u64::from(size).checked_mul(count?)?).ok().filter(|size| u64::from(*size) <= MOST);
    let name = name?;
    if size.is_none() {
        reader.wrong(name.span.clone(), format!("field `{}` is larger than {MOST} bytes", name.value));
    }
    Some(Field { name, size: size?, align, inner })
}

/// Size, alignment and fields of one element.
fn inner(
    reader: &mut Reader,
    fields: &mut Fields<'_, '_>,
    kind: Option<Option<u32>>,
    structs: &Structs,
) -> Option<(u32, u32, Vec<BufferField>)> {
    let of = fields.get("of");
    match (kind?, of) {
        (Some(size), None) => Some((size, size, Vec::new())),
        (Some(_), Some(value)) => {
            reader.wrong(value.span(), "`of` goes with type `struct` only");
            None
        }
        (None, Some(value)) => {
            let Layout { size, align, fields } = named(reader, value, structs)?;
            Some((*size, *align, fields.clone()))
        }
        (None, None) => {
            fields.required(reader, "of");
            None
        }
    }
}

/// Offsets by natural alignment; none of nothing, and of what is too large.
fn layout(fields: &[Field]) -> Option<Layout> {
    let (mut end, mut align) = (0_u32, 1);
    let mut placed = Vec::new();
    for field in fields {
        let offset = end.checked_next_multiple_of(field.align)?;
        end = offset.checked_add(field.size).filter(|end| u64::from(*end) <= MOST)?;
        align = align.max(field.align);
        placed.push(BufferField { name: field.name.value.clone(), offset, size: field.size });
        placed.extend(field.inner.iter().map(|inner| BufferField {
            name: format!("{}.{}", field.name.value, inner.name),
            offset: offset + inner.offset,
            size: inner.size,
        }));
        if placed.len() > MOST_FIELDS {
            return None;
        }
    }
    let size = end.checked_next_multiple_of(align).filter(|size| *size > 0)?;
    Some(Layout { size, align, fields: placed })
}
