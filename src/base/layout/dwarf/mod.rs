//! Structures out of the debug information (DWARF, versions 2 to 5) of what a compiler of C or C++ made. In an object that
//! simpack has compiled itself types are found by variables that point to them ([`dwarf_structures`]), so names are looked up
//! by the compiler: namespaces, aliases, templates. In what others made they are found by their names ([`compiled_types`]).

mod entries;
mod named;
mod sections;
#[cfg(test)]
mod tests;
mod types;

pub use named::{CompiledType, compiled_types};

use gimli::{DW_TAG_variable, UnitOffset};

use self::entries::{Entries, type_of, unreadable};
use self::sections::Sections;
use self::types::Types;
use super::{LayoutError, Structure, ordered};
use crate::budget::Budget;

/// How the variables begin that point to types.
const ANCHOR: &str = "simpack_structure_";

/// The variable of the type of a number: a pointer to it, so it needs no constructor, defined, so it is in the debug
/// information.
pub fn anchor(number: usize) -> String {
    format!("{ANCHOR}{number}")
}

/// The structures that the anchors point to, by the names that they are to have, with those that they hold, each behind
/// what it holds.
///
/// # Errors
/// The object cannot be read, a structure is not in it, or no shader can have it: a union, a class with a base or virtual
/// functions, a bit-field.
pub fn dwarf_structures(object: &[u8], names: &[&str]) -> Result<Vec<Structure>, LayoutError> {
    let budget = Budget::of(object);
    let sections = Sections::of(object, &budget)?;
    let dwarf = sections.dwarf();
    let mut units = dwarf.units();
    while let Some(header) = units.next().map_err(unreadable)? {
        let unit = dwarf.unit(header).map_err(unreadable)?;
        let entries = Entries { unit: unit.unit_ref(&dwarf), budget: &budget };
        let anchors = anchors(entries, names.len())?;
        if anchors.iter().all(Option::is_none) {
            continue;
        }
        // All stand in one unit, behind the headers.
        if let Some((_, name)) = anchors.iter().zip(names).find(|(at, _)| at.is_none()) {
            return Err(missing(name));
        }
        return ordered(Types::of(entries, anchors.into_iter().flatten().zip(names.iter().copied()))?);
    }
    names.first().map_or(Ok(Vec::new()), |name| Err(missing(name)))
}

fn missing(name: &str) -> LayoutError {
    LayoutError::Missing { name: name.to_owned(), known: Vec::new() }
}

/// The type that each anchor points to.
fn anchors(entries: Entries<'_, '_>, count: usize) -> Result<Vec<Option<UnitOffset>>, LayoutError> {
    let mut found = vec![None; count];
    let mut cursor = entries.unit.entries();
    // The unit itself, and the first entry in it.
    cursor.next_dfs().map_err(unreadable)?;
    cursor.next_dfs().map_err(unreadable)?;
    while let Some(entry) = cursor.current() {
        if entry.tag() == DW_TAG_variable
            && let Some(name) = entries.name(entry)?
            && let Some(number) = name.strip_prefix(ANCHOR).and_then(|number| number.parse::<usize>().ok())
            && let Some(slot) = found.get_mut(number)
            && let Some(kind) = type_of(entry)?
        {
            *slot = Some(types::pointed_to(entries, kind)?);
        }
        if cursor.next_sibling().map_err(unreadable)?.is_none() {
            break;
        }
    }
    Ok(found)
}
