//! The artifact cache: a directory per content key, checked when it is read, bounded in size.
//!
//! Below its root:
//! - `ab/abcd.../entry.json` and `files/`: an entry, complete or absent, because it is written beside
//!   its place and renamed into it. The time stamp of `entry.json` is its last use.
//! - `.runs/`: a locked file per running build; nothing that was used since the oldest one began goes.
//! - `.history/`: what the steps of each simulator took the last time;
//! - `.size`: about how many bytes there are, so that a build need not look at every entry.
//!
//! What leaves the cache is copied: `copy_file_range` shares the blocks on file systems that can
//! (Btrfs, XFS), and elsewhere a copy is what is safe. Hard links would give a bundle that is patched
//! in place, or the mode that a package needs, the power to damage the entry.

mod dirs;
mod entry;
mod evict;
mod remote;
mod runs;
mod store;
mod survey;
mod user;

pub(super) use dirs::{OPEN_TO_ALL, make_dir};
pub use entry::{CacheEntry, Made, StepKind};
pub(super) use entry::{List, artifacts_with};
pub use evict::{Bounds, Trimmed};
pub use store::{Cache, CacheSettings, DEFAULT_LIMIT};
pub use survey::{CacheStat, CacheVerdict, Damaged, KindStat};
pub use user::{CachePlace, entries, trim_headers, user_headers};
pub(crate) use user::{build_headers, finish_cache, look_into_cache, object_store, open_cache};
