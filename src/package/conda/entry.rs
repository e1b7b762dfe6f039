//! The packages of a channel's directory, as its indexes tell of them.

use std::collections::BTreeMap;

use rattler_conda_types::PackageRecord;
use rattler_conda_types::package::{DistArchiveIdentifier, RunExportsJson};

use crate::error::Result;

/// zstd level of the indexes: small, and read more often than written.
const INDEX_LEVEL: i32 = 19;

/// One package of a directory.
pub(super) struct Entry {
    pub identifier: DistArchiveIdentifier,
    pub record: PackageRecord,
    pub run_exports: RunExportsJson,
}

/// The packages of a directory, by their files' names.
pub(super) type Entries = BTreeMap<String, Entry>;

/// A frame that says its size: without it zstd clears tables for what might come, a hundred megabytes for each index.
pub(super) fn compressed(bytes: &[u8]) -> Result<Vec<u8>> {
    Ok(zstd::bulk::compress(bytes, INDEX_LEVEL)?)
}
