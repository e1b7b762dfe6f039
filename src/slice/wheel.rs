//! Wheels: in and out. Sliced files change their digests in `RECORD`, and the wheel says by a local version (PEP 440)
//! what it holds: requirements on the version hold for it, and it is never taken for the fat one. Installers sort it
//! above the fat one, so each slice lies in an index of its own.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};
use zip::ZipWriter;
use zip::result::ZipError;
use zip::write::SimpleFileOptions;

use super::{MAGICS, Member};
use crate::container::{Entry, Form, Kind, Limits, Visitor, read};
use crate::error::{Error, Result};
use crate::fs::{self, Content};
use crate::package::wheel::{encoded, quoted};

/// A wheel that is being sliced.
pub struct Wheel {
    path: PathBuf,
    content: Content,
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
        let wheel = Self { path: path.to_owned(), content: Content::open(path)? };
        let mut names = BTreeSet::new();
        let mut records = 0;
        wheel.each(&mut |entry| {
            let Entry { path: name, kind, .. } = entry?;
            records += usize::from(metadata(&name) == Some("RECORD"));
            if kind == Kind::Directory || names.insert(name.clone()) {
                return Ok(());
            }
            Err(Error::incomplete(path, format!("it has two files named {name}")).into())
        })?;
        match records {
            0 => Err(Error::file(path, "it has no RECORD and is no wheel")),
            1 => Ok(wheel),
            _ => Err(Error::incomplete(path, "it has several RECORDs, and none says what is installed")),
        }
    }

    fn each(&self, visit: &mut Visitor<'_>) -> Result<()> {
        let bytes = self.content.bytes();
        read(Form::Zip, bytes, &Limits::USUAL.quota(bytes.len() as u64), visit).map_err(|stop| {
            stop.error(|error| {
                Error::incomplete(&self.path, "the wheel is damaged").because(error).hint("download it again")
            })
        })
    }

    /// Unpacks the files that may hold device code into `dir`.
    ///
    /// # Errors
    /// The wheel is damaged, or `dir` cannot be written.
    pub fn members(&self, dir: &Path) -> Result<Vec<Member>> {
        let mut members = Vec::new();
        self.each(&mut |entry| {
            let entry = entry?;
            let mut start = Vec::new();
            entry.content.take(8).read_to_end(&mut start).map_err(|error| entry.unreadable(error))?;
            if MAGICS.iter().any(|magic| start.starts_with(magic)) {
                let file = dir.join(members.len().to_string());
                let mut out = fs_err::File::create(&file)?;
                out.write_all(&start)?;
                std::io::copy(entry.content, &mut out)?;
                members.push(Member { name: entry.path, file });
            }
            Ok(())
        })?;
        Ok(members)
    }

    /// Writes the wheel with other content for the files in `sliced` (file by name) and a local version to `output`.
    ///
    /// # Errors
    /// The wheel is damaged, `output` cannot be written, or does not read back.
    pub fn write(&self, sliced: &BTreeMap<String, PathBuf>, local: &str, output: &Path) -> Result<()> {
        let naming = Naming::new(&self.path, local)?;
        let parent = output.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        fs_err::create_dir_all(parent)?;
        let slice = tempfile::Builder::new().prefix(".simpack-").tempfile_in(parent)?;
        let mut writer = ZipWriter::new(slice.as_file());
        let failed = |error: ZipError| Error::file(output, "cannot be written").because(error);
        let mut record = Vec::new();
        let mut record_name = String::new();
        let mut record_options = SimpleFileOptions::default();
        self.each(&mut |entry| {
            let Entry { path: fat_name, kind, zip, content, .. } = entry?;
            let options = zip.unwrap_or_default();
            let name = naming.renamed(&fat_name);
            if metadata(&name) == Some("RECORD") {
                (record_name, record_options) = (name, options);
                return Ok(());
            }
            // A signature of the old RECORD says nothing about the new one.
            if matches!(metadata(&name), Some("RECORD.jws" | "RECORD.p7s")) {
                return Ok(());
            }
            if kind == Kind::Directory {
                return Ok(writer.add_directory(name, options).map_err(failed)?);
            }
            writer.start_file(&name, options).map_err(failed)?;
            let mut out = Summed::new(&mut writer);
            match (sliced.get(&fat_name), kind) {
                (Some(file), _) => std::io::copy(&mut fs::open(file)?, &mut out)?,
                // What claims to be a link stays a file, as it is one to installers.
                (None, Kind::Link(text)) => std::io::copy(&mut text.as_bytes(), &mut out)?,
                (None, _) if metadata(&name) == Some("METADATA") => {
                    let mut text = String::new();
                    content.read_to_string(&mut text)?;
                    out.write_all(with_version(&text, local).as_bytes())?;
                    0
                }
                (None, _) => std::io::copy(content, &mut out)?,
            };
            let (size, digest) = out.finish();
            record.push(format!("{},sha256={digest},{size}\n", quoted(&name)));
            Ok(())
        })?;
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

/// The name of a sliced wheel: that of the fat one with a local version.
///
/// # Errors
/// The name is none of a wheel.
pub fn wheel_name(path: &Path, local: &str) -> Result<String> {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let parts: Vec<&str> = name.split('-').collect();
    match parts.as_slice() {
        [name, version, rest @ ..] if matches!(rest.len(), 3 | 4) => {
            Ok(format!("{name}-{}-{}", sliced_version(version, local), rest.join("-")))
        }
        _ => Err(Error::file(path, "its name is not that of a wheel")),
    }
}

/// `2.4.0+cu126.sm90` of `2.4.0+cu126`. What a slice before this one held is no part of it.
fn sliced_version(version: &str, local: &str) -> String {
    let (public, old) = version.split_once('+').unwrap_or((version, ""));
    let kept = old.split('.').filter(|word| !word.is_empty() && !is_label(word));
    let words: Vec<&str> = kept.chain([local]).collect();
    format!("{public}+{}", words.join("."))
}

/// Whether a word of a local version is one that slices have: `sm90a`, `ptx90`, `ptx`.
fn is_label(word: &str) -> bool {
    let number = word.strip_prefix("sm").or_else(|| word.strip_prefix("ptx"));
    number.is_some_and(|number| {
        let digits = number.trim_end_matches(['a', 'f']);
        (word == "ptx" || !digits.is_empty()) && digits.bytes().all(|byte| byte.is_ascii_digit())
    })
}

/// The directories of a wheel that bear its version.
struct Naming {
    fat: String,
    sliced: String,
}

impl Naming {
    fn new(path: &Path, local: &str) -> Result<Self> {
        let stem = |name: &str| name.splitn(3, '-').take(2).collect::<Vec<_>>().join("-");
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        Ok(Self { fat: stem(name), sliced: stem(&wheel_name(path, local)?) })
    }

    /// A member's name in the slice: `NAME-VERSION.dist-info` and `NAME-VERSION.data` follow the version. Wheels may spell
    /// their name in them in another way, which stays.
    fn renamed(&self, member: &str) -> String {
        let Some((directory, rest)) = member.split_once('/') else { return member.to_owned() };
        let ending = [".dist-info", ".data"].into_iter().find(|ending| directory.ends_with(ending));
        let version = |stem: &str| stem.split_once('-').map(|(_, version)| version.to_owned());
        let (Some(ending), Some(fat), Some(sliced)) = (ending, version(&self.fat), version(&self.sliced)) else {
            return member.to_owned();
        };
        match directory.strip_suffix(ending).and_then(|stem| stem.strip_suffix(&fat)) {
            Some(name) if name.ends_with('-') => format!("{name}{sliced}{ending}/{rest}"),
            _ => member.to_owned(),
        }
    }
}

/// The name of a file that describes the wheel itself: those of packages that it bundles lie deeper.
fn metadata(name: &str) -> Option<&str> {
    let (directory, file) = name.split_once('/')?;
    (directory.ends_with(".dist-info") && !file.contains('/')).then_some(file)
}

/// The text of METADATA with the version of the slice, in its head.
fn with_version(text: &str, local: &str) -> String {
    let mut in_head = true;
    let lines = text.split_inclusive('\n').map(|line| {
        in_head &= !line.trim().is_empty();
        match line.strip_prefix("Version:").filter(|_| in_head) {
            Some(version) => {
                let end = &line[line.trim_end().len()..];
                format!("Version: {}{end}", sliced_version(version.trim(), local))
            }
            None => line.to_owned(),
        }
    });
    lines.collect()
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
        (self.size, encoded(&self.hasher.finalize()))
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

/// The written wheel says the same of every file as its RECORD.
fn read_back(path: &Path, record: &[String]) -> Result<()> {
    let wrong = |what: String| Error::bug(format!("the sliced wheel is wrong: {what}"));
    let wheel = Wheel { path: path.to_owned(), content: Content::open(path)? };
    let mut found = Vec::new();
    let read = wheel.each(&mut |entry| {
        let entry = entry?;
        let name = quoted(&entry.path);
        if entry.kind == Kind::Directory {
            return Ok(());
        }
        if metadata(&entry.path) == Some("RECORD") {
            found.push(format!("{name},,\n"));
            return Ok(());
        }
        let mut sum = Summed::new(std::io::sink());
        std::io::copy(entry.content, &mut sum)?;
        let (size, digest) = sum.finish();
        found.push(format!("{name},sha256={digest},{size}\n"));
        Ok(())
    });
    read.map_err(|error| wrong(error.to_string()))?;
    let other = record.iter().zip(&found).find(|(planned, found)| planned != found);
    match other {
        Some((planned, found)) => Err(wrong(format!("RECORD says {planned:?}, and it holds {found:?}"))),
        None if found.len() != record.len() => Err(wrong(format!("{} files of {}", found.len(), record.len()))),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wheel(dir: &Path, files: &[(&str, &str)]) -> PathBuf {
        let path = dir.join("a-1.0-py3-none-any.whl");
        let mut zip = ZipWriter::new(fs_err::File::create(&path).unwrap());
        for (name, text) in files {
            zip.start_file(*name, SimpleFileOptions::default()).unwrap();
            zip.write_all(text.as_bytes()).unwrap();
        }
        zip.finish().unwrap();
        path
    }

    /// What a bundled package says of itself is a file as any other; a second RECORD at the top is not.
    #[test]
    fn only_the_wheels_own_record_is_written_anew() {
        let dir = tempfile::tempdir().unwrap();
        let bundled = ("a/vendor/b-2.dist-info/RECORD", "b.py,,\n");
        let other = ("a/vendor/b-2.dist-info/METADATA", "Version: 1.0\n");
        let own = ("a-1.0.dist-info/RECORD", "");
        let path = wheel(
            dir.path(),
            &[
                bundled,
                other,
                ("a-1.0.data/x", ""),
                ("a-1.0.dist-info/METADATA", "Name: a\nVersion: 1.0\n\nVersion: 1.0"),
                own,
            ],
        );
        let output = dir.path().join("out.whl");
        Wheel::open(&path).unwrap().write(&BTreeMap::new(), "sm90", &output).unwrap();
        let mut zip = zip::ZipArchive::new(fs_err::File::open(&output).unwrap()).unwrap();
        let mut text = |name: &str| std::io::read_to_string(zip.by_name(name).unwrap()).unwrap();
        assert_eq!((text(bundled.0), text(other.0)), (bundled.1.to_owned(), other.1.to_owned()));
        assert_eq!(text("a-1.0+sm90.dist-info/METADATA"), "Name: a\nVersion: 1.0+sm90\n\nVersion: 1.0");
        let lines = text("a-1.0+sm90.dist-info/RECORD");
        assert!(lines.contains("a/vendor/b-2.dist-info/RECORD,sha256=") && lines.contains("a-1.0+sm90.data/x,sha256="));
        assert!(lines.ends_with("a-1.0+sm90.dist-info/RECORD,,\n"), "{lines}");
        // A name that CSV puts into quotation marks.
        let path = wheel(dir.path(), &[("a,1.0.dist-info/RECORD", "")]);
        Wheel::open(&path).unwrap().write(&BTreeMap::new(), "sm90", &output).unwrap();
        let path = wheel(dir.path(), &[own, ("b-1.0.dist-info/RECORD", "")]);
        assert_eq!(Wheel::open(&path).err().unwrap().kind(), crate::error::ErrorKind::Incomplete);
    }

    #[test]
    fn names_carry_a_local_version() {
        let name = |text: &str| wheel_name(Path::new(text), "sm90").ok();
        assert_eq!(name("a-1.0-py3-none-any.whl").as_deref(), Some("a-1.0+sm90-py3-none-any.whl"));
        assert_eq!(name("d/a-1.0-3-py3-none-any.whl").as_deref(), Some("a-1.0+sm90-3-py3-none-any.whl"));
        assert_eq!(name("a.whl"), None);
        assert_eq!(sliced_version("2.4.0+cu126", "sm80.sm90"), "2.4.0+cu126.sm80.sm90");
        assert_eq!(sliced_version("2.4.0+cu126.sm80.sm90a.ptx", "sm90"), "2.4.0+cu126.sm90");
        assert_eq!(sliced_version("1+small.smx", "ptx90"), "1+small.smx.ptx90");
    }
}
