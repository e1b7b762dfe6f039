//! What kind of container a file is: by its name, or by its first bytes.

use std::path::Path;

/// Kinds of containers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Zip, wheels too.
    Zip,
    /// A `.conda` package: tar archives in a zip, which are one tree to their users.
    Conda,
    /// A `.deb` package: tar archives in an `ar`, which are one tree to their users.
    Deb,
    /// Tar.
    Tar(Packing),
}

/// How a tar archive is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Packing {
    /// Not at all.
    None,
    /// gzip.
    Gzip,
    /// bzip2.
    Bzip2,
    /// Zstandard.
    Zstd,
    /// xz.
    Xz,
}

impl Form {
    /// By the end of a name: a `.gz` or `.zip` that is something else is not opened by accident.
    pub fn of_name(name: &str) -> Option<Self> {
        const ENDINGS: [(&str, Form); 14] = [
            (".deb", Form::Deb),
            (".whl", Form::Zip),
            (".conda", Form::Conda),
            (".zip", Form::Zip),
            (".tar", Form::Tar(Packing::None)),
            (".tar.gz", Form::Tar(Packing::Gzip)),
            (".tgz", Form::Tar(Packing::Gzip)),
            (".tar.bz2", Form::Tar(Packing::Bzip2)),
            (".tbz2", Form::Tar(Packing::Bzip2)),
            (".tar.zst", Form::Tar(Packing::Zstd)),
            (".tzst", Form::Tar(Packing::Zstd)),
            (".tar.xz", Form::Tar(Packing::Xz)),
            (".txz", Form::Tar(Packing::Xz)),
            (".crate", Form::Tar(Packing::Gzip)),
        ];
        ENDINGS.iter().find(|(ending, _)| name.ends_with(ending)).map(|(_, form)| *form)
    }

    /// By the name of a file.
    pub fn of_path(path: &Path) -> Option<Self> {
        Self::of_name(path.file_name()?.to_str()?)
    }

    /// By the first 512 bytes: downloads are named as somebody pleased.
    pub fn of_bytes(head: &[u8]) -> Option<Self> {
        let magic: [(&[u8], Self); 7] = [
            (b"!<arch>\ndebian-binary", Self::Deb),
            (b"\x1f\x8b", Self::Tar(Packing::Gzip)),
            (b"BZh", Self::Tar(Packing::Bzip2)),
            (b"\xfd7zXZ\0", Self::Tar(Packing::Xz)),
            (b"\x28\xb5\x2f\xfd", Self::Tar(Packing::Zstd)),
            (b"PK\x03\x04", Self::Zip),
            (b"PK\x05\x06", Self::Zip),
        ];
        let found = magic.into_iter().find(|(magic, _)| head.starts_with(magic)).map(|(_, form)| form);
        // Behind the fields of the first header; two more bytes tell POSIX from GNU's tar.
        found.or_else(|| (head.get(257..262)? == b"ustar").then_some(Self::Tar(Packing::None)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_bytes_say_the_kind() {
        assert_eq!(Form::of_bytes(b"\x1f\x8b\x08"), Some(Form::Tar(Packing::Gzip)));
        assert_eq!(Form::of_bytes(b"PK\x03\x04"), Some(Form::Zip));
        assert_eq!(Form::of_bytes(b"<!DOCTYPE html>"), None);
        assert_eq!(Form::of_bytes(b""), None);
        assert_eq!(Form::of_bytes(tar::Header::new_gnu().as_bytes()), Some(Form::Tar(Packing::None)));
    }
}
