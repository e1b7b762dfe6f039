//! What is done with what a build installed.

pub(super) mod install;
pub(super) mod relocate;
pub(super) mod soname;
