//! The channel index: `repodata.json` of every directory of packages.
//!
//! The records are rattler's, read from the archives themselves. Its ready-made indexer is not
//! used: it writes the time of indexing into every record, and needs a runtime.

use std::io::BufReader;
use std::path::{Path, PathBuf};

use rattler_conda_types::package::{DistArchiveIdentifier, IndexJson, PackageFile};
use rattler_conda_types::{ChannelInfo, PackageRecord, RepoData};
use rattler_digest::{Md5, Sha256, compute_file_digest};

use crate::error::{Error, Result};

/// zstd level of `repodata.json.zst`: small, and read more often than written.
const INDEX_LEVEL: i32 = 19;

/// Indexes the channel `dir`: writes `repodata.json` and `repodata.json.zst` into `noarch`, which
/// every channel has, and into each other directory that is there. The bytes follow from the
/// packages alone. Answers the written files.
///
/// # Errors
/// A package cannot be read: nothing is written for its directory.
pub fn index(dir: &Path) -> Result<Vec<PathBuf>> {
    fs_err::create_dir_all(dir.join("noarch"))?;
    let mut written = Vec::new();
    for subdir in ["linux-64", "noarch"] {
        if !dir.join(subdir).is_dir() {
            continue;
        }
        let json = repodata(dir, subdir)?;
        let compressed = zstd::encode_all(json.as_slice(), INDEX_LEVEL)?;
        for (name, bytes) in [("repodata.json.zst", &compressed), ("repodata.json", &json)] {
            let path = dir.join(subdir).join(name);
            crate::fs::write_atomic(&path, bytes)?;
            written.push(path);
        }
    }
    written.sort();
    Ok(written)
}

fn repodata(dir: &Path, subdir: &str) -> Result<Vec<u8>> {
    let mut repodata = RepoData {
        info: Some(ChannelInfo {
            subdir: Some(subdir.to_owned()),
            base_url: None,
            repodata_revisions: Default::default(),
            channel_relations: None,
            virtual_package_detectors: None,
        }),
        packages: Default::default(),
        conda_packages: Default::default(),
        v3: Default::default(),
        removed: Default::default(),
        version: Some(1),
    };
    for entry in fs_err::read_dir(dir.join(subdir))? {
        let path = entry?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if name.starts_with('.') || !name.ends_with(".conda") {
            continue;
        }
        let identifier: DistArchiveIdentifier =
            name.parse().map_err(|error| Error::file(&path, format!("is no package's name: {error}")))?;
        let record = record(&path)?;
        if record.subdir != subdir {
            return Err(Error::file(&path, format!("is a package for {}", record.subdir))
                .hint(format!("move it to {}", record.subdir)));
        }
        repodata.conda_packages.insert(identifier, record);
    }
    super::info::json_lines(&repodata)
}

fn record(path: &Path) -> Result<PackageRecord> {
    let unreadable = |error: Box<dyn std::error::Error + Send + Sync>| {
        Error::file(path, "cannot be read as a package").because(error).hint("remove it from the channel")
    };
    let index = index_json(path).map_err(unreadable)?;
    let digest = |error: std::io::Error| unreadable(error.into());
    let sha256 = compute_file_digest::<Sha256>(path).map_err(digest)?;
    let md5 = compute_file_digest::<Md5>(path).map_err(digest)?;
    let size = fs_err::metadata(path)?.len();
    PackageRecord::from_index_json(index, Some(size), Some(sha256), Some(md5)).map_err(|error| unreadable(error.into()))
}

fn index_json(path: &Path) -> Result<IndexJson, Box<dyn std::error::Error + Send + Sync>> {
    let file = BufReader::new(crate::fs::open(path)?);
    let mut archive = rattler_package_streaming::seek::stream_conda_info(file)?;
    for entry in archive.entries()? {
        let mut entry = entry?;
        if entry.path()? == IndexJson::package_path() {
            return Ok(IndexJson::from_reader(&mut entry)?);
        }
    }
    Err("it holds no info/index.json".into())
}
