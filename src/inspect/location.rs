//! Where a file lies that is looked at.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Serialize, Serializer};

/// A file below the path that was given, or a member of archives there. It prints as `dist/volley.whl: lib/libvolley.so.1`,
/// and as nothing for the path itself.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Location {
    /// Archives from the outside in, then the file.
    parts: Vec<String>,
}

impl Location {
    /// A file by its path below the path that was given; empty for that path itself.
    pub fn new(path: &str) -> Self {
        let parts = Some(path).filter(|path| !path.is_empty()).map(str::to_owned).into_iter().collect();
        Self { parts }
    }

    /// A member of the archive that lies here.
    pub(super) fn member(&self, path: &str) -> Self {
        let mut parts = self.parts.clone();
        parts.push(path.to_owned());
        Self { parts }
    }

    /// Whether it is the path that was given.
    pub fn is_all(&self) -> bool {
        self.parts.is_empty()
    }

    /// The outermost archive that the file is in.
    pub(super) fn archive(&self) -> Option<&str> {
        self.parts.split_last().and_then(|(_, archives)| archives.first()).map(String::as_str)
    }

    /// The path of the file, in its archive where it is in one.
    pub(super) fn file(&self) -> &str {
        self.parts.last().map_or("", String::as_str)
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.parts.join(": "))
    }
}

impl Serialize for Location {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl JsonSchema for Location {
    fn schema_name() -> Cow<'static, str> {
        "Location".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        String::json_schema(generator)
    }
}
