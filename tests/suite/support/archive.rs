//! Packages of a channel, opened with plain zip, zstd and tar.

use std::io::Read;
use std::path::{Path, PathBuf};

/// The one `.conda` file of this package in a channel.
#[track_caller]
pub fn package_file(channel: &Path, name: &str) -> PathBuf {
    let mut found = Vec::new();
    for subdir in ["linux-64", "noarch"] {
        let Ok(entries) = fs_err::read_dir(channel.join(subdir)) else { continue };
        for entry in entries {
            let path = entry.unwrap().path();
            let file = path.file_name().unwrap().to_str().unwrap();
            let Some(stem) = file.strip_suffix(".conda") else { continue };
            // NAME-VERSION-BUILD; a name may hold hyphens, the other two do not.
            if stem.rsplitn(3, '-').nth(2) == Some(name) {
                found.push(path.clone());
            }
        }
    }
    assert_eq!(found.len(), 1, "{name} in {}: {found:?}", channel.display());
    found.remove(0)
}

/// Unpacks one part (`pkg` or `info`) of a `.conda` file into `target`.
pub fn unpack(package: &Path, part: &str, target: &Path) {
    fs_err::create_dir_all(target).unwrap();
    let tar = part_of(package, part);
    tar::Archive::new(tar.as_slice()).unpack(target).unwrap();
}

/// `info/index.json` of a `.conda` file.
pub fn conda_index(package: &Path) -> serde_json::Value {
    let tar = part_of(package, "info");
    for entry in tar::Archive::new(tar.as_slice()).entries().unwrap() {
        let mut entry = entry.unwrap();
        if entry.path().unwrap() == Path::new("info/index.json") {
            let mut text = String::new();
            entry.read_to_string(&mut text).unwrap();
            return serde_json::from_str(&text).unwrap();
        }
    }
    panic!("{} has no info/index.json", package.display());
}

fn part_of(package: &Path, part: &str) -> Vec<u8> {
    let mut zip = zip::ZipArchive::new(fs_err::File::open(package).unwrap()).unwrap();
    let stem = package.file_stem().unwrap().to_str().unwrap();
    let member = zip.by_name(&format!("{part}-{stem}.tar.zst")).unwrap();
    let mut bytes = Vec::new();
    zstd::Decoder::new(member).unwrap().read_to_end(&mut bytes).unwrap();
    bytes
}
