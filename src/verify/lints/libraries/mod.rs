//! Lints over shared libraries, and how the loader finds them.

pub(super) mod bundled;
pub(super) mod closure;
pub(super) mod needed;
pub(super) mod search_path;
pub(super) mod soname;
pub(super) mod symbols;
