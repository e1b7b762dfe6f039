//! Unpacks packages for an examination: conda packages, wheels, tarballs.

use std::io::{self, Read};
use std::path::Path;

use super::PackageIndex;

/// A package that unpacks to more than this many times its size, and to more than a gibibyte, is a bomb:
/// the most that compilers' output was seen to shrink is to a twentieth.
const MOST_EXPANSION: u64 = 200;
const SMALL: u64 = 1 << 30;

/// What a file is, by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    Conda,
    Wheel,
    TarBz2,
    TarZst,
    TarGz,
}

impl Form {
    pub(super) fn of(path: &Path) -> Option<Self> {
        let name = path.file_name()?.to_str()?;
        let forms = [
            (".conda", Self::Conda),
            (".whl", Self::Wheel),
            (".tar.bz2", Self::TarBz2),
            (".tar.zst", Self::TarZst),
            (".tar.gz", Self::TarGz),
            (".tgz", Self::TarGz),
        ];
        forms.into_iter().find(|(end, _)| name.ends_with(end)).map(|(_, form)| form)
    }

    /// Whether it is looked for in directories: other archives there are as often something else.
    pub(super) fn is_package(self) -> bool {
        !matches!(self, Self::TarGz | Self::TarBz2)
    }
}

/// Unpacks the package at `path` into the empty directory `to`; answers what a package manager is told of
/// it. What belongs to the package manager (`info/`) is left out.
///
/// # Errors
/// Not a package, damaged, or a bomb; the causes in words.
pub(super) fn unpack(path: &Path, to: &Path) -> Result<Option<PackageIndex>, String> {
    match Form::of(path) {
        Some(Form::Conda) => conda(path, to),
        Some(Form::Wheel) => wheel(path, to).map(|()| None),
        // The older form of conda packages; of any other archive there is no `info/`.
        Some(Form::TarBz2) => {
            let file = fs_err::File::open(path).map_err(|error| error.to_string())?;
            tar(bzip2::read::MultiBzDecoder::new(file), path, to)?;
            told(to)
        }
        Some(Form::TarZst) => {
            let file = fs_err::File::open(path).map_err(|error| error.to_string())?;
            let decoder = zstd::Decoder::new(file).map_err(|error| error.to_string())?;
            tar(decoder, path, to).map(|()| None)
        }
        Some(Form::TarGz) => {
            let file = fs_err::File::open(path).map_err(|error| error.to_string())?;
            tar(flate2::read::MultiGzDecoder::new(file), path, to).map(|()| None)
        }
        None => Err("its name is that of no package".to_owned()),
    }
}

/// Unpacks a package file with everything in it, what is the package manager's included (`info/`).
///
/// # Errors
/// Why it cannot be unpacked.
pub fn unpack_whole(path: &Path, to: &Path) -> Result<(), String> {
    match Form::of(path) {
        Some(Form::Conda) => {
            rattler_package_streaming::fs::extract_conda(path, to).map(|_| ()).map_err(|error| reasons(&error))
        }
        _ => unpack(path, to).map(|_| ()),
    }
}

fn conda(path: &Path, to: &Path) -> Result<Option<PackageIndex>, String> {
    rattler_package_streaming::fs::extract_conda(path, to).map_err(|error| reasons(&error))?;
    told(to)
}

/// What conda is told of an unpacked package, taken out of the tree.
fn told(to: &Path) -> Result<Option<PackageIndex>, String> {
    let info = to.join("info");
    if !info.is_dir() {
        return Ok(None);
    }
    let index = index(&info)?;
    fs_err::remove_dir_all(info).map_err(|error| error.to_string())?;
    Ok(index)
}

/// `info/index.json`, as far as the lints ask.
fn index(info: &Path) -> Result<Option<PackageIndex>, String> {
    #[derive(serde::Deserialize)]
    struct Index {
        name: String,
        version: String,
        build: String,
        #[serde(default)]
        depends: Vec<String>,
    }
    let file = info.join("index.json");
    if !file.is_file() {
        return Ok(None);
    }
    let bytes = fs_err::read(&file).map_err(|error| error.to_string())?;
    match serde_json::from_slice(&bytes) {
        Ok(Index { name, version, build, depends }) => Ok(Some(PackageIndex { name, version, build, depends })),
        Err(error) => Err(format!("its info/index.json: {error}")),
    }
}

/// Most bytes that a package may unpack to.
fn most(path: &Path) -> Result<u64, String> {
    let size = path.metadata().map_err(|error| error.to_string())?.len();
    Ok(size.saturating_mul(MOST_EXPANSION).max(SMALL))
}

fn bomb(most: u64) -> String {
    format!("it unpacks to more than {most} bytes")
}

/// A wheel is a zip archive of plain files (binary distribution format, file format).
fn wheel(path: &Path, to: &Path) -> Result<(), String> {
    let file = fs_err::File::open(path).map_err(|error| error.to_string())?;
    let mut archive = zip::ZipArchive::new(file).map_err(|error| reasons(&error))?;
    let most = most(path)?;
    let mut left = most;
    for index in 0..archive.len() {
        let entry = archive.by_index(index).map_err(|error| reasons(&error))?;
        let name = entry
            .enclosed_name()
            .ok_or_else(|| format!("`{}` leads out of the package", String::from_utf8_lossy(entry.name_raw())))?;
        let target = to.join(name);
        if entry.is_dir() {
            fs_err::create_dir_all(&target).map_err(|error| error.to_string())?;
            continue;
        }
        if let Some(parent) = target.parent() {
            fs_err::create_dir_all(parent).map_err(|error| error.to_string())?;
        }
        // Links would lead where they please; wheels have none, so what claims to be one stays a file.
        let mut out = fs_err::File::create(&target).map_err(|error| error.to_string())?;
        let written = io::copy(&mut entry.take(left.saturating_add(1)), &mut out).map_err(|error| error.to_string())?;
        left = left.checked_sub(written).ok_or_else(|| bomb(most))?;
    }
    Ok(())
}

fn tar(reader: impl Read, path: &Path, to: &Path) -> Result<(), String> {
    let most = most(path)?;
    let limited = Limited { reader, left: most, most };
    let mut archive = tar::Archive::new(limited);
    archive.set_preserve_permissions(true);
    archive.unpack(to).map_err(|error| reasons(&error))
}

/// A reader that fails where a bomb goes on.
struct Limited<R> {
    reader: R,
    left: u64,
    most: u64,
}

impl<R: Read> Read for Limited<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.reader.read(buffer)?;
        self.left = self.left.checked_sub(count as u64).ok_or_else(|| io::Error::other(bomb(self.most)))?;
        Ok(count)
    }
}

/// An error with its causes.
fn reasons(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(source) = cause {
        let said = source.to_string();
        if !text.contains(&said) {
            text.push_str(&format!(": {said}"));
        }
        cause = source.source();
    }
    text
}
