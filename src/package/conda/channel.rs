//! The index of a channel: for every directory of packages `repodata.json`, the same in shards (CEP 16), and what its
//! packages export (`run_exports.json`, CEP 12).
//!
//! The records are rattler's, read from the archives themselves. Its ready-made indexer is not
//! used: it needs a runtime.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use rattler_conda_types::package::{DistArchiveIdentifier, IndexJson, PackageFile, RunExportsJson};
use rattler_conda_types::utils::TimestampMs;
use rattler_conda_types::{ChannelInfo, PackageRecord, RepoData};
use rattler_digest::{Md5, Sha256, compute_file_digest};
use serde_json::{Value, json};

use super::entry::{Entries, Entry, compressed};
use super::{info, shards};
use crate::container::{Form, Limits, read as read_container, read_tar};
use crate::error::{Error, Result};
use crate::fs::Content;

/// The index that every client knows.
const REPODATA: &str = "repodata.json";

/// Indexes the channel `dir`: `noarch`, which every channel has, and each other directory that is there. The bytes follow
/// from the packages and from when each was indexed first (CEP 47), which `earlier`, a channel that `dir` takes the place
/// of, or the index that is there knows; the others are new `now`. Answers the written files.
///
/// # Errors
/// A package cannot be read: nothing is written for its directory.
pub fn index(dir: &Path, earlier: Option<&Path>, now: Timestamp) -> Result<Vec<PathBuf>> {
    fs_err::create_dir_all(dir.join("noarch"))?;
    let mut written = Vec::new();
    for subdir in ["linux-64", "noarch"] {
        let place = dir.join(subdir);
        if !place.is_dir() {
            continue;
        }
        let mut known = first_indexed(&place);
        known.extend(earlier.map(|earlier| first_indexed(&earlier.join(subdir))).unwrap_or_default());
        let entries = entries(&place, subdir, &known, now)?;
        // Shards first: who finds their list finds them. Old ones stay, for clients that read an older list.
        let (list, shards) = shards::shards(subdir, &entries)?;
        let exports = info::json_lines(&exports(subdir, &entries))?;
        let repodata = info::json_lines(&repodata(subdir, entries))?;
        let mut files = shards;
        for (name, bytes) in [("run_exports.json", exports), (REPODATA, repodata)] {
            files.push((format!("{name}.zst"), compressed(&bytes)?));
            files.push((name.to_owned(), bytes));
        }
        files.push(list);
        for (name, bytes) in files {
            let path = place.join(name);
            fs_err::create_dir_all(path.parent().unwrap_or(&place))?;
            crate::fs::write_atomic(&path, &bytes)?;
            written.push(path);
        }
    }
    written.sort();
    Ok(written)
}

/// The digest of a package's file, in hex.
fn hex(record: &PackageRecord) -> String {
    record.sha256.iter().flatten().map(|byte| format!("{byte:02x}")).collect()
}

/// When the packages of a directory were indexed first, by name and digest; what cannot be read knows none.
fn first_indexed(place: &Path) -> BTreeMap<(String, String), TimestampMs> {
    let read = || -> Option<RepoData> { serde_json::from_slice(&fs_err::read(place.join(REPODATA)).ok()?).ok() };
    let records = read().map(|repodata| repodata.conda_packages).unwrap_or_default();
    let first = |(name, record): (DistArchiveIdentifier, PackageRecord)| {
        Some(((name.to_string(), hex(&record)), record.indexed_timestamp?))
    };
    records.into_iter().filter_map(first).collect()
}

fn entries(
    place: &Path,
    subdir: &str,
    known: &BTreeMap<(String, String), TimestampMs>,
    now: Timestamp,
) -> Result<Entries> {
    let mut entries = Entries::new();
    for entry in fs_err::read_dir(place)? {
        let path = entry?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if name.starts_with('.') || !name.ends_with(".conda") {
            continue;
        }
        let identifier: DistArchiveIdentifier =
            name.parse().map_err(|error| Error::file(&path, format!("is no package's name: {error}")))?;
        let mut entry = read(&path, identifier)?;
        if entry.record.subdir != subdir {
            return Err(Error::file(&path, format!("is a package for {}", entry.record.subdir))
                .hint(format!("move it to {}", entry.record.subdir)));
        }
        let key = (name.to_owned(), hex(&entry.record));
        let now = TimestampMs::from_timestamp_millis(now);
        entry.record.indexed_timestamp = Some(known.get(&key).copied().unwrap_or(now));
        entries.insert(name.to_owned(), entry);
    }
    Ok(entries)
}

fn repodata(subdir: &str, entries: Entries) -> RepoData {
    RepoData {
        info: Some(ChannelInfo {
            subdir: Some(subdir.to_owned()),
            base_url: None,
            repodata_revisions: Default::default(),
            channel_relations: None,
            virtual_package_detectors: None,
        }),
        packages: Default::default(),
        conda_packages: entries.into_values().map(|entry| (entry.identifier, entry.record)).collect(),
        v3: Default::default(),
        removed: Default::default(),
        version: Some(1),
    }
}

/// What packages export, for builders that need not open them (CEP 12).
fn exports(subdir: &str, entries: &Entries) -> Value {
    let of = |entry: &Entry| json!({ "run_exports": entry.run_exports });
    let packages: BTreeMap<&String, Value> = entries.iter().map(|(name, entry)| (name, of(entry))).collect();
    json!({ "info": { "subdir": subdir, "version": 1 }, "packages": {}, "packages.conda": packages })
}

fn read(path: &Path, identifier: DistArchiveIdentifier) -> Result<Entry> {
    let unreadable = |error: Box<dyn std::error::Error + Send + Sync>| {
        Error::file(path, "cannot be read as a package").because(error).hint("remove it from the channel")
    };
    let (index, run_exports) = about(path).map_err(unreadable)?;
    let digest = |error: std::io::Error| unreadable(error.into());
    let sha256 = compute_file_digest::<Sha256>(path).map_err(digest)?;
    let md5 = compute_file_digest::<Md5>(path).map_err(digest)?;
    let size = fs_err::metadata(path)?.len();
    let record = PackageRecord::from_index_json(index, Some(size), Some(sha256), Some(md5))
        .map_err(|error| unreadable(error.into()))?;
    Ok(Entry { identifier, record, run_exports })
}

/// What the second of its archives says; the first, with the files, is not read.
fn about(path: &Path) -> Result<(IndexJson, RunExportsJson), Box<dyn std::error::Error + Send + Sync>> {
    let content = Content::map(&crate::fs::open(path)?)?;
    let quota = Limits::USUAL.quota(content.bytes().len() as u64);
    let (mut index, mut run_exports) = (None, None);
    let read = read_container(Form::Zip, content.bytes(), &quota, &mut |member| {
        let member = member?;
        let Some(Form::Tar(packing)) = Form::of_name(&member.path).filter(|_| member.path.starts_with("info-")) else {
            return Ok(());
        };
        read_tar(packing, member.content, &quota, &mut |entry| {
            let entry = entry?;
            let mut text = Vec::new();
            if Path::new(&entry.path) == IndexJson::package_path() {
                entry.content.read_to_end(&mut text)?;
                index = Some(text);
            } else if Path::new(&entry.path) == RunExportsJson::package_path() {
                entry.content.read_to_end(&mut text)?;
                run_exports = Some(text);
            }
            Ok(())
        })
    });
    read.map_err(|stop| stop.to_string())?;
    let index = serde_json::from_slice(&index.ok_or("it holds no info/index.json")?)?;
    let run_exports = run_exports.map(|text| serde_json::from_slice(&text)).transpose()?.unwrap_or_default();
    Ok((index, run_exports))
}
