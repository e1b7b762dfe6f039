//! What structures must be to be shared, and the order in which each stands behind those that it holds.

use std::collections::{BTreeMap, BTreeSet};

use super::{Field, FieldType, LayoutError, Structure};

/// Bytes of a structure: far above any, and nothing overflows.
pub const MOST_BYTES: u32 = 1 << 28;
/// Fields of a structure with those of the structures in it.
pub const MOST_FIELDS: usize = 4096;
/// Structures in structures: deeper nobody means it.
const MOST_DEPTH: usize = 32;

/// Size and alignment of a structure, and the number of its fields with those of structures in it.
#[derive(Clone, Copy)]
struct Measured {
    size: u32,
    align: u32,
    fields: usize,
}

/// The structures, each behind those that it holds; otherwise in their order.
///
/// # Errors
/// A name is taken twice or is none, a structure holds itself or one that is not there, or lies as no shader can have it.
pub fn ordered(structures: Vec<Structure>) -> Result<Vec<Structure>, LayoutError> {
    let mut names = BTreeMap::new();
    for (index, structure) in structures.iter().enumerate() {
        named(&structure.name)?;
        if names.insert(structure.name.as_str(), index).is_some() {
            return Err(LayoutError::Damaged(format!("there are two structures `{}`", structure.name)));
        }
    }
    let mut order = Order { structures: &structures, names, measured: BTreeMap::new(), order: Vec::new() };
    for index in 0..structures.len() {
        order.visit(index, 0)?;
    }
    let order = order.order;
    let mut structures: Vec<Option<Structure>> = structures.into_iter().map(Some).collect();
    Ok(order.into_iter().filter_map(|index| structures[index].take()).collect())
}

struct Order<'a> {
    structures: &'a [Structure],
    names: BTreeMap<&'a str, usize>,
    measured: BTreeMap<usize, Measured>,
    order: Vec<usize>,
}

impl Order<'_> {
    fn visit(&mut self, index: usize, depth: usize) -> Result<Measured, LayoutError> {
        if let Some(known) = self.measured.get(&index) {
            return Ok(*known);
        }
        let structure = &self.structures[index];
        if depth > MOST_DEPTH {
            return Err(LayoutError::unfit(&structure.name, "holds itself, or structures too deep"));
        }
        let mut seen = BTreeSet::new();
        let mut measured = Measured { size: structure.size, align: 1, fields: 0 };
        let (mut end, mut last) = (0_u32, "");
        for field in &structure.fields {
            let place = || format!("{}.{}", structure.name, field.name);
            named(&field.name)?;
            if !seen.insert(&field.name) {
                return Err(LayoutError::unfit(place(), "is there twice"));
            }
            let element = match &field.kind {
                FieldType::Scalar(scalar) => Measured { size: scalar.size(), align: scalar.size(), fields: 0 },
                FieldType::Structure(of) => match self.names.get(of.as_str()) {
                    Some(of) => self.visit(*of, depth + 1)?,
                    None => return Err(LayoutError::unfit(place(), format!("is a `{of}`, which is not described"))),
                },
            };
            if !field.offset.is_multiple_of(element.align) {
                let why =
                    format!("is at {}, no multiple of {}: no device reads what is packed", field.offset, element.align);
                return Err(LayoutError::unfit(place(), why));
            }
            if field.offset < end {
                return Err(LayoutError::unfit(place(), format!("lies over `{last}`")));
            }
            let size = element.size.checked_mul(field.count).filter(|size| (1..=MOST_BYTES).contains(size));
            let next = size.and_then(|size| field.offset.checked_add(size)).filter(|end| *end <= structure.size);
            end = next.ok_or_else(|| {
                let why = format!("does not fit into the {} bytes of its structure", structure.size);
                LayoutError::unfit(place(), why)
            })?;
            last = &field.name;
            measured.align = measured.align.max(element.align);
            measured.fields += 1 + element.fields;
        }
        if structure.fields.is_empty() {
            return Err(LayoutError::unfit(&structure.name, "has no fields"));
        }
        if measured.fields > MOST_FIELDS || structure.size > MOST_BYTES {
            return Err(LayoutError::unfit(&structure.name, "is too large"));
        }
        if !structure.size.is_multiple_of(measured.align) {
            let why = format!(
                "has {} bytes, no multiple of {}: no device reads what is packed",
                structure.size, measured.align
            );
            return Err(LayoutError::unfit(&structure.name, why));
        }
        self.measured.insert(index, measured);
        self.order.push(index);
        Ok(measured)
    }
}

/// Names that every language of shaders could have.
fn named(name: &str) -> Result<(), LayoutError> {
    let is_letter = |c: char| c.is_alphanumeric() || c == '_';
    let fits = name.len() <= 256 && name.starts_with(|c: char| is_letter(c) && !c.is_ascii_digit());
    if fits && name.chars().all(is_letter) {
        return Ok(());
    }
    Err(LayoutError::unfit(name, "cannot be the name of a structure or field"))
}

/// Where each field would lie by natural alignment, as C lays structures out, behind the one before it, and the size that the
/// whole would have: what a structure need not say. None of what is too large.
pub fn natural_offsets(fields: &[Field], structures: &[Structure]) -> Option<(Vec<u32>, u32)> {
    let (mut end, mut align) = (0_u32, 1);
    let mut offsets = Vec::new();
    for field in fields {
        let (size, one) = element(&field.kind, structures, 0)?;
        offsets.push(end.checked_next_multiple_of(one)?);
        end = field.offset.checked_add(size.checked_mul(field.count)?)?;
        align = align.max(one);
    }
    Some((offsets, end.checked_next_multiple_of(align)?))
}

/// Size and alignment of one element.
fn element(kind: &FieldType, structures: &[Structure], depth: usize) -> Option<(u32, u32)> {
    match kind {
        FieldType::Scalar(scalar) => Some((scalar.size(), scalar.size())),
        FieldType::Structure(of) => {
            let of = structures.iter().find(|one| one.name == *of).filter(|_| depth <= MOST_DEPTH)?;
            let aligns = of.fields.iter().map(|field| Some(element(&field.kind, structures, depth + 1)?.1));
            Some((of.size, aligns.collect::<Option<Vec<u32>>>()?.into_iter().max().unwrap_or(1)))
        }
    }
}
