//! Entries of types as structures.

use std::collections::BTreeMap;

use gimli::constants as dw;
use gimli::{AttributeValue, DwTag, UnitOffset};

use super::entries::{Entries, Entry, number, type_of};
use crate::layout::{Field, FieldType, LayoutError, MOST_FIELDS, Scalar, Structure};

/// Aliases of aliases, dimensions of an array, structures in structures: deeper nobody means it.
const MOST_DEPTH: usize = 32;
/// Structures of one table.
const MOST_STRUCTURES: usize = 1024;

/// Whether a type is another one by another name, or with a promise of who changes it.
fn is_alias(tag: DwTag) -> bool {
    [
        dw::DW_TAG_typedef,
        dw::DW_TAG_const_type,
        dw::DW_TAG_volatile_type,
        dw::DW_TAG_atomic_type,
        dw::DW_TAG_restrict_type,
    ]
    .contains(&tag)
}

pub(super) fn is_structure(tag: DwTag) -> bool {
    [dw::DW_TAG_structure_type, dw::DW_TAG_class_type].contains(&tag)
}

/// What a type is without aliases; none of an alias of `void`.
pub(super) fn behind_aliases(entries: Entries<'_, '_>, mut at: UnitOffset) -> Result<Option<UnitOffset>, LayoutError> {
    for _ in 0..MOST_DEPTH {
        let entry = entries.at(at)?;
        if !is_alias(entry.tag()) {
            return Ok(Some(at));
        }
        let Some(next) = type_of(&entry)? else { return Ok(None) };
        at = next;
    }
    Err(LayoutError::Damaged("aliases of the debug information have no end".to_owned()))
}

/// What a pointer points to, without aliases on the way.
pub(super) fn pointed_to(entries: Entries<'_, '_>, at: UnitOffset) -> Result<UnitOffset, LayoutError> {
    let nothing = || LayoutError::Damaged("a pointer of the debug information points to nothing".to_owned());
    let pointer = behind_aliases(entries, at)?.ok_or_else(nothing)?;
    let entry = entries.at(pointer)?;
    if entry.tag() != dw::DW_TAG_pointer_type {
        return Ok(pointer);
    }
    let at = type_of(&entry)?.ok_or_else(nothing)?;
    behind_aliases(entries, at)?.ok_or_else(nothing)
}

/// Structures that were read, and those that have a name already.
pub(super) struct Types<'u, 'b> {
    entries: Entries<'u, 'b>,
    names: BTreeMap<UnitOffset, String>,
    found: Vec<Structure>,
}

impl<'u, 'b> Types<'u, 'b> {
    /// The structures of these types by these names, with those that they hold.
    pub fn of<'n>(
        entries: Entries<'u, 'b>,
        roots: impl Iterator<Item = (UnitOffset, &'n str)>,
    ) -> Result<Vec<Structure>, LayoutError> {
        let mut types = Self { entries, names: BTreeMap::new(), found: Vec::new() };
        let roots: Vec<(UnitOffset, &str)> = roots.collect();
        for (at, name) in &roots {
            types.names.entry(*at).or_insert_with(|| (*name).to_owned());
        }
        for (at, name) in roots {
            types.is_structure(at, name)?;
            let first = types.structure(at, 0)?;
            // A structure that was asked for by two names.
            if first != name
                && let Some(same) = types.found.iter().find(|one| one.name == first).cloned()
            {
                types.found.push(Structure { name: name.to_owned(), ..same });
            }
        }
        Ok(types.found)
    }

    fn is_structure(&self, at: UnitOffset, place: &str) -> Result<(), LayoutError> {
        match self.entries.at(at)?.tag() {
            tag if is_structure(tag) => Ok(()),
            dw::DW_TAG_union_type => {
                Err(LayoutError::unfit(place, "is a union, of which no shader knows what is in it"))
            }
            _ => Err(LayoutError::unfit(place, "is no structure")),
        }
    }

    /// Reads a structure that has a name, once; answers the name.
    fn structure(&mut self, at: UnitOffset, depth: usize) -> Result<String, LayoutError> {
        let name = self.names.get(&at).cloned().unwrap_or_default();
        if self.found.iter().any(|one| one.name == name) {
            return Ok(name);
        }
        if depth > MOST_DEPTH || self.found.len() >= MOST_STRUCTURES {
            return Err(LayoutError::unfit(name, "holds too many structures"));
        }
        let entry = self.entries.at(at)?;
        if entry.has_attr(dw::DW_AT_declaration) {
            // Compilers describe a class with virtual functions where its first one is defined.
            let why = "is not described by the compiler: it has virtual functions, or is declared alone";
            return Err(LayoutError::unfit(name, why));
        }
        let size = number(&entry, dw::DW_AT_byte_size).and_then(|size| u32::try_from(size).ok());
        let size = size.ok_or_else(|| LayoutError::unfit(&name, "is too large"))?;
        let mut fields = Vec::new();
        self.fields((at, &name), 0, depth, &mut fields)?;
        fields.sort_by_key(|field| field.offset);
        self.found.push(Structure { name: name.clone(), size, fields });
        Ok(name)
    }

    /// Adds the fields of a structure, which lies at `base` in the one that is called `of`.
    fn fields(
        &mut self,
        (at, of): (UnitOffset, &str),
        base: u64,
        depth: usize,
        fields: &mut Vec<Field>,
    ) -> Result<(), LayoutError> {
        for member in self.entries.below(at)? {
            if member.tag() == dw::DW_TAG_inheritance {
                return Err(LayoutError::unfit(of, "has a base class: only what lies as in C is the same in a shader"));
            }
            // Members that all objects share are variables.
            if member.tag() != dw::DW_TAG_member
                || member.has_attr(dw::DW_AT_external)
                || member.has_attr(dw::DW_AT_declaration)
            {
                continue;
            }
            let name = self.entries.name(&member)?;
            if member.has_attr(dw::DW_AT_artificial) || name.as_ref().is_some_and(|name| name.starts_with("_vptr")) {
                return Err(LayoutError::unfit(of, "has virtual functions: the host's pointer to them is in it"));
            }
            let place = format!("{of}.{}", name.as_deref().unwrap_or("(without a name)"));
            if member.has_attr(dw::DW_AT_bit_size) {
                return Err(LayoutError::unfit(place, "is a bit-field, which no shader has"));
            }
            let offset = self.entries.offset(&member);
            let offset =
                offset.ok_or_else(|| LayoutError::unfit(&place, "has a place that is known at run time only"))?;
            let offset = base.saturating_add(offset);
            let kind = type_of(&member)?.ok_or_else(|| LayoutError::unfit(&place, "has no type"))?;
            let Some(name) = name else {
                // The fields of a structure without a name are those of the one that it is in.
                let inner = pointed_to(self.entries, kind)?;
                self.is_structure(inner, &place)?;
                if depth > MOST_DEPTH {
                    return Err(LayoutError::unfit(of, "holds structures too deep"));
                }
                self.fields((inner, of), offset, depth + 1, fields)?;
                continue;
            };
            let (kind, count) = self.shape(kind, (&place, of, &name), depth)?;
            let offset = u32::try_from(offset).map_err(|_| LayoutError::unfit(&place, "lies too far"))?;
            fields.push(Field { name, offset, kind, count });
            if fields.len() > MOST_FIELDS {
                return Err(LayoutError::unfit(of, "is too large"));
            }
        }
        Ok(())
    }

    /// What a field is an element of, and of how many.
    fn shape(
        &mut self,
        mut at: UnitOffset,
        (place, of, field): (&str, &str, &str),
        depth: usize,
    ) -> Result<(FieldType, u32), LayoutError> {
        let unfit = |why: &str| LayoutError::unfit(place, why);
        let (mut count, mut alias) = (1_u32, None);
        for _ in 0..MOST_DEPTH {
            let entry = self.entries.at(at)?;
            let next = match entry.tag() {
                tag if is_alias(tag) => {
                    alias = if tag == dw::DW_TAG_typedef { self.entries.name(&entry)? } else { alias };
                    type_of(&entry)?
                }
                dw::DW_TAG_array_type => {
                    let elements = elements(self.entries, at).map_err(|error| {
                        error.unwrap_or_else(|| {
                            unfit("is an array without a fixed length: bind it by itself, as an array without an end")
                        })
                    })?;
                    count = count.checked_mul(elements).ok_or_else(|| unfit("is too large"))?;
                    type_of(&entry)?
                }
                dw::DW_TAG_enumeration_type => match type_of(&entry)? {
                    Some(of) => Some(of),
                    None => {
                        return Ok((FieldType::Scalar(unsigned(&entry).ok_or_else(|| unfit("is too large"))?), count));
                    }
                },
                dw::DW_TAG_base_type => return Ok((FieldType::Scalar(scalar(self.entries, &entry, place)?), count)),
                dw::DW_TAG_pointer_type => return Ok((FieldType::Scalar(Scalar::Ptr), count)),
                tag if is_structure(tag) => match self.array_of_library(at, &entry)? {
                    Some(array) => Some(array),
                    None => {
                        let own = self.entries.name(&entry)?.or(alias).unwrap_or_else(|| format!("{of}_{field}"));
                        return Ok((FieldType::Structure(self.nested(at, &own, depth)?), count));
                    }
                },
                dw::DW_TAG_union_type => return Err(unfit("is a union, of which no shader knows what is in it")),
                _ => return Err(unfit("has a type that no shader has: a reference, or a pointer to a member")),
            };
            at = next.ok_or_else(|| unfit("has no type"))?;
        }
        Err(unfit("has aliases without an end"))
    }

    /// Reads a structure inside of another one; answers its name.
    fn nested(&mut self, at: UnitOffset, own: &str, depth: usize) -> Result<String, LayoutError> {
        if !self.names.contains_key(&at) {
            // `Pair<float, 3>` is no name in a table.
            let words = own.split(|c: char| !(c.is_alphanumeric() || c == '_')).filter(|word| !word.is_empty());
            let name = words.collect::<Vec<_>>().join("_");
            if self.names.values().any(|other| *other == name) {
                let why = "is the name of two structures: give one of them another in the host";
                return Err(LayoutError::unfit(name, why));
            }
            self.names.insert(at, name);
        }
        self.structure(at, depth + 1)
    }

    /// The array in a `std::array`, which lies as that array does: the C++ library's one member of a name that is reserved
    /// for it.
    fn array_of_library(&self, at: UnitOffset, entry: &Entry<'b>) -> Result<Option<UnitOffset>, LayoutError> {
        if !self.entries.name(entry)?.is_some_and(|name| name.starts_with("array<")) {
            return Ok(None);
        }
        let members = self.entries.below(at)?;
        let mut members =
            members.iter().filter(|one| one.tag() == dw::DW_TAG_member && !one.has_attr(dw::DW_AT_external));
        let (Some(only), None) = (members.next(), members.next()) else { return Ok(None) };
        let is_its = matches!(self.entries.name(only)?.as_deref(), Some("_M_elems" | "__elems_"));
        if is_its { type_of(only) } else { Ok(None) }
    }
}

/// The elements of all dimensions of an array; no error to tell where one has no length.
fn elements(entries: Entries<'_, '_>, at: UnitOffset) -> Result<u32, Option<LayoutError>> {
    let mut count = None;
    for dimension in entries.below(at)?.iter().filter(|one| one.tag() == dw::DW_TAG_subrange_type) {
        let length =
            number(dimension, dw::DW_AT_count).or_else(|| number(dimension, dw::DW_AT_upper_bound)?.checked_add(1));
        let length = length.and_then(|length| u32::try_from(length).ok()).filter(|length| *length > 0).ok_or(None)?;
        count = Some(count.unwrap_or(1_u32).checked_mul(length).ok_or(None)?);
    }
    count.ok_or(None)
}

/// The unsigned integer of an entry's size.
fn unsigned(entry: &Entry<'_>) -> Option<Scalar> {
    Some(match number(entry, dw::DW_AT_byte_size)? {
        1 => Scalar::U8,
        2 => Scalar::U16,
        4 => Scalar::U32,
        8 => Scalar::U64,
        _ => return None,
    })
}

fn scalar<'b>(entries: Entries<'_, 'b>, entry: &Entry<'b>, place: &str) -> Result<Scalar, LayoutError> {
    let encoding = match entry.attr_value(dw::DW_AT_encoding) {
        Some(AttributeValue::Encoding(encoding)) => Some(encoding),
        _ => None,
    };
    let size = number(entry, dw::DW_AT_byte_size);
    let name = entries.name(entry)?.unwrap_or_default();
    let found = match encoding {
        Some(dw::DW_ATE_float) => match size {
            Some(2) if !name.contains("bf") => Some(Scalar::F16),
            Some(4) => Some(Scalar::F32),
            Some(8) => Some(Scalar::F64),
            _ => None,
        },
        Some(dw::DW_ATE_signed | dw::DW_ATE_signed_char) => match size {
            Some(1) => Some(Scalar::I8),
            Some(2) => Some(Scalar::I16),
            Some(4) => Some(Scalar::I32),
            Some(8) => Some(Scalar::I64),
            _ => None,
        },
        Some(dw::DW_ATE_unsigned | dw::DW_ATE_unsigned_char | dw::DW_ATE_boolean | dw::DW_ATE_UTF) => unsigned(entry),
        _ => None,
    };
    found.ok_or_else(|| LayoutError::unfit(place, format!("is a `{name}`, which no shader has")))
}
