//! The host's structures against those of a kernel table, to the field.

use std::collections::{BTreeMap, BTreeSet};

use super::{Field, FieldType, Structure};

/// In what the table's structures of these names, and those that they hold, are not the core's: of each the first field
/// that differs, in words, because what follows it follows from it.
pub fn differences(core: &[Structure], table: &[Structure], names: &[&str]) -> Vec<String> {
    let by_name = |list: &'_ [Structure], name: &str| list.iter().position(|one| one.name == name);
    let mut open: Vec<(String, String)> = names.iter().map(|&name| (name.to_owned(), name.to_owned())).collect();
    let (mut seen, mut found) = (BTreeSet::new(), Vec::new());
    open.reverse();
    while let Some(pair) = open.pop() {
        if !seen.insert(pair.clone()) {
            continue;
        }
        let (Some(one), other) = (by_name(core, &pair.0), by_name(table, &pair.1)) else { continue };
        let Some(other) = other else {
            found.push(format!("`{}` is not in the table", pair.1));
            continue;
        };
        let (one, other) = (&core[one], &table[other]);
        found.extend(difference(one, other));
        let others: BTreeMap<&str, &Field> = fields(other);
        for field in one.fields.iter().rev() {
            let beside = others.get(field.name.as_str()).map(|other| &other.kind);
            if let (FieldType::Structure(one), Some(FieldType::Structure(other))) = (&field.kind, beside) {
                open.push((one.clone(), other.clone()));
            }
        }
    }
    found
}

fn fields(structure: &Structure) -> BTreeMap<&str, &Field> {
    structure.fields.iter().map(|field| (field.name.as_str(), field)).collect()
}

fn difference(core: &Structure, table: &Structure) -> Option<String> {
    let name = &core.name;
    let (in_core, in_table) = (fields(core), fields(table));
    for field in &core.fields {
        let place = format!("`{name}.{}`", field.name);
        let Some(other) = in_table.get(field.name.as_str()) else {
            return Some(format!("{place} of the core is not in the table"));
        };
        if other.offset != field.offset {
            return Some(format!("{place} is at {} in the core, {} in the table", field.offset, other.offset));
        }
        if !is_same(field, other) {
            return Some(format!("{place} is {} in the core, {} in the table", kind(field), kind(other)));
        }
    }
    if let Some(more) = table.fields.iter().find(|field| !in_core.contains_key(field.name.as_str())) {
        return Some(format!("`{name}.{}` of the table is not in the core", more.name));
    }
    let differs = core.size != table.size;
    differs.then(|| format!("`{name}` has {} bytes in the core, {} in the table", core.size, table.size))
}

/// Structures have names of their own on each side, and are compared by themselves.
fn is_same(a: &Field, b: &Field) -> bool {
    let kinds = match (&a.kind, &b.kind) {
        (FieldType::Scalar(a), FieldType::Scalar(b)) => a.is_same(*b),
        (FieldType::Structure(_), FieldType::Structure(_)) => true,
        _ => false,
    };
    kinds && a.count == b.count
}

fn kind(field: &Field) -> String {
    match field.count {
        1 => field.kind.to_string(),
        count => format!("{}[{count}]", field.kind),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::Scalar;

    fn field(name: &str, offset: u32, kind: FieldType, count: u32) -> Field {
        Field { name: name.to_owned(), offset, kind, count }
    }

    fn layers(inhib: u32, feedback: u32) -> Vec<Structure> {
        let scalar = |scalar| FieldType::Scalar(scalar);
        let inner =
            vec![field("feed_forward", 0, scalar(Scalar::F32), 1), field("feedback", feedback, scalar(Scalar::F32), 2)];
        let outer = vec![
            field("weights", 0, scalar(Scalar::F32), inhib / 4),
            field("Inhib", inhib, FieldType::Structure("Inhib".to_owned()), 1),
            field("next", inhib + 16, scalar(Scalar::Ptr), 1),
        ];
        vec![
            Structure { name: "Inhib".to_owned(), size: 16, fields: inner },
            Structure { name: "Layers".to_owned(), size: inhib + 24, fields: outer },
        ]
    }

    #[test]
    fn the_first_field_that_differs_is_named_of_each_structure() {
        let core = layers(416, 4);
        assert_eq!(differences(&core, &core, &["Layers"]), Vec::<String>::new());
        let mut table = core.clone();
        table[1].fields[1].offset = 432;
        table[0].fields[1].offset = 8;
        assert_eq!(
            differences(&core, &table, &["Layers"]),
            [
                "`Layers.Inhib` is at 416 in the core, 432 in the table",
                "`Inhib.feedback` is at 4 in the core, 8 in the table"
            ]
        );
        // A structure that nobody asked for, and that is in none of them, is the table's own.
        assert_eq!(differences(&core, &table, &[]), Vec::<String>::new());
    }

    #[test]
    fn types_counts_sizes_and_names_are_compared() {
        let core = layers(416, 4);
        let said = |change: &dyn Fn(&mut Vec<Structure>)| {
            let mut table = core.clone();
            change(&mut table);
            differences(&core, &table, &["Layers"])
        };
        let scalar =
            |table: &mut Vec<Structure>, at: usize, scalar| table[0].fields[at].kind = FieldType::Scalar(scalar);
        assert_eq!(
            said(&|table| scalar(table, 0, Scalar::U32)),
            ["`Inhib.feed_forward` is f32 in the core, u32 in the table"]
        );
        assert_eq!(
            said(&|table| table[0].fields[1].count = 3),
            ["`Inhib.feedback` is f32[2] in the core, f32[3] in the table"]
        );
        assert_eq!(said(&|table| table[0].size = 32), ["`Inhib` has 16 bytes in the core, 32 in the table"]);
        assert_eq!(
            said(&|table| table[0].fields[1].name = "fb".to_owned()),
            ["`Inhib.feedback` of the core is not in the table"]
        );
        assert_eq!(
            said(&|table| table[0].fields.push(field("late", 12, FieldType::Scalar(Scalar::F32), 1))),
            ["`Inhib.late` of the table is not in the core"]
        );
        assert_eq!(said(&|table| table[1].name = "Layer".to_owned()), ["`Layers` is not in the table"]);
        // An address is a number to a device, and structures may have other names in the table.
        assert_eq!(said(&|table| table[1].fields[2].kind = FieldType::Scalar(Scalar::U64)), Vec::<String>::new());
        let renamed = |table: &mut Vec<Structure>| {
            table[0].name = "Other".to_owned();
            table[1].fields[1].kind = FieldType::Structure("Other".to_owned());
        };
        assert_eq!(said(&renamed), Vec::<String>::new());
    }
}
