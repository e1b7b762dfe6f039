//! What of the C++ library is newer than the shared one of old systems: the objects of the static library that define it, to
//! be linked into what uses it. They keep only what is new: all else in them becomes a reference to the shared library, so that
//! a process has one C++ runtime. What they keep is hidden, so that no library gives it to another.

use std::collections::{BTreeMap, BTreeSet};

use crate::budget::Budget;
use crate::elf::{Image, SymbolTable};
use crate::error::{Error, Result};
use crate::gpu::archive_members;

/// Bytes of a symbol, and where in it binding with kind, visibility, section, value and size lie (ELF-64).
const SYMBOL: usize = 24;
const INFO: usize = 4;
const OTHER: usize = 5;
const SECTION: usize = 6;
const GLOBAL: u8 = 1;
const LOCAL: u8 = 0;
const HIDDEN: u8 = 2;
const KIND: u8 = 0xf;
const TLS: u8 = 6;
const SYMTAB: u32 = 2;

/// An object of an archive, with the names that others see.
struct Member<'a> {
    name: String,
    bytes: &'a [u8],
    defined: BTreeSet<String>,
    needed: BTreeSet<String>,
}

/// The objects of the static library `archive` that what is `in_use` needs beside a shared library that defines `shared`: name
/// and bytes of each, in the archive's order. `all` is what today's shared library defines.
pub(super) fn nonshared(
    archive: &[u8],
    all: &BTreeSet<String>,
    shared: &BTreeSet<String>,
) -> Result<Vec<(String, Vec<u8>)>> {
    let budget = Budget::of(archive);
    let unreadable = |error: &dyn std::fmt::Display| Error::toolchain(format!("the static C++ library: {error}"));
    let mut members = Vec::new();
    for member in archive_members(archive, &budget).map_err(|error| unreadable(&error))? {
        let (name, bytes) = member.map_err(|error| unreadable(&error))?;
        members.push(read(name, bytes).map_err(|error| unreadable(&error))?);
    }
    let mut place: BTreeMap<&str, usize> = BTreeMap::new();
    for (index, member) in members.iter().enumerate() {
        for name in &member.defined {
            place.entry(name).or_insert(index);
        }
    }
    let mut todo: Vec<usize> = all.difference(shared).filter_map(|name| place.get(name.as_str()).copied()).collect();
    let mut taken = BTreeSet::new();
    while let Some(index) = todo.pop() {
        if taken.insert(index) {
            let further = members[index].needed.iter().filter(|name| !shared.contains(*name));
            todo.extend(further.filter_map(|name| place.get(name.as_str()).copied()));
        }
    }
    let reduced = |index: usize| {
        let member = &members[index];
        Ok((member.name.clone(), only_new(member.bytes, shared).map_err(|error| unreadable(&error))?))
    };
    taken.into_iter().map(reduced).collect()
}

fn read(name: String, bytes: &[u8]) -> Result<Member<'_>, crate::elf::ElfError> {
    let image = Image::parse(bytes)?;
    let (mut defined, mut needed) = (BTreeSet::new(), BTreeSet::new());
    for (_, symbol) in SymbolTable::full(&image).iter().flat_map(SymbolTable::iter) {
        if symbol.binding.0 != LOCAL && !symbol.name.is_empty() {
            let names = if symbol.section == 0 { &mut needed } else { &mut defined };
            names.insert(symbol.name.into_owned());
        }
    }
    image.spent()?;
    Ok(Member { name, bytes, defined, needed })
}

/// An object in which what `shared` defines is undefined, and what it defines else is hidden. The sections stay: nothing refers
/// to them by their symbols any more.
fn only_new(bytes: &[u8], shared: &BTreeSet<String>) -> Result<Vec<u8>, crate::elf::ElfError> {
    let image = Image::parse(bytes)?;
    let mut changed = bytes.to_vec();
    let (Some(section), Some(table)) =
        (image.sections.iter().find(|section| section.kind.0 == SYMTAB), SymbolTable::full(&image))
    else {
        return Ok(changed);
    };
    let start = usize::try_from(section.offset).unwrap_or(usize::MAX);
    for (index, symbol) in table.iter().filter(|(_, symbol)| symbol.binding.0 != LOCAL && symbol.section != 0) {
        let at = usize::try_from(index).ok().and_then(|index| index.checked_mul(SYMBOL)?.checked_add(start));
        let Some(entry) = at.and_then(|at| changed.get_mut(at..at + SYMBOL)) else { continue };
        if shared.contains(symbol.name.as_ref()) {
            let kind = if entry[INFO] & KIND == TLS { TLS } else { 0 };
            entry[INFO] = (GLOBAL << 4) | kind;
            entry[OTHER] = 0;
            entry[SECTION..].fill(0);
        } else {
            entry[OTHER] = HIDDEN;
        }
    }
    Ok(changed)
}
