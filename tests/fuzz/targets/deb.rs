//! Packages of Debian member by member: what is read stays inside of the place where it is unpacked, and is bounded.

use std::fs;
use std::io;
use std::path::Path;

use simpack::container::{self, Form, Kind, Limits};
use simpack::error::Result;

use crate::scratch::scratch;

pub fn run(bytes: &[u8]) {
    let quota = Limits::USUAL.quota(bytes.len() as u64);
    // What is refused or damaged is an error.
    let _ = container::read(Form::Deb, bytes, &quota, &mut |entry| {
        let Ok(entry) = entry else { return Ok(()) };
        let is_inside = entry.path.split('/').all(|part| !part.is_empty() && part != "." && part != "..");
        assert!(is_inside, "{}", entry.path);
        if let Kind::File = entry.kind {
            // Members may say another size than they have.
            let _ = io::copy(&mut *entry.content, &mut io::sink());
        }
        Ok(())
    });
    scratch(|dir| unpacked(bytes, dir));
}

/// Nothing lands beside the directory.
fn unpacked(bytes: &[u8], dir: &Path) -> Result<()> {
    let (path, to) = (dir.join("a.deb"), dir.join("root"));
    fs::write(&path, bytes)?;
    let _ = container::unpack(&path, Form::Deb, &to, true, &mut |_| Ok(()));
    let mut entries: Vec<String> = fs::read_dir(dir)?.flatten().map(|it| it.file_name().display().to_string()).collect();
    entries.retain(|name| name != "a.deb" && name != "root");
    assert!(entries.is_empty(), "{entries:?}");
    Ok(())
}
