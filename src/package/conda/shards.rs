//! A channel's index in shards (CEP 16): what a package's name brings is a file of its own, named by its digest, so that
//! clients fetch the part of the index that they need.

use std::collections::BTreeMap;

use rattler_conda_types::Shard;
use rattler_conda_types::utils::TimestampMs;
use rattler_digest::Sha256;
use rattler_digest::serde::SerializableHash;
use serde::Serialize;

use super::entry::{Entries, compressed};
use crate::error::{Error, Result};
use crate::fs::Digest;

/// The list of shards, which clients ask for first.
const LIST: &str = "repodata_shards.msgpack.zst";
/// The directory of the shards beside it.
const DIRECTORY: &str = "shards";

/// The list, with the fields of rattler's type in an order that does not change.
#[derive(Serialize)]
struct List<'a> {
    info: Info<'a>,
    shards: BTreeMap<String, SerializableHash<Sha256>>,
}

#[derive(Serialize)]
struct Info<'a> {
    subdir: &'a str,
    base_url: &'a str,
    shards_base_url: &'a str,
    /// When the newest of its packages was indexed, as RFC 3339 writes it.
    created_at: String,
}

/// A file: path and bytes.
type File = (String, Vec<u8>);

/// The list of a directory's shards and the shards, as files below the directory.
pub(super) fn shards(subdir: &str, entries: &Entries) -> Result<(File, Vec<File>)> {
    let mut by_name: BTreeMap<String, Shard> = BTreeMap::new();
    for entry in entries.values() {
        let mut record = entry.record.clone();
        // A shard says what repodata.json leaves to a file of its own.
        record.run_exports = Some(entry.run_exports.clone());
        let shard = by_name.entry(record.name.as_normalized().to_owned()).or_default();
        shard.conda_packages.insert(entry.identifier.clone(), record);
    }
    let (mut digests, mut files) = (BTreeMap::new(), Vec::new());
    for (name, shard) in by_name {
        let bytes = packed(&shard)?;
        let digest = Digest::of(&bytes);
        files.push((format!("{DIRECTORY}/{digest}.msgpack.zst"), bytes));
        digests.insert(name, SerializableHash((*digest.as_bytes()).into()));
    }
    let newest = entries.values().filter_map(|entry| entry.record.indexed_timestamp).max();
    let info = Info {
        subdir,
        base_url: "./",
        shards_base_url: "./shards/",
        created_at: newest.map_or(jiff::Timestamp::UNIX_EPOCH, |time: TimestampMs| time.jiff_timestamp()).to_string(),
    };
    let list = packed(&List { info, shards: digests })?;
    Ok(((LIST.to_owned(), list), files))
}

fn packed(value: &impl Serialize) -> Result<Vec<u8>> {
    let bytes = rmp_serde::to_vec_named(value)
        .map_err(|error| Error::bug("a channel's index does not print as MessagePack").because(error))?;
    compressed(&bytes)
}
