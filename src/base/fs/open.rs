//! Files of others are opened here: of a pipe or a device neither opening nor reading may ever end, so these are refused.

use std::io::{self, Read};
use std::path::Path;

use fs_err::os::unix::fs::OpenOptionsExt;

/// Opens a regular file for reading.
///
/// # Errors
/// It cannot be opened, or is no regular file.
pub fn open(path: &Path) -> io::Result<fs_err::File> {
    // Only with this flag does the opening of a pipe without a writer come back.
    let file = fs_err::OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path)?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::Error::other(format!("{} is no regular file", path.display()))),
    }
}

/// Opens a lock file to see whether somebody holds it, without following a link: for writing, because network file
/// systems lock nothing else.
///
/// # Errors
/// It cannot be opened, or is no regular file.
pub fn open_lock(path: &Path) -> io::Result<std::fs::File> {
    let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK;
    let file =
        std::os::unix::fs::OpenOptionsExt::custom_flags(std::fs::File::options().write(true), flags).open(path)?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::Error::other(format!("{} is no regular file", path.display()))),
    }
}

/// All bytes of a regular file.
///
/// # Errors
/// As [`open`], or it cannot be read.
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut file = open(path)?;
    let mut bytes = Vec::with_capacity(file.metadata()?.len().min(1 << 30) as usize);
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The text of a regular file.
///
/// # Errors
/// As [`read`], or it is not UTF-8.
pub fn read_to_string(path: &Path) -> io::Result<String> {
    text(path, read(path)?)
}

/// The text of a regular file of `most` bytes at most.
///
/// # Errors
/// As [`read_to_string`], or it is longer; of one that is, no more is read.
pub fn read_short(path: &Path, most: u64) -> io::Result<String> {
    let mut bytes = Vec::new();
    open(path)?.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    match bytes.len() as u64 > most {
        true => Err(io::Error::other(format!("{} has more than {most} bytes", path.display()))),
        false => text(path, bytes),
    }
}

fn text(path: &Path, bytes: Vec<u8>) -> io::Result<String> {
    let wrong = |_| io::Error::new(io::ErrorKind::InvalidData, format!("{} is not UTF-8", path.display()));
    String::from_utf8(bytes).map_err(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fs::{Content, Digest, walk};

    #[test]
    fn what_is_no_file_is_refused_and_not_waited_for() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        fs_err::write(at("file"), "text").unwrap();
        assert_eq!(
            (read(&at("file")).unwrap(), read_to_string(&at("file")).unwrap()),
            (b"text".to_vec(), "text".into())
        );
        assert_eq!(read_short(&at("file"), 4).unwrap(), "text");
        assert!(read_short(&at("file"), 3).unwrap_err().to_string().ends_with("file has more than 3 bytes"));
        assert!(walk(dir.path()).is_ok());
        let pipe = std::ffi::CString::new(at("pipe").to_str().unwrap()).unwrap();
        // SAFETY: a text that lives through the call.
        assert_eq!(unsafe { libc::mkfifo(pipe.as_ptr(), 0o600) }, 0);
        let error = walk(dir.path()).unwrap_err().to_string();
        assert!(error.contains("pipe") && error.contains(crate::fs::NO_FILE), "{error}");
        let socket = std::os::unix::net::UnixListener::bind(at("socket")).unwrap();
        fs_err::os::unix::fs::symlink("/dev/zero", at("device")).unwrap();
        for name in ["pipe", "socket", "device", "."] {
            let path = at(name);
            assert!(
                open(&path).is_err()
                    && open_lock(&path).is_err()
                    && read(&path).is_err()
                    && read_to_string(&path).is_err()
                    && read_short(&path, u64::MAX).is_err(),
                "{name}"
            );
            assert!(Digest::of_file(&path).is_err() && Content::open(&path).is_err(), "{name}");
        }
        drop(socket);
    }
}
