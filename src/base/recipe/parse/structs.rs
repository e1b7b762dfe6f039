//! Structures that host and shaders share, as the kernel table declares them: to fields with offsets.

use std::collections::{BTreeMap, BTreeSet};

use super::reader::{Fields, Reader, Value};
use crate::gpu::BufferField;
use crate::layout::{self, FieldType, MOST_BYTES, MOST_FIELDS, Scalar, Structure};
use crate::recipe::diagnostic::Spanned;

/// A structure by the layout of C and of `std430` and scalar blocks: natural alignment, where it says no offsets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::recipe) struct Layout {
    /// Bytes of one, up to the next in an array.
    pub size: u32,
    /// Bytes.
    pub align: u32,
    /// All fields in order, those of structures in it by names with dots.
    pub fields: Vec<BufferField>,
    /// Its own fields.
    pub declared: Vec<layout::Field>,
}

/// Structures by name.
pub(in crate::recipe) type Structs = BTreeMap<String, Layout>;

/// What stands for structures that are about to be written.
pub(in crate::recipe) fn awaiting(names: &BTreeSet<String>) -> Structs {
    let byte = || Layout { size: 1, align: 1, fields: Vec::new(), declared: Vec::new() };
    names.iter().map(|name| (name.clone(), byte())).collect()
}

/// Reads `[[struct]]`. One may hold those that are declared above it, and those that are `awaited`.
pub(in crate::recipe) fn structs(reader: &mut Reader, value: &Value<'_>, awaited: &BTreeSet<String>) -> Structs {
    let (mut found, mut declared) = (awaiting(awaited), BTreeSet::new());
    reader.list(value, "struct", |reader, value| {
        let mut fields = reader.fields(value, "[[struct]]")?;
        let name = fields.required(reader, "name").and_then(|value| reader.text(value, "name"));
        let size = fields.get("size");
        let size = size.and_then(|value| reader.integer(value, "size", 1..=u64::from(MOST_BYTES)));
        let layout = fields.required(reader, "fields").and_then(|value| {
            let list = reader.list(value, "fields", |reader, value| field(reader, value, &found))?;
            let names = list.iter().map(|field| field.name.clone()).collect();
            reader.unique("fields", names);
            // A field that is wrong itself was told, and what follows it lies elsewhere.
            let is_whole = value.get_ref().as_array().is_some_and(|fields| fields.len() == list.len());
            is_whole.then(|| layout(reader, value, &list, size.as_ref()))?
        });
        fields.finish(reader);
        let (name, layout) = (name?, layout?);
        found.insert(name.value.clone(), layout);
        if !declared.insert(name.value.clone()) {
            reader.wrong(name.span, format!("struct `{}` is declared twice", name.value));
        }
        Some(())
    });
    found
}

/// The structures as they are compared with those of the host.
pub(in crate::recipe) fn structures(structs: Structs) -> Vec<Structure> {
    let structure = |(name, layout): (String, Layout)| Structure { name, size: layout.size, fields: layout.declared };
    structs.into_iter().map(structure).collect()
}

/// The structure that a key names.
pub(in crate::recipe) fn named<'s>(
    reader: &mut Reader,
    (key, value): (&str, &Value<'_>),
    structs: &'s Structs,
) -> Option<&'s Layout> {
    let name = reader.text(value, key)?;
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
    kind: FieldType,
    count: u32,
    /// Bytes of all elements.
    size: u32,
    align: u32,
    /// Of the first, where it is a structure.
    inner: Vec<BufferField>,
    /// Where the table says that it lies.
    offset: Option<Spanned<u64>>,
}

fn field(reader: &mut Reader, value: &Value<'_>, structs: &Structs) -> Option<Field> {
    let mut fields = reader.fields(value, "a field")?;
    let name = fields.required(reader, "name").and_then(|value| reader.text(value, "name"));
    let kinds: Vec<(&str, Option<Scalar>)> =
        Scalar::ALL.iter().map(|&scalar| (scalar.name(), Some(scalar))).chain([("struct", None)]).collect();
    let kind = fields.required(reader, "type").and_then(|value| reader.choice(value, "type", &kinds));
    let most = u64::from(MOST_BYTES);
    let count = fields.get("count").map_or(Some(1), |value| Some(reader.integer(value, "count", 1..=most)?.value));
    let offset = fields.get("offset").map(|value| reader.integer(value, "offset", 0..=most));
    let element = element(reader, &mut fields, kind.as_ref().map(|kind| kind.value), structs);
    fields.finish(reader);
    let Element { kind, size, align, inner } = element?;
    let size = u32::try_from(u64::from(size).checked_mul(count?)?).ok().filter(|size| *size <= MOST_BYTES);
    let name = name?;
    if size.is_none() {
        reader.wrong(name.span.clone(), format!("field `{}` is larger than {MOST_BYTES} bytes", name.value));
    }
    // An offset that is wrong was told.
    let offset = match offset {
        None => None,
        Some(offset) => Some(offset?),
    };
    Some(Field { name, kind, count: u32::try_from(count?).ok()?, size: size?, align, inner, offset })
}

/// One element of a field.
struct Element {
    kind: FieldType,
    size: u32,
    align: u32,
    inner: Vec<BufferField>,
}

fn element(
    reader: &mut Reader,
    fields: &mut Fields<'_, '_>,
    kind: Option<Option<Scalar>>,
    structs: &Structs,
) -> Option<Element> {
    let of = fields.get("of");
    match (kind?, of) {
        (Some(scalar), None) => {
            let (size, kind) = (scalar.size(), FieldType::Scalar(scalar));
            Some(Element { kind, size, align: size, inner: Vec::new() })
        }
        (Some(_), Some(value)) => {
            reader.wrong(value.span(), "`of` goes with type `struct` only");
            None
        }
        (None, Some(value)) => {
            let Layout { size, align, fields, .. } = named(reader, ("of", value), structs)?;
            let kind = FieldType::Structure(value.get_ref().as_str()?.to_owned());
            Some(Element { kind, size: *size, align: *align, inner: fields.clone() })
        }
        (None, None) => {
            fields.required(reader, "of");
            None
        }
    }
}

/// Where the fields lie: by natural alignment, but where the table says an offset.
fn layout(reader: &mut Reader, value: &Value<'_>, list: &[Field], size: Option<&Spanned<u64>>) -> Option<Layout> {
    let mut layout = Layout { size: 0, align: 1, fields: Vec::new(), declared: Vec::new() };
    let mut end = Some(0_u32);
    for field in list {
        let (name, align) = (&field.name.value, field.align);
        let natural = end.and_then(|end| end.checked_next_multiple_of(align));
        let offset = match &field.offset {
            None => natural,
            Some(asked) => {
                let offset = u32::try_from(asked.value).ok()?;
                if end.is_some_and(|end| offset < end) {
                    let before = layout.declared.last().map(|field| field.name.clone()).unwrap_or_default();
                    reader.wrong(asked.span.clone(), format!("`{name}` at {offset} lies over `{before}`"));
                    return None;
                }
                if !offset.is_multiple_of(align) {
                    let message = format!("offset {offset} of `{name}` is not a multiple of {align}, its alignment");
                    reader.wrong(asked.span.clone(), message);
                    return None;
                }
                Some(offset)
            }
        };
        end = offset.and_then(|offset| offset.checked_add(field.size)).filter(|end| *end <= MOST_BYTES);
        layout.align = layout.align.max(align);
        let Some(offset) = offset.filter(|_| layout.fields.len() < MOST_FIELDS) else { break };
        layout.add(field, offset);
    }
    let natural = end.and_then(|end| end.checked_next_multiple_of(layout.align)).filter(|size| *size > 0);
    let Some(natural) = natural.filter(|_| layout.fields.len() <= MOST_FIELDS) else {
        reader.wrong(value.span(), "the structure is empty or too large");
        return None;
    };
    layout.size = match size {
        None => natural,
        Some(asked) => {
            let fits = u64::from(natural) <= asked.value && asked.value.is_multiple_of(u64::from(layout.align));
            if !fits {
                let (size, align) = (asked.value, layout.align);
                let message =
                    format!("size {size} is not a multiple of {align} from {natural} on, where the fields end");
                reader.wrong(asked.span.clone(), message);
            }
            u32::try_from(asked.value).ok().filter(|_| fits)?
        }
    };
    Some(layout)
}

impl Layout {
    /// Adds a field at its place.
    fn add(&mut self, field: &Field, offset: u32) {
        let Field { kind, count, size, .. } = field;
        let name = &field.name.value;
        self.declared.push(layout::Field { name: name.clone(), offset, kind: kind.clone(), count: *count });
        self.fields.push(BufferField { name: name.clone(), offset, size: *size });
        self.fields.extend(field.inner.iter().map(|inner| BufferField {
            name: format!("{name}.{}", inner.name),
            // Within the field, whose end was looked at.
            offset: offset.saturating_add(inner.offset),
            size: inner.size,
        }));
    }
}
