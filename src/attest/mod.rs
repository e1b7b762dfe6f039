//! Who made packages, and from what: a statement beside them, and signatures. Nothing of this is inside a package,
//! because machines, keys and means of isolation differ where bytes must not.

mod check;
mod crates;
mod sign;
mod sigstore;
mod statement;

pub use check::{Checked, Outcome, check};
pub use sign::{SIGNATURE, SigningKey, TrustedKey};
pub use sigstore::{Identity, Sigstore};
pub use statement::{BuiltPart, Origin, PROVENANCE, Statement, StepRecord, statement, subjects};
