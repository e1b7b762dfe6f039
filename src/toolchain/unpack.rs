//! Puts the files of a wheel where the toolchain's tree wants them.

use std::fs::File;
use std::io::{BufReader, Read, Write};
use std::path::{Path, PathBuf};

use zip::ZipArchive;

use super::pins::PinnedToolchain;
use crate::error::{Error, Result};
use crate::process::check_interrupted;

/// What is taken from a wheel.
pub(crate) struct Contents {
    archive: ZipArchive<BufReader<File>>,
    /// Place in the archive, path in the tree, whether it is a program.
    files: Vec<(usize, PathBuf, bool)>,
    /// Bytes when unpacked.
    pub bytes: u64,
}

impl Contents {
    /// Reads the wheel's directory.
    ///
    /// # Errors
    /// It is not a zip archive, or a name in it could leave the tree.
    pub fn read(wheel: &Path, pin: &PinnedToolchain) -> Result<Self> {
        let file = fs_err::File::open(wheel)?.into_parts().0;
        let archive = ZipArchive::new(BufReader::with_capacity(1 << 18, file)).map_err(|error| odd(wheel, error))?;
        let mut files = Vec::new();
        let mut bytes = 0_u64;
        for index in 0..archive.len() {
            let entry = archive.by_index_data(index).map_err(|error| odd(wheel, error))?;
            if entry.is_dir() {
                continue;
            }
            let name = entry.enclosed_name().filter(|_| !entry.is_symlink()).ok_or_else(|| {
                Error::toolchain(format!("{}: entry {index} is a link or leaves the archive", wheel.display()))
            })?;
            if let Some(path) = place(&name, pin) {
                let marked = entry.unix_mode().is_some_and(|mode| mode & 0o111 != 0);
                files.push((index, path.clone(), marked || in_programs(&path)));
                bytes = bytes.saturating_add(entry.size());
            }
        }
        Ok(Self { archive, files, bytes })
    }

    /// Writes the files below `root`; `progress` is told how many bytes came.
    ///
    /// # Errors
    /// A file cannot be written, or its bytes do not have the check sum that the archive states.
    pub fn unpack(mut self, wheel: &Path, root: &Path, progress: impl Fn(u64)) -> Result<()> {
        let mut buffer = vec![0; 1 << 18];
        for (index, path, program) in std::mem::take(&mut self.files) {
            let target = root.join(&path);
            if let Some(parent) = target.parent() {
                fs_err::create_dir_all(parent)?;
            }
            let mut entry = self.archive.by_index(index).map_err(|error| odd(wheel, error))?;
            let mut file = fs_err::File::create(&target)?;
            loop {
                check_interrupted()?;
                let count = entry.read(&mut buffer)?;
                if count == 0 {
                    break;
                }
                file.write_all(&buffer[..count])?;
                progress(count as u64);
            }
            crate::fs::set_mode(&target, if program { 0o755 } else { 0o644 })?;
        }
        Ok(())
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

fn odd(wheel: &Path, error: zip::result::ZipError) -> Error {
    Error::toolchain(format!("cannot unpack {}", wheel.display())).because(error)
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
