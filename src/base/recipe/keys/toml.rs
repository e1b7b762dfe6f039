//! Schemas of files in TOML.

use schemars::{JsonSchema, Schema, SchemaGenerator};

/// The schema of a file in TOML, which has no null: a key that may be absent is absent.
pub fn toml_schema<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    let mut schema = generator.root_schema_for::<T>();
    if let Some(map) = schema.as_object_mut() {
        map.values_mut().for_each(without_null);
    }
    schema
}

fn without_null(value: &mut serde_json::Value) {
    use serde_json::Value;
    let is_null = |kind: &Value| kind == "null" || kind.get("type").is_some_and(|kind| kind == "null");
    match value {
        Value::Array(items) => items.iter_mut().for_each(without_null),
        Value::Object(map) => {
            for key in ["type", "anyOf"] {
                let Some(Value::Array(kinds)) = map.get_mut(key) else { continue };
                kinds.retain(|kind| !is_null(kind));
                if let [only] = kinds.as_mut_slice() {
                    let only = only.take();
                    match (map.remove(key), only) {
                        (_, Value::Object(reference)) => map.extend(reference),
                        (_, kind) => _ = map.insert(key.to_owned(), kind),
                    }
                }
            }
            map.values_mut().for_each(without_null);
        }
        _ => {}
    }
}
