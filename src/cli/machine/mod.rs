//! Verbs about the machine that packages are to run on.

pub(super) mod compile;
pub(super) mod doctor;
pub(super) mod select;
