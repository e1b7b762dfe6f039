//! Two packages, member by member: what differs, where it begins, and in which part of a file.

use std::collections::BTreeMap;
use std::path::Path;

use schemars::JsonSchema;
use serde::Serialize;

use crate::elf::{Image, is_elf};
use crate::error::{Error, Result};
use crate::fs::{self, Content, EntryKind, Tree};
use crate::verify::unpack_whole;

/// How a member differs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Difference {
    /// Only the package that was given has it.
    Gone,
    /// Only the rebuilt package has it.
    New,
    /// It is another kind of thing, a link to elsewhere, or has another execute bit.
    Kind {
        /// In the package.
        was: String,
        /// Rebuilt.
        now: String,
    },
    /// Its bytes differ.
    Bytes {
        /// Bytes in the package.
        was: u64,
        /// Bytes when rebuilt.
        now: u64,
        /// Position of the first byte that differs.
        offset: u64,
        /// How many bytes differ, those that only one has included.
        count: u64,
        /// Section of an ELF file, or line of a text.
        place: Option<String>,
    },
}

/// A member of a package that differs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Member {
    /// Path in the package; `info/...` is the package manager's part.
    pub path: String,
    /// How.
    pub difference: Difference,
}

/// The members in which two packages differ, sorted by path. None although the files differ means that
/// only the archives do: order, times, owners, compression.
///
/// # Errors
/// One of them cannot be unpacked.
pub(super) fn compare(one: &Path, other: &Path) -> Result<Vec<Member>> {
    let dir = tempfile::Builder::new().prefix("simpack-rebuild-").tempdir()?;
    let open = |path: &Path, name: &str| -> Result<_> {
        let to = dir.path().join(name);
        fs_err::create_dir(&to)?;
        unpack_whole(path, &to).map_err(|why| Error::incomplete(path, format!("cannot be unpacked: {why}")))?;
        Ok(to)
    };
    trees(&open(one, "one")?, &open(other, "other")?)
}

/// The same over two directories.
fn trees(one: &Path, other: &Path) -> Result<Vec<Member>> {
    let list = |root: &Path| -> Result<BTreeMap<String, EntryKind>> {
        Ok(fs::walk(root)?.into_iter().map(|entry| (entry.path, entry.kind)).collect())
    };
    let (was, now) = (list(one)?, list(other)?);
    let (one, other) = (Tree::at(one)?, Tree::at(other)?);
    let mut paths: Vec<&String> = was.keys().chain(now.keys()).collect();
    paths.sort();
    paths.dedup();
    let mut members = Vec::new();
    for path in paths {
        let difference = match (was.get(path), now.get(path)) {
            (Some(_), None) => Some(Difference::Gone),
            (None, Some(_)) => Some(Difference::New),
            (Some(was), Some(now)) if describe(was) != describe(now) => {
                Some(Difference::Kind { was: describe(was), now: describe(now) })
            }
            (Some(EntryKind::File { .. }), _) => bytes(&one.open(path)?, &other.open(path)?)?,
            _ => None,
        };
        members.extend(difference.map(|difference| Member { path: path.clone(), difference }));
    }
    Ok(members)
}

/// What a member is, without its bytes.
fn describe(kind: &EntryKind) -> String {
    match kind {
        EntryKind::File { executable: true, .. } => "program".to_owned(),
        EntryKind::File { executable: false, .. } => "file".to_owned(),
        EntryKind::Link(to) => format!("link to {to}"),
        EntryKind::Directory => "directory".to_owned(),
    }
}

fn bytes(one: &fs_err::File, other: &fs_err::File) -> Result<Option<Difference>> {
    let (was, now) = (Content::map(one)?, Content::map(other)?);
    let (was, now) = (was.bytes(), now.bytes());
    if was == now {
        return Ok(None);
    }
    let pairs = was.iter().zip(now);
    let common = was.len().min(now.len());
    let offset = pairs.clone().position(|(a, b)| a != b).unwrap_or(common);
    let differing = pairs.filter(|(a, b)| a != b).count() + was.len().abs_diff(now.len());
    Ok(Some(Difference::Bytes {
        was: was.len() as u64,
        now: now.len() as u64,
        offset: offset as u64,
        count: differing as u64,
        place: place(was, offset),
    }))
}

/// The part of a file at a position: a section of an ELF file, else the line of a text.
fn place(bytes: &[u8], offset: usize) -> Option<String> {
    if is_elf(bytes) {
        let image = Image::parse(bytes).ok()?;
        let at = offset as u64;
        let holds = |start: u64, size: u64| at >= start && at - start < size;
        let found = image.sections.iter().find(|section| section.in_file() && holds(section.offset, section.size));
        return Some(found.map_or("between sections".to_owned(), |section| format!("section {}", section.name)));
    }
    let before = bytes.get(..offset)?;
    let text = std::str::from_utf8(bytes).ok()?;
    let line = before.iter().filter(|byte| **byte == b'\n').count();
    let shown: String = text.lines().nth(line).unwrap_or_default().trim().chars().take(60).collect();
    Some(format!("line {}: {shown}", line + 1))
}

impl Member {
    /// The difference in words.
    pub(super) fn words(&self) -> String {
        match &self.difference {
            Difference::Gone => format!("{}  only in the package", self.path),
            Difference::New => format!("{}  only in the rebuilt one", self.path),
            Difference::Kind { was, now } => format!("{}  {was} -> {now}", self.path),
            Difference::Bytes { was, now, offset, count, place } => {
                let place = place.as_deref().map(|place| format!(", {place}")).unwrap_or_default();
                let sizes = if was == now { format!("{was} B") } else { format!("{was} B -> {now} B") };
                format!("{}  {sizes}, {count} bytes differ, the first at {offset}{place}", self.path)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_difference_is_told() {
        let dir = tempfile::tempdir().unwrap();
        let (one, other) = (dir.path().join("one"), dir.path().join("other"));
        for (root, text) in [(&one, "a\nsame\nwas\n"), (&other, "a\nsame\nnow here\n")] {
            std::fs::create_dir_all(root).unwrap();
            std::fs::write(root.join("equal"), "same").unwrap();
            std::fs::write(root.join("text"), text).unwrap();
            std::fs::write(root.join("program"), "same").unwrap();
        }
        std::fs::write(one.join("gone"), "").unwrap();
        std::os::unix::fs::symlink("equal", other.join("new")).unwrap();
        crate::fs::set_mode(&other.join("program"), 0o755).unwrap();
        let words: Vec<String> = trees(&one, &other).unwrap().iter().map(Member::words).collect();
        assert_eq!(
            words,
            [
                "gone  only in the package",
                "new  only in the rebuilt one",
                "program  file -> program",
                "text  11 B -> 16 B, 9 bytes differ, the first at 7, line 3: was",
            ]
        );
        assert!(trees(&one, &one).unwrap().is_empty());
    }
}
