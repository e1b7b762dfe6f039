//! What conda's clients keep of the packages of a prefix: a file for each in `conda-meta`, with the digests of its files.

use std::path::Path;

use serde::Deserialize;

use super::super::reading::kept::{KeptDigest, KeptFile, KeptList, client_list};
use crate::bundle::BundleManifest;

/// Where clients keep it.
const DIRECTORY: &str = "conda-meta";

/// What is read of a record ("paths_data" of conda's `PrefixRecord`).
#[derive(Deserialize)]
struct PrefixRecord {
    name: String,
    #[serde(default)]
    paths_data: Paths,
}

#[derive(Default, Deserialize)]
struct Paths {
    #[serde(default)]
    paths: Vec<PathRecord>,
}

#[derive(Deserialize)]
struct PathRecord {
    #[serde(rename = "_path")]
    path: String,
    #[serde(default)]
    path_type: String,
    #[serde(default)]
    sha256: Option<String>,
    /// Where a client has written the prefix into the file.
    #[serde(default)]
    sha256_in_prefix: Option<String>,
}

/// The record of a package in a prefix.
pub(super) fn kept(prefix: &Path, manifest: &BundleManifest) -> Option<KeptList> {
    let start = format!("{}-", manifest.package);
    let entries = fs_err::read_dir(prefix.join(DIRECTORY)).ok()?.flatten();
    let mut names: Vec<String> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.retain(|name| name.starts_with(&start) && name.ends_with(".json"));
    names.sort();
    names.into_iter().find_map(|name| {
        // Names with hyphens begin alike: the record says whose it is. What cannot be read may be this package's.
        let files = match read(prefix, &name) {
            Ok(record) if record.name != manifest.package => return None,
            Ok(record) => files(record),
            Err(_) if !is_named(&name, &manifest.package) => return None,
            Err(reason) => Err(reason),
        };
        Some(KeptList::new(format!("{DIRECTORY}/{name}"), prefix, "", files, manifest))
    })
}

/// Whether a prefix is that of a client.
pub(super) fn has_installed(prefix: &Path) -> bool {
    prefix.join(DIRECTORY).is_dir()
}

/// Whether a record's file is that of a package: NAME-VERSION-BUILD.json.
fn is_named(file: &str, package: &str) -> bool {
    file.rsplitn(3, '-').nth(2) == Some(package)
}

fn read(prefix: &Path, name: &str) -> Result<PrefixRecord, String> {
    let bytes = client_list(prefix, &format!("{DIRECTORY}/{name}"))?;
    serde_json::from_slice(&bytes).map_err(|error| error.to_string())
}

fn files(record: PrefixRecord) -> Result<Vec<KeptFile>, String> {
    let mut found = Vec::new();
    for PathRecord { path, path_type, sha256, sha256_in_prefix } in record.paths_data.paths {
        // Links have the digest of what they lead to, and what Python compiled has none.
        if let Some(digest) = sha256_in_prefix.or(sha256).filter(|_| path_type != "softlink") {
            let digest = KeptDigest::Sha256(digest.parse().map_err(|error| format!("{path}: {error}"))?);
            found.push(KeptFile { path, digest });
        }
    }
    match found.is_empty() {
        true => Err("it names no digest of any file".to_owned()),
        false => Ok(found),
    }
}
