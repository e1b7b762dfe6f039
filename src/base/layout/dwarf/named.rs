//! Types of an object that somebody else compiled, a linked one most often, by the names that its source gives them.

use std::collections::BTreeSet;

use gimli::constants as dw;
use gimli::{Reader, UnitOffset};

use super::entries::{Entries, Entry, referred, unreadable};
use super::sections::{Bytes, Sections};
use super::types::{Types, behind_aliases, is_structure};
use crate::budget::Budget;
use crate::layout::{LayoutError, Structure, ordered};

/// Names in names: deeper nobody means it.
const MOST_DEPTH: usize = 32;
/// Layouts of one type that are told apart: each unit may have its own, and one is right.
const MOST_LAYOUTS: usize = 8;

/// A type as a unit of an object has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompiledType {
    /// Its name, as it was asked for.
    pub name: String,
    /// The source file of the first unit that has it so.
    pub unit: Option<String>,
    /// The structure behind those that it holds, or why no shader can have it.
    pub structures: Result<Vec<Structure>, LayoutError>,
}

/// How types lie that are asked for by their names in C++, C or Rust: `net::Neuron`, `struct Pool`. Of each every layout
/// that a unit has; none of what no unit describes, and none at all of an object without debug information.
///
/// # Errors
/// The debug information cannot be read, or takes too much for the size of the object.
pub fn compiled_types(
    object: &[u8],
    names: &BTreeSet<&str>,
    budget: &Budget,
) -> Result<Vec<CompiledType>, LayoutError> {
    let sections = Sections::of(object, budget)?;
    let wanted: Vec<Wanted<'_>> = names.iter().map(|name| Wanted::of(name)).collect();
    let wanted: Vec<&Wanted<'_>> = wanted.iter().filter(|one| sections.mention(one.last())).collect();
    let mut found: Vec<CompiledType> = Vec::new();
    if wanted.is_empty() {
        return Ok(found);
    }
    let dwarf = sections.dwarf();
    let mut units = dwarf.units();
    while let Some(header) = units.next().map_err(unreadable)? {
        let unit = dwarf.unit(header).map_err(unreadable)?;
        let entries = Entries { unit: unit.unit_ref(&dwarf), budget };
        let root = entries.unit.header.root_offset();
        let mut search = Search { entries, found: Vec::new() };
        let paths = wanted.iter().map(|one| (*one, one.path.as_slice())).collect();
        search.below(root, paths, 0)?;
        for (one, at) in search.found {
            let structures = Types::of(entries, std::iter::once((at, one.last()))).and_then(ordered);
            let is_same = |other: &CompiledType| other.name == one.name && other.structures == structures;
            let layouts = found.iter().filter(|other| other.name == one.name).count();
            if layouts < MOST_LAYOUTS && !found.iter().any(is_same) {
                let unit = entries.name(&entries.at(root)?)?;
                found.push(CompiledType { name: one.name.to_owned(), unit, structures });
            }
        }
    }
    Ok(found)
}

/// A name that is looked for.
struct Wanted<'n> {
    name: &'n str,
    /// Its parts: those of the namespaces and structures that it is in, and its own.
    path: Vec<&'n str>,
    /// Whether an alias of that name is none of it: `struct Pool`.
    is_tag: bool,
}

impl<'n> Wanted<'n> {
    fn of(name: &'n str) -> Self {
        let tag = ["struct ", "class "].iter().find_map(|word| name.strip_prefix(word));
        let path = tag.unwrap_or(name);
        let path = path.strip_prefix("::").unwrap_or(path).split("::").collect();
        Self { name, path, is_tag: tag.is_some() }
    }

    fn last(&self) -> &'n str {
        self.path.last().copied().unwrap_or_default()
    }
}

/// Names with what is left of each below the entry that is looked into.
type Paths<'w, 'n> = Vec<(&'w Wanted<'n>, &'w [&'n str])>;

/// The search in one unit.
struct Search<'w, 'n, 'u, 'b> {
    entries: Entries<'u, 'b>,
    found: Vec<(&'w Wanted<'n>, UnitOffset)>,
}

impl<'w, 'n, 'b> Search<'w, 'n, '_, 'b> {
    /// Looks through the entries right below one.
    fn below(&mut self, at: UnitOffset, paths: Paths<'w, 'n>, depth: usize) -> Result<(), LayoutError> {
        if depth > MOST_DEPTH {
            return Ok(());
        }
        let unit = self.entries.unit;
        let mut tree = unit.entries_tree(Some(at)).map_err(unreadable)?;
        let mut children = tree.root().map_err(unreadable)?.children();
        let (mut last, mut inside) = (at.0, Vec::new());
        while let Some(node) = children.next().map_err(unreadable)? {
            let entry = node.entry();
            self.entries.pass(entry.offset().0.saturating_sub(last))?;
            last = entry.offset().0;
            let paths = self.matching(entry, &paths)?;
            if !paths.is_empty() {
                inside.push((entry.offset(), paths));
            }
        }
        inside.into_iter().try_for_each(|(at, paths)| self.below(at, paths, depth + 1))
    }

    /// Notes the types that an entry is; answers which are to be looked for below it.
    fn matching(&mut self, entry: &Entry<'b>, paths: &Paths<'w, 'n>) -> Result<Paths<'w, 'n>, LayoutError> {
        let tag = entry.tag();
        let is_inside = tag == dw::DW_TAG_namespace || is_structure(tag);
        let is_alias = [dw::DW_TAG_typedef, dw::DW_TAG_imported_declaration].contains(&tag);
        if !(is_inside || is_alias) {
            return Ok(Vec::new());
        }
        let (mut name, mut target) = (self.entries.raw_name(entry)?, entry.offset());
        if tag == dw::DW_TAG_imported_declaration {
            let Some(import) = referred(entry, dw::DW_AT_import) else { return Ok(Vec::new()) };
            // `using net::Neuron;` has no name of its own.
            name = name.or(self.entries.raw_name(&self.entries.at(import)?)?);
            target = import;
        }
        let name = name.as_ref().map(Reader::to_slice).transpose().map_err(unreadable)?;
        let is_transparent =
            tag == dw::DW_TAG_namespace && (name.is_none() || entry.has_attr(dw::DW_AT_export_symbols));
        let mut inside = if is_transparent { paths.clone() } else { Vec::new() };
        for (wanted, path) in paths {
            let Some((first, rest)) = path.split_first() else { continue };
            if name.as_deref() != Some(first.as_bytes()) {
                continue;
            }
            match rest {
                [] if tag == dw::DW_TAG_namespace || (is_alias && wanted.is_tag) => {}
                [] => self.note(wanted, target)?,
                _ if is_inside => inside.push((*wanted, rest)),
                _ => {}
            }
        }
        Ok(inside)
    }

    /// Notes a type that is a structure, and described.
    fn note(&mut self, wanted: &'w Wanted<'n>, at: UnitOffset) -> Result<(), LayoutError> {
        let Some(at) = behind_aliases(self.entries, at)? else { return Ok(()) };
        let entry = self.entries.at(at)?;
        let is_described = is_structure(entry.tag()) && !entry.has_attr(dw::DW_AT_declaration);
        let is_known = self.found.iter().any(|(other, known)| other.name == wanted.name && *known == at);
        if is_described && !is_known {
            self.found.push((wanted, at));
        }
        Ok(())
    }
}

impl<'b> Entries<'_, 'b> {
    /// The name of an entry, to be looked at and not kept.
    fn raw_name(self, entry: &Entry<'b>) -> Result<Option<Bytes<'b>>, LayoutError> {
        let name = entry.attr_value(dw::DW_AT_name);
        name.map(|name| self.unit.attr_string(name)).transpose().map_err(unreadable)
    }
}
