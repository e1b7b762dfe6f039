//! Wheels: in and out. Sliced files change their digests in `RECORD`, and the wheel says by its build tag
//! what it holds, so that it is never taken for the fat one.

use std::collections::BTreeMap;
use std::io::{Read, Seek, Write};
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};
use zip::result::ZipError;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipArchive, ZipWriter};

use super::{MAGICS, Member};
use crate::error::{Error, Result};

/// A wheel that is being sliced.
pub struct Wheel {
    path: PathBuf,
    archive: ZipArchive<fs_err::File>,
}

impl Wheel {
    /// Whether the file is a wheel, by its name.
    pub fn is_one(path: &Path) -> bool {
        path.extension().is_some_and(|ending| ending == "whl")
    }

    /// Opens it.
    ///
    /// # Errors
    /// It cannot be read, or is no wheel.
    pub fn open(path: &Path) -> Result<Self> {
        let archive = ZipArchive::new(fs_err::File::open(path)?).map_err(|error| odd(path, error))?;
        let has_record = archive.file_names().any(|name| name.is_ok_and(|name| name.ends_with(".dist-info/RECORD")));
        if !has_record {
            return Err(Error::file(path, "it has no RECORD and is no wheel"));
        }
        Ok(Self { path: path.to_owned(), archive })
    }

    /// Unpacks the files that may hold device code into `dir`.
    ///
    /// # Errors
    /// The wheel is damaged, or `dir` cannot be written.
    pub fn members(&mut self, dir: &Path) -> Result<Vec<Member>> {
        let mut members = Vec::new();
        for index in 0..self.archive.len() {
            let mut entry = self.archive.by_index(index).map_err(|error| odd(&self.path, error))?;
            let mut start = [0; 8];
            let count = read_up_to(&mut entry, &mut start)?;
            if !MAGICS.iter().any(|magic| start[..count].starts_with(magic)) {
                continue;
            }
            let file = dir.join(index.to_string());
            let mut out = fs_err::File::create(&file)?;
            out.write_all(&start[..count])?;
            std::io::copy(&mut entry, &mut out)?;
            let name = entry.name().map_err(|error| odd(&self.path, error))?.into_owned();
            members.push(Member { name, file });
        }
        Ok(members)
    }

    /// Writes the wheel with other content for the files in `sliced` (file by name) to `output`.
    ///
    /// # Errors
    /// The wheel is damaged, `output` cannot be written, or does not read back.
    pub fn write(&mut self, sliced: &BTreeMap<String, PathBuf>, build: &str, output: &Path) -> Result<()> {
        let parent = output.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        fs_err::create_dir_all(parent)?;
        let slice = tempfile::Builder::new().prefix(".simpack-").tempfile_in(parent)?;
        let mut writer = ZipWriter::new(slice.as_file());
        let failed = |error: ZipError| Error::file(output, "cannot be written").because(error);
        let mut record = Vec::new();
        let mut record_name = String::new();
        let mut record_options = SimpleFileOptions::default();
        for index in 0..self.archive.len() {
            let mut entry = self.archive.by_index(index).map_err(|error| odd(&self.path, error))?;
            let name = entry.name().map_err(|error| odd(&self.path, error))?.into_owned();
            let options = options(&entry);
            if name.ends_with(".dist-info/RECORD") {
                (record_name, record_options) = (name, options);
                continue;
            }
            // A signature of the old RECORD says nothing about the new one.
            if name.ends_with(".dist-info/RECORD.jws") || name.ends_with(".dist-info/RECORD.p7s") {
                continue;
            }
            if entry.is_dir() {
                writer.add_directory(name, options).map_err(failed)?;
                continue;
            }
            writer.start_file(&name, options).map_err(failed)?;
            let mut out = Summed::new(&mut writer);
            match sliced.get(&name) {
                Some(file) => std::io::copy(&mut fs_err::File::open(file)?, &mut out)?,
                None if name.ends_with(".dist-info/WHEEL") => {
                    let mut text = String::new();
                    entry.read_to_string(&mut text)?;
                    out.write_all(with_build(&text, build).as_bytes())?;
                    0
                }
                None => std::io::copy(&mut entry, &mut out)?,
            };
            let (size, digest) = out.finish();
            record.push(format!("{},sha256={digest},{size}\n", quoted(&name)));
        }
        record.push(format!("{},,\n", quoted(&record_name)));
        writer.start_file(&record_name, record_options).map_err(failed)?;
        writer.write_all(record.concat().as_bytes())?;
        writer.finish().map_err(failed)?;
        read_back(slice.path(), &record)?;
        crate::fs::set_mode(slice.path(), 0o644)?;
        slice.as_file().sync_data()?;
        slice.persist(output).map_err(|error| Error::file(output, error.error))?;
        Ok(())
    }
}

/// The name of a sliced wheel: that of the fat one with a build tag (PEP 427).
///
/// # Errors
/// The name is none of a wheel.
pub fn wheel_name(path: &Path, build: &str) -> Result<String> {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let parts: Vec<&str> = name.split('-').collect();
    match parts.as_slice() {
        [name, version, python, abi, platform] => Ok(format!("{name}-{version}-{build}-{python}-{abi}-{platform}")),
        [name, version, old, python, abi, platform] => {
            Ok(format!("{name}-{version}-{old}_{build}-{python}-{abi}-{platform}"))
        }
        _ => Err(Error::file(path, "its name is not that of a wheel")),
    }
}

fn odd(path: &Path, error: ZipError) -> Error {
    Error::file(path, "the wheel is damaged").because(error).hint("download it again")
}

fn read_up_to(from: &mut impl Read, buffer: &mut [u8]) -> std::io::Result<usize> {
    let mut count = 0;
    while count < buffer.len() {
        match from.read(&mut buffer[count..])? {
            0 => break,
            more => count += more,
        }
    }
    Ok(count)
}

fn options<R: Read>(entry: &zip::read::ZipFile<'_, R>) -> SimpleFileOptions {
    let method = match entry.compression() {
        CompressionMethod::Stored => CompressionMethod::Stored,
        _ => CompressionMethod::Deflated,
    };
    SimpleFileOptions::default()
        .compression_method(method)
        .last_modified_time(entry.last_modified().unwrap_or_default())
        .unix_permissions(entry.unix_mode().unwrap_or(0o644) & 0o777)
        .large_file(entry.size() >= u64::from(u32::MAX))
}

/// The text of WHEEL with this build tag.
fn with_build(text: &str, build: &str) -> String {
    let mut lines: Vec<String> = Vec::new();
    let mut build = build.to_owned();
    for line in text.lines() {
        match line.strip_prefix("Build:") {
            Some(old) => build = format!("{}_{build}", old.trim()),
            None => lines.push(line.to_owned()),
        }
    }
    lines.push(format!("Build: {build}"));
    lines.join("\n") + "\n"
}

/// A field of RECORD, which is CSV.
fn quoted(name: &str) -> String {
    if name.contains([',', '"']) { format!("\"{}\"", name.replace('"', "\"\"")) } else { name.to_owned() }
}

/// Counts and digests what is written.
struct Summed<W> {
    out: W,
    size: u64,
    hasher: Sha256,
}

impl<W: Write> Summed<W> {
    fn new(out: W) -> Self {
        Self { out, size: 0, hasher: Sha256::new() }
    }

    /// Bytes, and the digest as RECORD has it.
    fn finish(self) -> (u64, String) {
        (self.size, base64(&self.hasher.finalize()))
    }
}

impl<W: Write> Write for Summed<W> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let count = self.out.write(bytes)?;
        self.hasher.update(&bytes[..count]);
        self.size += count as u64;
        Ok(count)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.out.flush()
    }
}

/// URL-safe base64 without padding (RFC 4648, section 5), as RECORD has it.
fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let word = chunk.iter().fold(0u32, |word, byte| word << 8 | u32::from(*byte)) << (8 * (3 - chunk.len()));
        for index in 0..=chunk.len() {
            text.push(char::from(LETTERS[(word >> (18 - 6 * index)) as usize & 63]));
        }
    }
    text
}

/// The written wheel says the same of every file as its RECORD.
fn read_back(path: &Path, record: &[String]) -> Result<()> {
    let wrong = |what: String| Error::bug(format!("the sliced wheel is wrong: {what}"));
    let mut file = fs_err::File::open(path)?;
    file.rewind()?;
    let mut archive = ZipArchive::new(file).map_err(|error| wrong(error.to_string()))?;
    let mut found = Vec::new();
    for index in 0..archive.len() {
        let mut entry = archive.by_index(index).map_err(|error| wrong(error.to_string()))?;
        if entry.is_dir() {
            continue;
        }
        let name = quoted(&entry.name().map_err(|error| wrong(error.to_string()))?);
        if name.ends_with(".dist-info/RECORD") {
            found.push(format!("{name},,\n"));
            continue;
        }
        let mut sum = Summed::new(std::io::sink());
        std::io::copy(&mut entry, &mut sum)?;
        let (size, digest) = sum.finish();
        found.push(format!("{name},sha256={digest},{size}\n"));
    }
    if found == record { Ok(()) } else { Err(wrong("a file is not what RECORD says".to_owned())) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_are_written_as_python_writes_them() {
        assert_eq!(base64(b""), "");
        assert_eq!(base64(b"f"), "Zg");
        assert_eq!(base64(b"fo"), "Zm8");
        assert_eq!(base64(b"foobar"), "Zm9vYmFy");
        assert_eq!(base64(&[0xfb, 0xff]), "-_8");
    }

    #[test]
    fn names_carry_the_build_tag() {
        let name = |text: &str| wheel_name(Path::new(text), "0sm90").ok();
        assert_eq!(name("a-1.0-py3-none-any.whl").as_deref(), Some("a-1.0-0sm90-py3-none-any.whl"));
        assert_eq!(name("d/a-1.0-3-py3-none-any.whl").as_deref(), Some("a-1.0-3_0sm90-py3-none-any.whl"));
        assert_eq!(name("a.whl"), None);
        assert_eq!(
            with_build("Wheel-Version: 1.0\nBuild: 3\nTag: x\n", "0sm90"),
            "Wheel-Version: 1.0\nTag: x\nBuild: 3_0sm90\n"
        );
    }
}
