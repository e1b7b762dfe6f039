//! Source trees that are put together: several sources, each in a directory of its name, with the recipe's patches and
//! files over them. Each is made once, from trees that are fetched once, and named by all that it is made of.

use std::path::{Path, PathBuf};

use super::super::store::Store;
use super::changes;
use super::digest::tree_digest;
use super::source::{name, place_of, whole};
use crate::error::{Error, Result};
use crate::fs::{self, Digest, DigestBuilder, EntryKind, Tree, with_lock_or_wait};
use crate::recipe::{Source, SourcePart};
use crate::ui::Ui;

/// Raised when trees are put together otherwise.
const LAYOUT: &str = "composed 1";

/// What a recipe changes of a source, as it is today.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PartDigests {
    /// Digest over the files of the overlay.
    pub overlay: Option<Digest>,
    /// Digests of the patches, in their order.
    pub patches: Vec<Digest>,
}

impl PartDigests {
    /// Reads what a part names in the recipe's directory `dir`.
    ///
    /// # Errors
    /// Something is not there.
    pub fn of(part: &SourcePart, dir: &Path) -> Result<Self> {
        let overlay = part.overlay.as_ref().map(|overlay| tree_digest(&dir.join(overlay))).transpose()?;
        let patches = part.patches.iter().map(|patch| Digest::of_file(&dir.join(patch))).collect::<Result<_>>()?;
        Ok(Self { overlay, patches })
    }
}

impl Store {
    /// The root of a recipe's source tree, put together where it is made of several parts; `dir` is the recipe's
    /// directory, whose patches and files go into it.
    ///
    /// # Errors
    /// As [`Store::source`]; a patch does not apply, or a file cannot be read.
    pub fn tree(&self, source: &Source, dir: &Path, ui: &Ui, offline: bool) -> Result<PathBuf> {
        let Source::Composed(parts) = source else { return self.source(source, ui, offline) };
        let mut key = DigestBuilder::default().field(LAYOUT);
        let mut roots = Vec::new();
        for part in parts {
            let root = part.source.as_ref().map(|source| self.source(source, ui, offline)).transpose()?;
            let PartDigests { overlay, patches } = PartDigests::of(part, dir)?;
            key = key.field("part").field(&part.into);
            if let Some(source) = &part.source {
                key = key.field("source").field(super::source::key(source)?.as_bytes());
            }
            key = patches.iter().fold(key, |key, patch| key.field("patch").field(patch.as_bytes()));
            key = overlay.iter().fold(key, |key, overlay| key.field("overlay").field(overlay.as_bytes()));
            roots.push(root);
        }
        let key = key.finish();
        let place = place_of(&self.dir, key);
        if let Some(root) = whole(&place, key) {
            return Ok(root);
        }
        let lock = self.dir.join("sources").join(format!(".{key}.lock"));
        let waiting = || ui.note("source  waiting for another simpack that puts it together");
        with_lock_or_wait(&lock, waiting, || match whole(&place, key) {
            Some(root) => Ok(root),
            None => self.keep(source, key, &mut |tree| {
                for (part, root) in parts.iter().zip(&roots) {
                    put(part, root.as_deref(), dir, tree)?;
                }
                Ok(tree.to_owned())
            }),
        })
    }
}

impl Store {
    /// Writes what is fetched of a part into the empty directory `into`, with the part's patches but without its overlay.
    ///
    /// # Errors
    /// As [`Store::tree`].
    pub fn patched(&self, part: &SourcePart, dir: &Path, into: &Path, ui: &Ui, offline: bool) -> Result<()> {
        let root = part.source.as_ref().map(|source| self.source(source, ui, offline)).transpose()?;
        fill(part, root.as_deref(), dir, into)
    }
}

/// Puts a part into `tree`.
fn put(part: &SourcePart, root: Option<&Path>, dir: &Path, tree: &Path) -> Result<()> {
    let into = if part.into == "." { tree.to_owned() } else { tree.join(&part.into) };
    if into != tree && into.exists() {
        return Err(Error::recipe(format!("the source of [source] has a directory `{}` of its own", part.into))
            .hint("give the other source another name"));
    }
    fill(part, root, dir, &into)?;
    lay_over(part, dir, &into)
}

/// Fills a directory with what was fetched, and applies the patches.
fn fill(part: &SourcePart, root: Option<&Path>, dir: &Path, into: &Path) -> Result<()> {
    if let Some(root) = root {
        fs::copy_tree(root, into, &std::collections::BTreeMap::new())?;
    }
    for patch in &part.patches {
        let bytes = fs::read(&dir.join(patch))?;
        changes::apply(&bytes, &Tree::at(into)?).map_err(|error| {
            let of = part.source.as_ref().map(name).unwrap_or_default();
            let wrong = Error::recipe(format!("{patch} does not apply to {of}")).detail(error.to_string());
            let wrong = error.details().iter().fold(wrong, |wrong, detail| wrong.detail(detail.clone()));
            wrong.hint("`simpack patch-source`, `diff -ruN a b` and `git diff` make one from a changed tree")
        })?;
    }
    Ok(())
}

/// Puts the files of a part's overlay over the tree `into`.
///
/// # Errors
/// A file cannot be read or written, or the overlay holds a link.
pub fn lay_over(part: &SourcePart, dir: &Path, into: &Path) -> Result<()> {
    let Some(overlay) = &part.overlay else { return Ok(()) };
    let over = dir.join(overlay);
    let (from, tree) = (Tree::at(&over)?, Tree::make(into)?);
    for entry in fs::walk(&over)? {
        match entry.kind {
            EntryKind::Directory => tree.directory(&entry.path)?,
            EntryKind::File { executable, .. } => {
                if tree.open(&entry.path).is_ok() {
                    tree.remove(&entry.path)?;
                }
                let mode = if executable { 0o755 } else { 0o644 };
                tree.copy(&from.open(&entry.path)?, &entry.path, Some(mode))?;
            }
            EntryKind::Link(_) => {
                return Err(Error::recipe(format!("{overlay}/{} is a link", entry.path))
                    .hint("an overlay holds files: put a copy there"));
            }
        }
    }
    Ok(())
}
