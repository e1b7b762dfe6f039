//! Puts the files of a wheel where the toolchain's tree wants them.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use super::pins::PinnedToolchain;
use crate::container::{Entry, Extraction, Form, Kind, Limits, Visitor, read};
use crate::error::{Error, Result};
use crate::fs::Content;
use crate::process::check_interrupted;

/// What is taken from a wheel.
pub(crate) struct Contents {
    wheel: Content,
    /// Path in the tree and whether it is a program, by path in the archive.
    files: BTreeMap<String, (PathBuf, bool)>,
    /// Bytes when unpacked.
    pub bytes: u64,
}

impl Contents {
    /// Reads the wheel's directory.
    ///
    /// # Errors
    /// It is not a zip archive, or a name in it could leave the tree.
    pub fn read(wheel: &Path, pin: &PinnedToolchain) -> Result<Self> {
        let mut found = Self { wheel: Content::open(wheel)?, files: BTreeMap::new(), bytes: 0 };
        let (mut files, mut bytes) = (BTreeMap::new(), 0_u64);
        found.each(wheel, &mut |entry| {
            let entry = entry?;
            match (&entry.kind, place(Path::new(&entry.path), pin)) {
                (Kind::Link(_), _) => return Err(odd(wheel).detail(format!("{} is a link", entry.path)).into()),
                (Kind::File, Some(path)) => {
                    let program = entry.mode & 0o111 != 0 || in_programs(&path);
                    bytes = bytes.saturating_add(entry.size);
                    files.insert(entry.path, (path, program));
                }
                _ => {}
            }
            Ok(())
        })?;
        (found.files, found.bytes) = (files, bytes);
        Ok(found)
    }

    fn each(&self, wheel: &Path, visit: &mut Visitor<'_>) -> Result<()> {
        let bytes = self.wheel.bytes();
        let quota = Limits::USUAL.quota(bytes.len() as u64);
        read(Form::Zip, bytes, &quota, visit).map_err(|stop| stop.error(|error| odd(wheel).because(error)))
    }

    /// Writes the files below `root`; `progress` is told how many bytes came.
    ///
    /// # Errors
    /// A file cannot be written, or its bytes do not have the check sum that the archive states.
    pub fn unpack(self, wheel: &Path, root: &Path, progress: impl Fn(u64)) -> Result<()> {
        let extraction = Extraction::into(root)?;
        self.each(wheel, &mut |entry| {
            check_interrupted()?;
            let entry = entry?;
            let Some((path, program)) = self.files.get(&entry.path) else { return Ok(()) };
            let path = crate::fs::utf8(path)?.to_owned();
            let mode = if *program { 0o755 } else { 0o644 };
            let mut content = Watched { reader: entry.content, progress: &progress };
            Ok(extraction.add(&mut Entry { path, mode, content: &mut content, ..entry })?)
        })
    }
}

/// Tells how many bytes were read.
struct Watched<'a, P> {
    reader: &'a mut dyn Read,
    progress: &'a P,
}

impl<P: Fn(u64)> Read for Watched<'_, P> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.reader.read(buffer)?;
        (self.progress)(count as u64);
        Ok(count)
    }
}

/// Where a wheel's file goes: what is below `strip` into the tree, the wheel's own description (with
/// its licences) beside it, and the Python modules around them nowhere.
fn place(name: &Path, pin: &PinnedToolchain) -> Option<PathBuf> {
    if let Ok(below) = name.strip_prefix(&pin.strip) {
        return Some(Path::new(&pin.into).join(below));
    }
    let first = name.components().next()?;
    first.as_os_str().to_str()?.ends_with(".dist-info").then(|| name.to_owned())
}

/// Wheels made on other systems lose the execute bits; nvvm's `cicc` comes without.
fn in_programs(path: &Path) -> bool {
    path.parent().and_then(Path::file_name).is_some_and(|name| name == "bin")
}

fn odd(wheel: &Path) -> Error {
    Error::toolchain(format!("cannot unpack {}", wheel.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::toolchain::Pins;

    #[test]
    fn places() {
        let pins = Pins::parse(include_str!("../../manifests/toolchains.toml")).unwrap();
        let at = |pin: &str, name: &str| place(Path::new(name), pins.get(pin).unwrap());
        assert_eq!(at("cuda-13.0", "nvidia/cu13/bin/nvcc"), Some(PathBuf::from("bin/nvcc")));
        assert_eq!(at("cuda-13.0", "x.dist-info/licenses/L"), Some(PathBuf::from("x.dist-info/licenses/L")));
        assert_eq!(at("cuda-13.0", "nvidia/__init__.py"), None);
        assert_eq!(at("ninja", "ninja-1.13.2.data/scripts/ninja"), Some(PathBuf::from("bin/ninja")));
        assert_eq!(at("zig", "ziglang/zig"), Some(PathBuf::from("zig")));
        assert!(in_programs(Path::new("nvvm/bin/cicc")) && !in_programs(Path::new("bin/crt/link.stub")));
    }
}
