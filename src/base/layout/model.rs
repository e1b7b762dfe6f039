//! Structures as values.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A type of one number, or a pointer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Scalar {
    /// A pointer, 8 bytes.
    Ptr,
    /// An unsigned integer.
    U64,
    /// A signed integer.
    I64,
    /// A `double`.
    F64,
    /// An unsigned integer.
    U32,
    /// A signed integer.
    I32,
    /// A `float`.
    F32,
    /// An unsigned integer.
    U16,
    /// A signed integer.
    I16,
    /// Half a `float`: `_Float16`.
    F16,
    /// An unsigned integer; a `bool`, too.
    U8,
    /// A signed integer.
    I8,
}

impl Scalar {
    /// All, the largest first.
    pub const ALL: [Self; 12] = [
        Self::Ptr,
        Self::U64,
        Self::I64,
        Self::F64,
        Self::U32,
        Self::I32,
        Self::F32,
        Self::U16,
        Self::I16,
        Self::F16,
        Self::U8,
        Self::I8,
    ];

    /// As kernel tables write it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ptr => "ptr",
            Self::U64 => "u64",
            Self::I64 => "i64",
            Self::F64 => "f64",
            Self::U32 => "u32",
            Self::I32 => "i32",
            Self::F32 => "f32",
            Self::U16 => "u16",
            Self::I16 => "i16",
            Self::F16 => "f16",
            Self::U8 => "u8",
            Self::I8 => "i8",
        }
    }

    /// Bytes, which are its alignment, too.
    pub fn size(self) -> u32 {
        match self {
            Self::Ptr | Self::U64 | Self::I64 | Self::F64 => 8,
            Self::U32 | Self::I32 | Self::F32 => 4,
            Self::U16 | Self::I16 | Self::F16 => 2,
            Self::U8 | Self::I8 => 1,
        }
    }

    /// Whether a device cannot tell the two apart: addresses are numbers to it.
    pub(super) fn is_same(self, other: Self) -> bool {
        let plain = |scalar| if scalar == Self::Ptr { Self::U64 } else { scalar };
        plain(self) == plain(other)
    }
}

/// What one element of a field is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FieldType {
    /// A number or pointer.
    Scalar(Scalar),
    /// A structure, by its name.
    Structure(String),
}

impl FieldType {
    /// The structure that it is.
    pub fn structure(&self) -> Option<&str> {
        match self {
            Self::Scalar(_) => None,
            Self::Structure(name) => Some(name),
        }
    }
}

impl fmt::Display for FieldType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Scalar(scalar) => f.pad(scalar.name()),
            Self::Structure(name) => f.pad(name),
        }
    }
}

/// A field of a structure.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "WrittenField", into = "WrittenField")]
#[schemars(with = "WrittenField")]
pub struct Field {
    /// Its name in the shader.
    pub name: String,
    /// Bytes from the start of the structure.
    pub offset: u32,
    /// One element.
    pub kind: FieldType,
    /// Elements: those of all dimensions of an array, or of a vector.
    pub count: u32,
}

/// A structure: its fields in the order in which they lie.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Structure {
    /// Its name in the kernel table.
    pub name: String,
    /// Bytes of one, up to the next in an array.
    pub size: u32,
    /// Its fields.
    pub fields: Vec<Field>,
}

/// A field as JSON has it: `type`, or `of` for a structure.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[schemars(rename = "Field")]
struct WrittenField {
    /// Its name in the shader.
    name: String,
    /// The number that it is, or that each of its elements is.
    #[serde(rename = "type", default, skip_serializing_if = "Option::is_none")]
    kind: Option<Scalar>,
    /// The structure that it is, or that each of its elements is, in the place of `type`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    of: Option<String>,
    /// Elements of an array or vector, of all its dimensions together.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    count: u32,
    /// Bytes from the start of the structure.
    offset: u32,
}

fn one() -> u32 {
    1
}

fn is_one(count: &u32) -> bool {
    *count == 1
}

impl TryFrom<WrittenField> for Field {
    type Error = String;

    fn try_from(written: WrittenField) -> Result<Self, String> {
        let WrittenField { name, kind, of, count, offset } = written;
        let kind = match (kind, of) {
            (Some(scalar), None) => FieldType::Scalar(scalar),
            (None, Some(of)) => FieldType::Structure(of),
            (Some(_), Some(_)) => {
                return Err(format!("field `{name}` has `type` and `of`: it is a number or a structure"));
            }
            (None, None) => return Err(format!("field `{name}` lacks `type`, or `of` for a structure")),
        };
        Ok(Self { name, offset, kind, count })
    }
}

impl From<Field> for WrittenField {
    fn from(field: Field) -> Self {
        let (kind, of) = match field.kind {
            FieldType::Scalar(scalar) => (Some(scalar), None),
            FieldType::Structure(of) => (None, Some(of)),
        };
        Self { name: field.name, kind, of, count: field.count, offset: field.offset }
    }
}
