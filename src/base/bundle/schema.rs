//! The schema of `simpack.json`; what schema 1 said is read as what it says today.

use serde::{Deserialize, Deserializer, de::Error};

use super::{Dependency, Versions};

/// Version of the `simpack.json` schema.
pub const MANIFEST_SCHEMA: u32 = 2;

/// Reads the number of a schema that is known: in memory everything has today's.
pub(super) fn schema<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
    match u32::deserialize(deserializer)? {
        1..=MANIFEST_SCHEMA => Ok(MANIFEST_SCHEMA),
        other => Err(D::Error::custom(format!("schema {other}, this simpack reads 1 to {MANIFEST_SCHEMA}"))),
    }
}

/// Reads dependencies, which schema 1 held as match specs of conda.
pub(super) fn uses<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Dependency>, D::Error> {
    let written: Vec<serde_json::Value> = Vec::deserialize(deserializer)?;
    let read = |value| match value {
        serde_json::Value::String(spec) => Ok(dependency(&spec)),
        value => serde_json::from_value(value).map_err(D::Error::custom),
    };
    written.into_iter().map(read).collect()
}

fn dependency(spec: &str) -> Dependency {
    let (name, versions) = spec.split_once(' ').unwrap_or((spec, ""));
    Dependency::of_conda(name, Versions::written(versions))
}
