//! The way back from `changes`: what tells two trees apart, as a patch in git's form, which carries new, deleted and
//! empty files and the execute bit.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::path::Path;

use diffy::DiffOptions;
use schemars::JsonSchema;
use serde::Serialize;

use super::changes;
use crate::error::{Error, Result};
use crate::fs::{self, Digest, DigestBuilder, EntryKind, Tree};
use crate::printable::text as quoted;

/// Larger files are no sources: they belong into an overlay, and comparing them line by line may take for ever.
const LARGEST: u64 = 8 << 20;

/// The files and links of a tree, without directories.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Snapshot {
    files: BTreeMap<String, Found>,
    empty: BTreeSet<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Found {
    Link(String),
    File { digest: Digest, executable: bool },
}

impl Snapshot {
    /// What lies below `root` except for what is `skipped`: a file's path, or a directory's with all below it.
    ///
    /// # Errors
    /// Something cannot be read, or is neither file nor link nor directory.
    pub fn of(root: &Path, skipped: &[&str]) -> Result<Self> {
        let tree = Tree::at(root)?;
        let mut snapshot = Self::default();
        for entry in fs::walk(root)? {
            let is_at = |skipped: &&str| {
                entry.path.strip_prefix(*skipped).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            };
            if skipped.iter().any(is_at) {
                continue;
            }
            if let Some((parent, _)) = entry.path.rsplit_once('/') {
                snapshot.empty.remove(parent);
            }
            let found = match entry.kind {
                EntryKind::Directory => {
                    snapshot.empty.insert(entry.path);
                    continue;
                }
                EntryKind::Link(text) => Found::Link(text),
                EntryKind::File { executable, .. } => {
                    Found::File { digest: Digest::of_open(&tree.open(&entry.path)?)?, executable }
                }
            };
            snapshot.files.insert(entry.path, found);
        }
        Ok(snapshot)
    }

    /// Whether a file or link has this path.
    pub fn holds(&self, path: &str) -> bool {
        self.files.contains_key(path)
    }

    /// Whether one of its own files has the name of a directory above `path`, which is a path of `other`.
    fn is_below_a_file_of(&self, path: &str, other: &Self) -> bool {
        let mut above = path.match_indices('/').map(|(at, _)| &path[..at]);
        other.holds(path) && above.any(|above| self.holds(above))
    }

    /// The same with the files of `over` in the place of its own.
    #[must_use]
    pub fn under(mut self, over: &Self) -> Self {
        self.files.extend(over.files.iter().map(|(path, found)| (path.clone(), found.clone())));
        self
    }

    /// Digest over files and links.
    pub fn digest(&self) -> Digest {
        let mut digest = DigestBuilder::default().field("simpack-snapshot 1");
        for (path, found) in &self.files {
            digest = match found {
                Found::Link(text) => digest.field("link").field(path).field(text),
                Found::File { digest: bytes, executable } => {
                    digest.field(if *executable { "program" } else { "file" }).field(path).field(bytes.as_bytes())
                }
            };
        }
        digest.finish()
    }

    /// Paths at which the two differ, sorted.
    pub fn differing<'a>(&'a self, other: &'a Self) -> Vec<&'a str> {
        let paths: BTreeSet<&str> = self.files.keys().chain(other.files.keys()).map(String::as_str).collect();
        paths.into_iter().filter(|path| self.files.get(*path) != other.files.get(*path)).collect()
    }
}

/// What a patch does to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Alteration {
    /// It is new.
    Added,
    /// It has other bytes or another execute bit.
    Changed,
    /// It is gone.
    Removed,
}

/// A file that a patch changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Altered {
    /// Path in the tree.
    pub path: String,
    /// What is done to it.
    pub what: Alteration,
}

/// A patch, and what it says.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Difference {
    /// A unified diff; empty where the trees are equal.
    pub patch: Vec<u8>,
    /// The files that it changes, sorted by path.
    pub altered: Vec<Altered>,
    /// What no patch carries, in words.
    pub not_carried: Vec<String>,
}

/// Makes the patch that turns the tree `base` into `changed`, each with what lies in it; paths that are `aside` are left as
/// they are. The patch is then applied to `base`, as a build does, and what came of it compared: afterwards `base` holds
/// that.
///
/// # Errors
/// The trees differ in what no patch can say: links, bytes that are no text, names with control characters.
pub fn difference(
    (base, before): (&Path, &Snapshot),
    (changed, after): (&Path, &Snapshot),
    aside: &Snapshot,
) -> Result<Difference> {
    let (from, to) = (Tree::at(base)?, Tree::at(changed)?);
    let mut made = Difference::default();
    let paths = before.differing(after).into_iter().filter(|path| !aside.holds(path));
    for path in paths {
        let (old, new) = (before.files.get(path), after.files.get(path));
        if [old, new].into_iter().flatten().any(|found| matches!(found, Found::Link(_))) {
            return Err(Error::usage(format!("{} is or was a link, and patches of sources change none", quoted(path)))
                .hint("leave links as they are"));
        }
        if before.is_below_a_file_of(path, after) || after.is_below_a_file_of(path, before) {
            return Err(Error::usage(format!("{} lies where a file was or is, which no patch carries", quoted(path)))
                .hint("give the file or the directory another name"));
        }
        let bytes = |tree: &Tree, found: Option<&Found>| found.map(|_| text_of(tree, path)).transpose();
        let (old_bytes, new_bytes) = (bytes(&from, old)?, bytes(&to, new)?);
        let file = FileChange { path, old: old_bytes.zip(mode(old)), new: new_bytes.zip(mode(new)) };
        made.patch.extend(file.in_words()?);
        made.altered.push(Altered { path: path.to_owned(), what: file.what() });
    }
    for path in after.empty.difference(&before.empty) {
        made.not_carried.push(format!("{}/: an empty directory", quoted(path)));
    }
    if made.altered.is_empty() {
        return Ok(made);
    }
    changes::apply(&made.patch, &from)
        .map_err(|error| Error::usage("no patch can be made of these changes").detail(error.to_string()))?;
    let applied = Snapshot::of(base, &[])?;
    match applied.differing(after).into_iter().find(|path| !aside.holds(path)) {
        Some(path) => {
            Err(Error::bug(format!("a patch made of changes gives another file than they did: {}", quoted(path))))
        }
        None => Ok(made),
    }
}

fn mode(found: Option<&Found>) -> Option<&'static str> {
    match found? {
        Found::File { executable: true, .. } => Some("100755"),
        _ => Some("100644"),
    }
}

/// The bytes of a file that a patch may hold.
fn text_of(tree: &Tree, path: &str) -> Result<Vec<u8>> {
    let no_patch = |why: &str| {
        Error::usage(format!("{} {why}, which no patch carries", quoted(path)))
            .hint("put such a file into the recipe's `overlay`, and leave it as it was in the tree")
    };
    let mut bytes = Vec::new();
    tree.open(path)?.take(LARGEST + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > LARGEST {
        return Err(no_patch("is larger than 8 MiB"));
    }
    match bytes.contains(&0) {
        true => Err(no_patch("is or was binary")),
        false => Ok(bytes),
    }
}

/// One file in a patch, with bytes and modes before and after.
struct FileChange<'a> {
    path: &'a str,
    old: Option<(Vec<u8>, &'static str)>,
    new: Option<(Vec<u8>, &'static str)>,
}

impl FileChange<'_> {
    fn what(&self) -> Alteration {
        match (&self.old, &self.new) {
            (None, _) => Alteration::Added,
            (_, None) => Alteration::Removed,
            _ => Alteration::Changed,
        }
    }

    /// As git writes it.
    fn in_words(&self) -> Result<Vec<u8>> {
        let path = self.path;
        let is_empty = |side: &Option<(Vec<u8>, &str)>| side.as_ref().is_none_or(|(bytes, _)| bytes.is_empty());
        let is_head_alone = match (&self.old, &self.new) {
            (Some((old, _)), Some((new, _))) => old == new,
            (old, new) => is_empty(old) && is_empty(new),
        };
        // GNU patch drops spaces at the ends of a name, and finds no name with a space where no `---` says where it ends.
        let is_cut = path.split('/').any(|part| part.trim() != part) || is_head_alone && path.contains(' ');
        if is_cut || path.contains(|letter: char| letter.is_control() || matches!(letter, '"' | '\\')) {
            return Err(Error::usage(format!(
                "`{}`: a name that tools for patches read in several ways",
                quoted(path)
            ))
            .hint("give the file another name"));
        }
        let mut head = format!("diff --git a/{path} b/{path}\n");
        match (&self.old, &self.new) {
            (None, Some((_, mode))) => head.push_str(&format!("new file mode {mode}\n")),
            (Some((_, mode)), None) => head.push_str(&format!("deleted file mode {mode}\n")),
            (Some((_, old)), Some((_, new))) if old != new => {
                head.push_str(&format!("old mode {old}\nnew mode {new}\n"));
            }
            _ => {}
        }
        let bytes = |side: &Option<(Vec<u8>, &'static str)>| side.as_ref().map(|(bytes, _)| bytes.clone());
        let (old, new) = (bytes(&self.old).unwrap_or_default(), bytes(&self.new).unwrap_or_default());
        let mut text = head.into_bytes();
        if old == new {
            return Ok(text);
        }
        // A name with a space ends at a tab, for those who look for its end.
        let end = if path.contains(' ') { "\t" } else { "" };
        let name = |side: &str, there: bool| match there {
            true => format!("{side}/{path}{end}"),
            false => "/dev/null".to_owned(),
        };
        let (from, to) = (name("a", self.old.is_some()), name("b", self.new.is_some()));
        text.extend(format!("--- {from}\n+++ {to}\n").into_bytes());
        let whole = DiffOptions::new().create_patch_bytes(&old, &new).to_bytes();
        // Its own two lines of names, which are not these, come first.
        let hunks = whole.split_inclusive(|byte| *byte == b'\n').skip_while(|line| !line.starts_with(b"@@"));
        text.extend(hunks.flatten());
        Ok(text)
    }
}
