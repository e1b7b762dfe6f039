//! Sources of recipes: fetched, unpacked, changed by patches and put together.

pub(super) mod archive;
pub(super) mod changes;
pub(super) mod commit;
pub(super) mod compose;
pub(super) mod difference;
pub(super) mod digest;
pub(super) mod git;
pub(super) mod releases;
pub(super) mod source;
