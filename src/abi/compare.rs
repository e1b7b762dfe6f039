//! Compares what was promised with what is there now.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::{Baseline, Change, ChangeKind, Interface, Offer, SymbolName};
use crate::elf::library_stem;

/// All differences between two releases, sorted: library by library, the worst first.
pub fn compare(old: &Baseline, new: &Baseline) -> Vec<Change> {
    let mut changes = Vec::new();
    let mut taken: BTreeSet<&str> = BTreeSet::new();
    let mut by_stem: BTreeMap<&str, VecDeque<(&String, &Interface)>> = BTreeMap::new();
    for (name, after) in new.libraries.iter().filter(|(name, _)| !old.libraries.contains_key(*name)) {
        by_stem.entry(library_stem(name)).or_default().push_back((name, after));
    }
    for (name, before) in &old.libraries {
        let same = new.libraries.get_key_value(name);
        // Another SONAME with the same stem is the library's next generation.
        match same.or_else(|| by_stem.get_mut(library_stem(name))?.pop_front()) {
            Some((found, after)) => {
                taken.insert(found);
                if found != name {
                    let detail = Some(format!("{name} is now {found}"));
                    changes.push(Change::of_library(ChangeKind::SonameChanged, name, detail));
                }
                changes.extend(compare_libraries(name, before, after));
            }
            None => changes.push(Change::of_library(ChangeKind::LibraryRemoved, name, None)),
        }
    }
    for name in new.libraries.keys().filter(|name| !old.libraries.contains_key(*name) && !taken.contains(name.as_str()))
    {
        changes.push(Change::of_library(ChangeKind::LibraryAdded, name, None));
    }
    changes.sort_by(|a, b| (&a.library, b.weight, a).cmp(&(&b.library, a.weight, b)));
    changes
}

/// All differences between two files of one library each, whatever they are called; with names that the loader knows,
/// another name is one.
pub fn compare_files(old: &Baseline, new: &Baseline, have_sonames: bool) -> Vec<Change> {
    let (Some((before, one)), Some((after, other))) = (old.libraries.iter().next(), new.libraries.iter().next()) else {
        return compare(old, new);
    };
    let mut changes = compare_libraries(before, one, other);
    if have_sonames && before != after {
        let detail = Some(format!("{before} is now {after}"));
        changes.push(Change::of_library(ChangeKind::SonameChanged, before, detail));
    }
    changes.sort_by(|a, b| (&a.library, b.weight, a).cmp(&(&b.library, a.weight, b)));
    changes
}

/// Differences between two states of one library.
pub fn compare_libraries(library: &str, old: &Interface, new: &Interface) -> Vec<Change> {
    let mut changes = Vec::new();
    if old.machine != new.machine {
        let detail = Some(format!("{} became {}", old.machine, new.machine));
        changes.push(Change::of_library(ChangeKind::MachineChanged, library, detail));
        return changes;
    }
    if new.static_tls && !old.static_tls {
        changes.push(Change::of_library(ChangeKind::StaticTlsGained, library, None));
    }
    for node in old.nodes.difference(&new.nodes) {
        changes.push(Change::of_symbol(ChangeKind::NodeRemoved, library, node.clone(), None));
    }
    for node in new.nodes.difference(&old.nodes) {
        changes.push(Change::of_symbol(ChangeKind::NodeAdded, library, node.clone(), None));
    }
    let mut homes: BTreeMap<&str, Vec<&SymbolName>> = BTreeMap::new();
    for name in new.symbols.keys() {
        homes.entry(&name.name).or_default().push(name);
    }
    for (name, before) in &old.symbols {
        match new.symbols.get(name) {
            Some(after) => changes.extend(compare_offers(library, name, before, after)),
            None => changes.extend(gone(library, name, before, homes.get(name.name.as_str()))),
        }
    }
    for name in new.symbols.keys().filter(|name| !old.symbols.contains_key(*name)) {
        changes.push(Change::of_symbol(ChangeKind::SymbolAdded, library, name.to_string(), None));
    }
    changes
}

/// Nodes that are named, of those that a symbol is under.
const SHOWN: usize = 8;

/// A symbol that is not there under its node: removed, or moved to where the loader does not look.
fn gone(library: &str, name: &SymbolName, before: &Offer, homes: Option<&Vec<&SymbolName>>) -> Option<Change> {
    let change = |kind, detail| Some(Change::of_symbol(kind, library, name.to_string(), detail));
    let Some(homes) = homes else {
        return match is_instance(name, before) {
            true => change(ChangeKind::InstanceRemoved, None),
            false => change(ChangeKind::SymbolRemoved, None),
        };
    };
    // The loader binds a reference without version to the default version (ld.so, dl-lookup): a
    // library that begins to version its symbols keeps its old users.
    name.node.as_ref()?;
    let now: Vec<&str> = homes.iter().take(SHOWN).map(|home| home.node.as_deref().unwrap_or("no version")).collect();
    let more = if homes.len() > SHOWN { format!(" and {} more", homes.len() - SHOWN) } else { String::new() };
    change(ChangeKind::NodeChanged, Some(format!("now under {}{more}", now.join(", "))))
}

/// An implicit instance of a template of the standard library: every user emits its own weak copy.
fn is_instance(name: &SymbolName, offer: &Offer) -> bool {
    // Itanium C++ ABI, 5.1: nested names (N, with qualifiers), and the substitutions of `std`.
    let nested = name.name.strip_prefix("_ZN").map(|rest| rest.trim_start_matches(['r', 'V', 'K']));
    let path = nested.or_else(|| name.name.strip_prefix("_Z")).unwrap_or_default();
    // The last four: placement forms of new and delete, inline in <new>.
    let of_the_library = ["St", "Sa", "Ss", "Sb", "Si", "So", "Sd", "9__gnu_cxx", "nw", "na", "dl", "da"];
    offer.binding != "global" && of_the_library.iter().any(|start| path.starts_with(start))
}

fn compare_offers(library: &str, name: &SymbolName, old: &Offer, new: &Offer) -> Vec<Change> {
    let mut changes = Vec::new();
    let mut add = |kind, detail: Option<String>| {
        changes.push(Change::of_symbol(kind, library, name.to_string(), detail));
    };
    let callable = |offer: &Offer| matches!(&*offer.kind, "function" | "ifunc");
    if old.kind != new.kind && !(callable(old) && callable(new)) {
        add(ChangeKind::KindChanged, Some(format!("{} became {}", old.kind, new.kind)));
        return changes;
    }
    if let (Some(before), Some(after)) = (old.size, new.size)
        && before != after
    {
        add(size_kind(name, new), Some(format!("{before} bytes became {after}")));
    }
    if old.default && !new.default {
        add(ChangeKind::DefaultRemoved, None);
    }
    if old.visibility == "default" && new.visibility == "protected" {
        let kind = if callable(new) { ChangeKind::FunctionProtected } else { ChangeKind::DataProtected };
        add(kind, None);
    }
    if old.binding != new.binding {
        add(ChangeKind::BindingChanged, Some(format!("{} became {}", old.binding, new.binding)));
    }
    changes
}

fn size_kind(name: &SymbolName, offer: &Offer) -> ChangeKind {
    // Itanium C++ ABI, 5.1.4: special names.
    match name.name.get(..4) {
        Some("_ZTV" | "_ZTT" | "_ZTC") => ChangeKind::VtableSizeChanged,
        Some("_ZTI") => ChangeKind::TypeinfoSizeChanged,
        _ if offer.kind == "tls" => ChangeKind::TlsSizeChanged,
        _ => ChangeKind::DataSizeChanged,
    }
}
