//! Verbs about a recipe: it is made, checked, locked, and other texts follow from it.

pub(super) mod check;
pub(super) mod generate;
pub(super) mod init;
pub(super) mod lock;
pub(super) mod patch_source;
pub(super) mod schema;
