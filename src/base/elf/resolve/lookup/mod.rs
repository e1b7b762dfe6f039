//! Where loaders look for a name.

pub(super) mod musl;
pub(super) mod search;
pub(super) mod search_dir;
pub(super) mod search_path;
pub(super) mod tokens;
