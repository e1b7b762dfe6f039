//! Where the programs of a step run, and with what.

pub(in crate::engine) mod isolation;
pub(in crate::engine) mod launcher;
pub(in crate::engine) mod scratch;
pub(in crate::engine) mod toolset;
