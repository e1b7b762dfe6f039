//! Reading the facts: one pass over the tables that speak of them.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use object::elf;

use super::bytes::Bytes;
use super::facts::{Export, Facts, FileKind, Import, Relro, SectionFact, Stack};
use super::{Dynamic, ElfError, Image, Symbol, SymbolTable, Versions};
use crate::budget::Budget;

/// Reads the facts of a 64-bit little-endian file.
///
/// # Errors
/// See [`ElfError`]: not ELF, an unsupported class, or damaged tables.
pub fn facts(bytes: &[u8]) -> Result<Facts, ElfError> {
    facts_of(&Image::parse(bytes)?)
}

/// As [`facts`], of a file whose tables were read.
///
/// # Errors
/// Damaged tables.
pub fn facts_of(image: &Image<'_>) -> Result<Facts, ElfError> {
    let dynamic = Dynamic::parse(image)?;
    let mut facts = Facts {
        machine: image.header.machine.into(),
        class: 64,
        kind: FileKind::of(image, dynamic.as_ref()),
        soname: None,
        needed: Vec::new(),
        rpath: None,
        runpath: None,
        interp: interpreter(image),
        flags: 0,
        flags_1: 0,
        dynamic: dynamic.is_some(),
        sections: image.sections.iter().skip(1).map_while(|section| section_fact(image, section)).collect(),
        exports: Vec::new(),
        imports: Vec::new(),
        version_needs: BTreeMap::new(),
        version_definitions: BTreeSet::new(),
        stack: stack(image),
        text_relocations: false,
        relro: Relro::None,
        bind_now: false,
        symbol_table: image.sections.iter().any(|section| section.kind == elf::SHT_SYMTAB),
        debug_info: image.sections.iter().any(|section| matches!(&*section.name, ".debug_info" | ".zdebug_info")),
        build_id: build_id(image),
    };
    match &dynamic {
        Some(dynamic) => read_dynamic(image, dynamic, &mut facts)?,
        None => read_object(image, &mut facts),
    }
    image.budget.finish()?;
    // Equal ones are one: their order does not matter, and a stable sort takes half as much memory again.
    facts.exports.sort_unstable();
    facts.exports.dedup();
    facts.imports.sort_unstable();
    facts.imports.dedup();
    Ok(facts)
}

fn section_fact(image: &Image<'_>, section: &super::Section) -> Option<SectionFact> {
    image.budget.keep_text(size_of::<SectionFact>() + section.name.len())?;
    let (kind, flags) = (section.kind.0, section.flags.0);
    Some(SectionFact { name: section.name.clone(), kind, flags, size: section.size })
}

impl FileKind {
    /// The kind of a file with these tables.
    pub fn of(image: &Image<'_>, dynamic: Option<&Dynamic<'_>>) -> Self {
        let pie = dynamic
            .and_then(|dynamic| dynamic.value(elf::DT_FLAGS_1))
            .is_some_and(|flags| flags & elf::DF_1_PIE.0 != 0);
        let interpreted = image.segment(elf::PT_INTERP).is_some();
        match image.header.kind {
            elf::ET_REL => Self::Object,
            elf::ET_EXEC => Self::Executable,
            elf::ET_DYN if pie && !interpreted => Self::StaticPie,
            // Libraries that print their version when run (libc.so.6) have an interpreter and a SONAME.
            elf::ET_DYN if pie => Self::PieExecutable,
            elf::ET_DYN if interpreted && dynamic.is_some_and(|dynamic| dynamic.value(elf::DT_SONAME).is_none()) => {
                Self::PieExecutable
            }
            elf::ET_DYN => Self::Library,
            other => Self::Other(other.0),
        }
    }
}

fn interpreter(image: &Image<'_>) -> Option<String> {
    Bytes(image.segment_bytes(image.segment(elf::PT_INTERP)?)?).string(0, &image.budget)
}

fn stack(image: &Image<'_>) -> Stack {
    match image.segment(elf::PT_GNU_STACK) {
        None => Stack::Unstated,
        Some(segment) if segment.flags.0 & elf::PF_X.0 != 0 => Stack::Executable,
        Some(_) => Stack::Data,
    }
}

fn read_dynamic(image: &Image<'_>, dynamic: &Dynamic<'_>, facts: &mut Facts) -> Result<(), ElfError> {
    facts.soname = dynamic.text(elf::DT_SONAME);
    facts.needed = dynamic.texts(elf::DT_NEEDED);
    facts.rpath = dynamic.text(elf::DT_RPATH);
    facts.runpath = dynamic.text(elf::DT_RUNPATH);
    facts.flags = dynamic.value(elf::DT_FLAGS).unwrap_or(0);
    facts.flags_1 = dynamic.value(elf::DT_FLAGS_1).unwrap_or(0);
    facts.text_relocations = dynamic.value(elf::DT_TEXTREL).is_some() || facts.flags & elf::DF_TEXTREL.0 != 0;
    facts.bind_now = dynamic.value(elf::DT_BIND_NOW).is_some()
        || facts.flags & elf::DF_BIND_NOW.0 != 0
        || facts.flags_1 & elf::DF_1_NOW.0 != 0;
    facts.relro = match (image.segment(elf::PT_GNU_RELRO).is_some(), facts.bind_now) {
        (false, _) => Relro::None,
        (true, false) => Relro::Partial,
        (true, true) => Relro::Full,
    };
    let versions = Versions::parse(image, dynamic);
    for (file, names) in &versions.files {
        let bytes: usize = names.iter().map(|name| name.len() + 64).sum();
        if image.budget.keep_text(file.len() + bytes).is_some() {
            facts.version_needs.entry(file.clone()).or_default().extend(names.iter().cloned());
        }
    }
    facts.version_definitions = versions.defined.values().cloned().collect();
    let version_of = Versions::indices(image, dynamic);
    for (index, symbol) in SymbolTable::dynamic(image, dynamic)?.iter() {
        if add_symbol(facts, symbol, version_of(index), &versions, &image.budget).is_none() {
            break;
        }
    }
    Ok(())
}

/// Objects and static files speak through `.symtab`.
fn read_object(image: &Image<'_>, facts: &mut Facts) {
    if image.header.kind != elf::ET_REL {
        return;
    }
    if let Some(table) = SymbolTable::full(image) {
        let versions = Versions::default();
        for (_, symbol) in table.iter() {
            if add_symbol(facts, symbol, None, &versions, &image.budget).is_none() {
                break;
            }
        }
    }
}

/// Adds what a symbol means to others; `None` when the budget is spent.
fn add_symbol(
    facts: &mut Facts,
    symbol: Symbol<'_>,
    version: Option<u16>,
    versions: &Versions,
    budget: &Budget,
) -> Option<()> {
    let hidden_from_others = matches!(symbol.visibility, elf::STV_HIDDEN | elf::STV_INTERNAL);
    if symbol.binding == elf::STB_LOCAL || symbol.name.is_empty() {
        return Some(());
    }
    let index = version.map(|raw| raw & elf::VERSYM_VERSION);
    if symbol.section == elf::SHN_UNDEF.0 {
        let needed = index.and_then(|index| versions.needed.get(&index));
        let texts = symbol.name.len() + needed.map_or(0, |(library, version)| library.len() + version.len() + 64);
        budget.keep_text(2 * size_of::<Import>() + texts)?;
        let (library, version) = needed.cloned().unzip();
        facts.imports.push(Import {
            kind: kind_name(symbol.kind),
            weak: symbol.binding == elf::STB_WEAK,
            name: symbol.name.into_owned(),
            version,
            library,
        });
    } else if !hidden_from_others {
        // The version nodes themselves are absolute symbols of their own name: not an interface.
        let node = symbol.section == elf::SHN_ABS.0 && facts.version_definitions.contains(&*symbol.name);
        if !node {
            let version_name = index.and_then(|index| versions.defined.get(&index));
            let texts = symbol.name.len() + version_name.map_or(0, |name| name.len() + 32);
            budget.keep_text(2 * size_of::<Export>() + texts)?;
            facts.exports.push(Export {
                kind: kind_name(symbol.kind),
                binding: binding_name(symbol.binding),
                visibility: if symbol.visibility == elf::STV_PROTECTED { "protected" } else { "default" }.into(),
                version: version_name.cloned(),
                default: version.is_none_or(|raw| raw & elf::VERSYM_HIDDEN.0 == 0),
                size: symbol.size,
                name: symbol.name.into_owned(),
            });
        }
    }
    Some(())
}

fn kind_name(kind: elf::SymbolType) -> Cow<'static, str> {
    match kind {
        elf::STT_NOTYPE => "none".into(),
        elf::STT_OBJECT => "object".into(),
        elf::STT_FUNC => "function".into(),
        elf::STT_SECTION => "section".into(),
        elf::STT_FILE => "file".into(),
        elf::STT_COMMON => "common".into(),
        elf::STT_TLS => "tls".into(),
        elf::STT_GNU_IFUNC => "ifunc".into(),
        other => other.0.to_string().into(),
    }
}

fn binding_name(binding: elf::SymbolBind) -> Cow<'static, str> {
    match binding {
        elf::STB_LOCAL => "local".into(),
        elf::STB_GLOBAL => "global".into(),
        elf::STB_WEAK => "weak".into(),
        elf::STB_GNU_UNIQUE => "unique".into(),
        other => other.0.to_string().into(),
    }
}

fn build_id(image: &Image<'_>) -> Option<String> {
    let from_segments = image.segments.iter().filter(|segment| segment.kind == elf::PT_NOTE);
    let mut areas: Vec<&[u8]> = from_segments.filter_map(|segment| image.segment_bytes(segment)).collect();
    if areas.is_empty() {
        let notes = image.sections.iter().filter(|section| section.kind == elf::SHT_NOTE);
        areas = notes.filter_map(|section| image.section_bytes(section)).collect();
    }
    areas.into_iter().find_map(|area| build_id_in(Bytes(area), &image.budget))
}

fn build_id_in(notes: Bytes<'_>, budget: &Budget) -> Option<String> {
    let mut at = 0;
    loop {
        budget.work(48)?;
        let name_size = u64::from(notes.u32(at)?);
        let size = u64::from(notes.u32(at + 4)?);
        let kind = notes.u32(at + 8)?;
        let content = (at + 12).checked_add(super::bytes::round_up(name_size, 4)?)?;
        if kind == elf::NT_GNU_BUILD_ID.0 && notes.get(at + 12, name_size)? == b"GNU\0" {
            let id = notes.get(content, size)?;
            budget.keep_text(2 * id.len())?;
            let digit = |value: u8| char::from_digit(u32::from(value), 16).unwrap_or_default();
            return Some(id.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect());
        }
        at = content.checked_add(super::bytes::round_up(size, 4)?)?;
    }
}

#[cfg(test)]
#[path = "facts_tests.rs"]
mod tests;
