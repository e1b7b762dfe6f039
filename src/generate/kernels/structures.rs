//! The `[[struct]]`s of a kernel table as the host has them: what differs is written anew, comments and all else stay.

use std::collections::{BTreeMap, BTreeSet};

use toml_edit::{Array, ArrayOfTables, DocumentMut, InlineTable, Item, Table, Value, value};

use crate::error::{Error, Result};
use crate::layout::{Field, FieldType, Structure, natural_offsets};

/// The text of a kernel table with these structures, each behind those that it holds, in it.
///
/// # Errors
/// The text is not valid TOML, or its structures are no `[[struct]]`s.
pub fn with_structures(text: &str, structures: &[Structure]) -> Result<String> {
    let mut table: DocumentMut =
        text.parse().map_err(|error| Error::recipe("the kernel table is not valid TOML").because(error))?;
    let old = match table.remove("struct") {
        None => Vec::new(),
        Some(Item::ArrayOfTables(old)) => old.into_iter().collect(),
        Some(_) => {
            return Err(Error::recipe("`struct` of the kernel table is a list in one value")
                .hint("write each structure as [[struct]] with its name and fields"));
        }
    };
    // What is new stands where the structures stand, or before everything else.
    let first = table.iter().filter_map(|(_, item)| position(item)).min().unwrap_or(1) - 1;
    let mut places: Vec<isize> = old.iter().filter_map(Table::position).collect();
    places.sort_unstable();
    let mut entries = old;
    for structure in structures {
        match entries.iter_mut().find(|entry| name(entry) == Some(structure.name.as_str())) {
            Some(entry) => change(entry, structure, structures),
            None => entries.push(made(structure, structures)),
        }
    }
    let mut written = ArrayOfTables::new();
    let mut last = places.first().copied().unwrap_or(first);
    for (at, mut entry) in ordered(entries).into_iter().enumerate() {
        last = places.get(at).copied().unwrap_or(last);
        entry.set_position(Some(last));
        written.push(entry);
    }
    table.insert("struct", Item::ArrayOfTables(written));
    Ok(table.to_string())
}

fn position(item: &Item) -> Option<isize> {
    match item {
        Item::Table(table) => table.position(),
        Item::ArrayOfTables(tables) => tables.iter().filter_map(Table::position).min(),
        _ => None,
    }
}

fn name(entry: &Table) -> Option<&str> {
    entry.get("name")?.as_str()
}

/// The structures that an entry holds.
fn held(entry: &Table) -> Vec<String> {
    let of = |field: &dyn toml_edit::TableLike| Some(field.get("of")?.as_str()?.to_owned());
    match entry.get("fields") {
        Some(Item::Value(Value::Array(fields))) => {
            fields.iter().filter_map(|field| of(field.as_inline_table()?)).collect()
        }
        Some(Item::ArrayOfTables(fields)) => fields.iter().filter_map(|field| of(field)).collect(),
        _ => Vec::new(),
    }
}

/// The entries in their order, but each behind those that it holds, as readers of the table want them.
fn ordered(entries: Vec<Table>) -> Vec<Table> {
    let names: BTreeMap<String, usize> =
        entries.iter().enumerate().filter_map(|(at, entry)| Some((name(entry)?.to_owned(), at))).collect();
    let (mut order, mut seen) = (Vec::new(), BTreeSet::new());
    for at in 0..entries.len() {
        // Entries that hold each other, which the reader of the table refuses, end the walk all the same.
        let mut open = vec![(at, false)];
        while let Some((at, is_done)) = open.pop() {
            if is_done {
                order.push(at);
            } else if seen.insert(at) {
                open.push((at, true));
                let inner = held(&entries[at]);
                open.extend(inner.iter().rev().filter_map(|name| Some((*names.get(name)?, false))));
            }
        }
    }
    let mut entries: Vec<Option<Table>> = entries.into_iter().map(Some).collect();
    order.into_iter().filter_map(|at| entries[at].take()).collect()
}

fn made(structure: &Structure, all: &[Structure]) -> Table {
    let mut entry = Table::new();
    entry.decor_mut().set_prefix("\n");
    entry.insert("name", value(&structure.name));
    change(&mut entry, structure, all);
    entry
}

/// Gives an entry the size and the fields of a structure; what is the same stays as it was written.
fn change(entry: &mut Table, structure: &Structure, all: &[Structure]) {
    let (offsets, natural) = natural_offsets(&structure.fields, all).unwrap_or_default();
    let size = entry.get("size").and_then(Item::as_integer);
    match (size, structure.size == natural) {
        (Some(size), _) if size == i64::from(structure.size) => {}
        (_, true) => drop(entry.remove("size")),
        (Some(_), false) => drop(entry.insert("size", value(i64::from(structure.size)))),
        (None, false) => {
            // Before the fields, which are longer.
            let fields = entry.remove_entry("fields");
            entry.insert("size", value(i64::from(structure.size)));
            fields.map(|(key, fields)| entry.insert_formatted(&key, fields));
        }
    }
    if !matches!(entry.get("fields"), Some(Item::Value(Value::Array(_)))) {
        entry.insert("fields", value(multiline()));
    }
    let Some(fields) = entry.get_mut("fields").and_then(Item::as_array_mut) else { return };
    let indent = indent(fields);
    let old: Vec<Value> = std::mem::replace(fields, emptied(fields)).into_iter().collect();
    for (at, field) in structure.fields.iter().enumerate() {
        let natural = offsets.get(at).copied();
        let known =
            old.iter().find(|old| old.as_inline_table().and_then(|old| old.get("name")?.as_str()) == Some(&field.name));
        let mut written = match known.and_then(Value::as_inline_table) {
            Some(known) => known.clone(),
            None => {
                let mut new = InlineTable::new();
                new.insert("name", field.name.as_str().into());
                new
            }
        };
        describe(&mut written, field, natural);
        // What is new, and what stood first in a line and does no longer: nothing stood before it.
        let is_first = known.is_some_and(|known| old.first().is_some_and(|first| std::ptr::eq(first, known)));
        if known.is_none() || (is_first && at > 0 && !indent.contains('\n')) {
            written.decor_mut().set_prefix(if at == 0 && !indent.contains('\n') { "" } else { indent.as_str() });
        }
        fields.push_formatted(Value::InlineTable(written));
    }
}

/// Gives a field's entry its type, count and place, where it says others.
fn describe(written: &mut InlineTable, field: &Field, natural: Option<u32>) {
    let (kind, of) = match &field.kind {
        FieldType::Structure(name) => ("struct", Some(name.as_str())),
        FieldType::Scalar(scalar) => (scalar.name(), None),
    };
    let text = |written: &InlineTable, key: &str| written.get(key).and_then(Value::as_str).map(str::to_owned);
    let number = |written: &InlineTable, key: &str| written.get(key).and_then(Value::as_integer);
    if text(written, "type").as_deref() != Some(kind) {
        written.insert("type", kind.into());
    }
    match of {
        Some(of) if text(written, "of").as_deref() != Some(of) => drop(written.insert("of", of.into())),
        Some(_) => {}
        None => drop(written.remove("of")),
    }
    let count = i64::from(field.count);
    match number(written, "count") {
        Some(known) if known == count => {}
        _ if count == 1 => drop(written.remove("count")),
        _ => drop(written.insert("count", count.into())),
    }
    let offset = i64::from(field.offset);
    match number(written, "offset") {
        Some(known) if known == offset => {}
        _ if natural == Some(field.offset) => drop(written.remove("offset")),
        _ => drop(written.insert("offset", offset.into())),
    }
}

/// A list that is written with a line for each item.
fn multiline() -> Array {
    let mut fields = Array::new();
    fields.set_trailing("\n");
    fields.set_trailing_comma(true);
    fields
}

/// The list without its items, as it is written otherwise.
fn emptied(fields: &Array) -> Array {
    let mut empty = fields.clone();
    empty.clear();
    empty
}

/// What stands before a new item of a list: a line of its own, where others have one.
fn indent(fields: &Array) -> String {
    let prefix = |field: &Value| field.decor().prefix().and_then(|prefix| prefix.as_str()).map(str::to_owned);
    let lines = fields.iter().filter_map(prefix).filter_map(|prefix| {
        let (_, indent) = prefix.rsplit_once('\n')?;
        Some(format!("\n{indent}"))
    });
    let first = lines.into_iter().next();
    first.unwrap_or_else(|| if fields.is_empty() { "\n  ".to_owned() } else { " ".to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::StructuresDump;

    const HOST: &str = r#"{ "schema": 1, "structures": [
        { "name": "Inhib", "size": 16, "fields": [
          { "name": "ff", "type": "f32", "offset": 0 }, { "name": "fb", "type": "f32", "count": 2, "offset": 4 } ] },
        { "name": "Layers", "size": 64, "fields": [
          { "name": "gain", "type": "f32", "offset": 0 },
          { "name": "position", "type": "f32", "count": 4, "offset": 16 },
          { "name": "inhib", "of": "Inhib", "offset": 32 } ] } ] }"#;

    fn host() -> Vec<Structure> {
        StructuresDump::read(HOST.as_bytes()).unwrap()
    }

    /// What the reader of kernel tables makes of a text agrees with the host.
    fn holds(text: &str) {
        let table = crate::recipe::declared_structures(text).unwrap_or_else(|| panic!("{text}"));
        assert_eq!(crate::layout::differences(&host(), &table, &["Layers"]), Vec::<String>::new(), "{text}");
    }

    #[test]
    fn a_table_without_structures_gets_them_before_its_kernels() {
        let text =
            "# What the host fills.\nedition = 1\n\n# The one kernel.\n[[kernel]]\nname = \"step\"\nparams = []\n";
        let written = with_structures(text, &host()).unwrap();
        assert_eq!(
            written,
            r#"# What the host fills.
edition = 1

[[struct]]
name = "Inhib"
size = 16
fields = [
  { name = "ff", type = "f32" },
  { name = "fb", type = "f32", count = 2 },
]

[[struct]]
name = "Layers"
size = 64
fields = [
  { name = "gain", type = "f32" },
  { name = "position", type = "f32", count = 4, offset = 16 },
  { name = "inhib", type = "struct", of = "Inhib" },
]

# The one kernel.
[[kernel]]
name = "step"
params = []
"#
        );
        holds(&written);
        assert_eq!(with_structures(&written, &host()).unwrap(), written);
    }

    #[test]
    fn what_is_the_same_stays_with_its_comments() {
        let text = r#"edition = 1 # of the table

# Layers of the network.
[[struct]]
name = "Layers" # as in the host
size = 64
fields = [
    # Of all of them.
    { name = "gain", type = "f32" },
    { name = "gone", type = "u32" },
    { name = "position", type = "f32", count = 3, offset = 16 }, # a vec4
    # Inhibition.
    { name = "inhib", type = "struct", of = "Inhib", offset = 32 },
]

# The table's own.
[[struct]]
name = "Own"
fields = [{ name = "x", type = "u8" }]

[[kernel]]
name = "step"
params = [{ name = "cycle", type = "u32" }]
bindings = [{ binding = 0, type = "storage-buffer", of = "Layers" }]
"#;
        let written = with_structures(text, &host()).unwrap();
        assert_eq!(
            written,
            r#"edition = 1 # of the table

[[struct]]
name = "Inhib"
size = 16
fields = [
  { name = "ff", type = "f32" },
  { name = "fb", type = "f32", count = 2 },
]

# Layers of the network.
[[struct]]
name = "Layers" # as in the host
size = 64
fields = [
    # Of all of them.
    { name = "gain", type = "f32" },
    { name = "position", type = "f32", count = 4, offset = 16 }, # a vec4
    # Inhibition.
    { name = "inhib", type = "struct", of = "Inhib", offset = 32 },
]

# The table's own.
[[struct]]
name = "Own"
fields = [{ name = "x", type = "u8" }]

[[kernel]]
name = "step"
params = [{ name = "cycle", type = "u32" }]
bindings = [{ binding = 0, type = "storage-buffer", of = "Layers" }]
"#
        );
        holds(&written);
        assert_eq!(with_structures(&written, &host()).unwrap(), written);
    }

    #[test]
    fn a_new_field_before_the_first_leaves_room_behind_it() {
        let text = "edition = 1\n[[struct]]\nname = \"Layers\"\nfields = [{ name = \"inhib\", type = \"u32\" }]\n\
                    [[kernel]]\nname = \"step\"\nparams = []\n";
        let written = with_structures(text, &host()).unwrap();
        let fields = "fields = [{ name = \"gain\", type = \"f32\" }, { name = \"position\", type = \"f32\", count = 4, offset = 16 }, { name = \"inhib\",";
        assert!(written.contains(fields), "{written}");
        holds(&written);
    }

    #[test]
    fn lists_on_one_line_and_lists_of_tables_are_read() {
        for fields in [
            "fields = [{ name = \"gain\", type = \"i32\" }, { name = \"inhib\", type = \"u32\" }]",
            "[[struct.fields]]\nname = \"gain\"\ntype = \"f32\"",
            "fields = []",
        ] {
            let text = format!(
                "edition = 1\n[[struct]]\nname = \"Layers\"\n{fields}\n[[kernel]]\nname = \"k\"\nparams = []\n"
            );
            holds(&with_structures(&text, &host()).unwrap());
        }
        let text = "edition = 1\nstruct = [{ name = \"Layers\", fields = [] }]\n";
        assert!(with_structures(text, &host()).unwrap_err().to_string().contains("is a list in one value"));
        assert!(with_structures("edition =", &host()).unwrap_err().to_string().contains("not valid TOML"));
    }
}
