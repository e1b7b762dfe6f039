//! Structures as JSON: what a program of the host prints, and what is kept of them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{LayoutError, Structure, ordered};

/// Version of the form.
pub const STRUCTURES_SCHEMA: u32 = 1;

/// How structures lie in the host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct StructuresDump {
    /// Always 1.
    schema: u32,
    /// The structures, with those that they hold, in any order.
    structures: Vec<Structure>,
}

impl StructuresDump {
    /// Of structures that are whole.
    pub fn of(structures: Vec<Structure>) -> Self {
        Self { schema: STRUCTURES_SCHEMA, structures }
    }

    /// Reads what a program printed; answers its structures, each behind those that it holds.
    ///
    /// # Errors
    /// It is not JSON of this form and version, or holds what no shader can have.
    pub fn read(text: &[u8]) -> Result<Vec<Structure>, LayoutError> {
        #[derive(Deserialize)]
        struct Version {
            schema: u32,
        }
        let wrong = |error: serde_json::Error| LayoutError::Damaged(format!("no structures as JSON: {error}"));
        let Version { schema } = serde_json::from_slice(text).map_err(wrong)?;
        if schema != STRUCTURES_SCHEMA {
            let message = format!("structures of schema {schema}, and {STRUCTURES_SCHEMA} is known");
            return Err(LayoutError::Damaged(message));
        }
        let dump: Self = serde_json::from_slice(text).map_err(wrong)?;
        ordered(dump.structures)
    }

    /// As text, with a line break at its end.
    pub fn text(&self) -> String {
        let text = serde_json::to_string_pretty(self).expect("names and numbers are JSON");
        text + "\n"
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::{FieldType, Scalar};

    const LAYERS: &str = r#"{
      "schema": 1,
      "structures": [
        { "name": "Layers", "size": 24, "fields": [
          { "name": "gain", "type": "f32", "offset": 0 },
          { "name": "Inhib", "of": "Inhib", "count": 2, "offset": 8 } ] },
        { "name": "Inhib", "size": 8, "fields": [
          { "name": "ff", "type": "f16", "count": 2, "offset": 0 },
          { "name": "on", "type": "u8", "offset": 4 },
          { "name": "fb", "type": "i8", "offset": 5 } ] }
      ]
    }"#;

    #[test]
    fn structures_are_read_in_order_and_written_again() {
        let found = StructuresDump::read(LAYERS.as_bytes()).unwrap();
        let names: Vec<_> = found.iter().map(|one| one.name.as_str()).collect();
        assert_eq!(names, ["Inhib", "Layers"]);
        assert_eq!(found[0].fields[0].kind, FieldType::Scalar(Scalar::F16));
        assert_eq!(found[1].fields[1].kind, FieldType::Structure("Inhib".to_owned()));
        let again = StructuresDump::of(found.clone()).text();
        assert_eq!(StructuresDump::read(again.as_bytes()).unwrap(), found);
    }

    #[test]
    fn what_no_shader_can_have_is_refused_with_its_place() {
        let said = |from: &str, to: &str| {
            assert!(LAYERS.contains(from), "{from}");
            StructuresDump::read(LAYERS.replacen(from, to, 1).as_bytes()).unwrap_err().to_string()
        };
        for (from, to, expected) in [
            ("\"schema\": 1", "\"schema\": 2", "structures of schema 2, and 1 is known"),
            (
                "\"offset\": 8",
                "\"offset\": 7",
                "`Layers.Inhib` is at 7, no multiple of 2: no device reads what is packed",
            ),
            ("\"offset\": 8", "\"offset\": 2", "`Layers.Inhib` lies over `gain`"),
            ("\"size\": 24", "\"size\": 20", "`Layers.Inhib` does not fit into the 20 bytes of its structure"),
            ("\"size\": 24", "\"size\": 25", "`Layers` has 25 bytes, no multiple of 4: no device reads what is packed"),
            ("\"name\": \"ff\"", "\"name\": \"fb\"", "`Inhib.fb` is there twice"),
            ("\"name\": \"ff\"", "\"name\": \"f f\"", "`f f` cannot be the name of a structure or field"),
            ("\"of\": \"Inhib\"", "\"of\": \"Layers\"", "`Layers` holds itself, or structures too deep"),
            ("\"of\": \"Inhib\"", "\"of\": \"Other\"", "`Layers.Inhib` is a `Other`, which is not described"),
            ("\"name\": \"Inhib\", \"size\"", "\"name\": \"Layers\", \"size\"", "there are two structures `Layers`"),
        ] {
            assert_eq!(said(from, to), expected);
        }
        for (from, to, expected) in [
            ("\"type\": \"u8\", ", "", "field `on` lacks `type`, or `of` for a structure"),
            ("\"of\": \"Inhib\"", "\"of\": \"Inhib\", \"type\": \"u8\"", "field `Inhib` has `type` and `of`"),
            ("\"f16\"", "\"half\"", "unknown variant `half`"),
            ("\"count\": 2", "\"many\": 2", "unknown field `many`"),
        ] {
            let said = said(from, to);
            assert!(said.starts_with("no structures as JSON: ") && said.contains(expected), "{said}");
        }
    }
}
