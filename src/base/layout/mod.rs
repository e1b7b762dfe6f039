//! How the structures lie that host and device share: as the kernel table declares them, as the host's compiler wrote them
//! into debug information ([`dwarf_structures`], [`compiled_types`]), and as a program of the host prints them ([`StructuresDump`]).

mod compare;
mod dump;
mod dwarf;
mod model;
mod order;

pub use compare::differences;
pub use dump::{STRUCTURES_SCHEMA, StructuresDump};
pub use dwarf::{CompiledType, anchor, compiled_types, dwarf_structures};
pub use model::{Field, FieldType, Scalar, Structure};
pub use order::{MOST_BYTES, MOST_FIELDS, natural_offsets, ordered};

/// Why structures cannot be shared, or what describes them cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LayoutError {
    /// A structure, or a field as `Layer.gain`, that no shader can have.
    #[error("`{place}` {why}")]
    Unfit {
        /// The structure or field.
        place: String,
        /// What it is, as the rest of a sentence.
        why: String,
    },
    /// A structure that was asked for is not there.
    #[error("there is no structure `{name}`")]
    Missing {
        /// Its name.
        name: String,
        /// Those that are there.
        known: Vec<String>,
    },
    /// It is not what it should be.
    #[error("{0}")]
    Damaged(String),
}

impl LayoutError {
    fn unfit(place: impl Into<String>, why: impl Into<String>) -> Self {
        Self::Unfit { place: place.into(), why: why.into() }
    }
}
