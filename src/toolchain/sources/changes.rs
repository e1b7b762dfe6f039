//! Patches of a recipe, applied to a tree: unified diffs over several files, as git and diff write them.

use diffy::patch_set::{FileMode, FileOperation, FilePatch, ParseOptions, PatchKind, PatchSet};

use crate::error::{Error, Result};
use crate::fs::Tree;
use crate::printable::text as quoted;

/// Applies a patch to the files of `tree`, as `patch -p1` does but without guessing: every line of context must be there.
///
/// # Errors
/// It is no patch, changes nothing, names a place outside of the tree or of a link, changes bytes that are no text, or
/// its context is not there.
pub(in crate::toolchain) fn apply(patch: &[u8], tree: &Tree) -> Result<()> {
    let is_git = patch.split(|byte| *byte == b'\n').any(|line| line.starts_with(b"diff --git "));
    let options = if is_git { ParseOptions::gitdiff() } else { ParseOptions::unidiff() };
    let mut count = 0;
    for file in PatchSet::parse_bytes(patch, options) {
        let file = file.map_err(|error| Error::recipe("it is no unified diff").detail(error.to_string()))?;
        apply_one(&file, tree)?;
        count += 1;
    }
    match count {
        0 => Err(Error::recipe("it changes no file")),
        _ => Ok(()),
    }
}

fn apply_one(file: &FilePatch<'_, [u8]>, tree: &Tree) -> Result<()> {
    let operation = file.operation().strip_prefix(1);
    let (from, to) = match &operation {
        FileOperation::Create(to) => (None, Some(&**to)),
        FileOperation::Delete(from) => (Some(&**from), None),
        FileOperation::Modify { original, modified } => (Some(&**original), Some(&**modified)),
        FileOperation::Rename { from, to } | FileOperation::Copy { from, to } => (Some(&**from), Some(&**to)),
    };
    let (from, to) = (from.map(path).transpose()?, to.map(path).transpose()?);
    if file.new_mode().is_some_and(|mode| matches!(mode, FileMode::Symlink | FileMode::Gitlink)) {
        return Err(Error::recipe("it makes links, which patches of sources may not"));
    }
    let PatchKind::Text(hunks) = file.patch() else {
        return Err(Error::recipe("it changes bytes that are no text").hint("put such files into `overlay`"));
    };
    // `diff -u` names the changed file with a suffix where it was kept: what is there counts.
    let from = match (from, to) {
        (Some(from), Some(to)) if tree.open(from).is_err() && matches!(operation, FileOperation::Modify { .. }) => {
            Some(to)
        }
        (from, _) => from,
    };
    let (base, mode) = match from {
        Some(from) => (tree.read(from)?, mode_of(tree, from)?),
        None => (Vec::new(), 0o644),
    };
    let shown = || quoted(to.or(from).unwrap_or_default());
    if let (None, Some(to)) = (from, to)
        && tree.open(to).is_ok()
    {
        return Err(Error::recipe(format!("{} is there already", shown())));
    }
    let bytes = diffy::apply_bytes(&base, hunks)
        .map_err(|error| Error::recipe(format!("{} is not what it expects", shown())).detail(error.to_string()))?;
    if let Some(from) = from.filter(|_| !matches!(operation, FileOperation::Copy { .. })) {
        tree.remove(from)?;
    }
    let mode = match file.new_mode() {
        Some(FileMode::Executable) => 0o755,
        Some(FileMode::Regular) => 0o644,
        _ => mode,
    };
    match to {
        Some(to) => tree.file(to, &bytes, mode),
        None if bytes.is_empty() => Ok(()),
        None => Err(Error::recipe(format!("{} has more lines than it takes away", shown()))),
    }
}

fn path(bytes: &[u8]) -> Result<&str> {
    let path = std::str::from_utf8(bytes).map_err(|_| Error::recipe("it names a file whose name is no text"))?;
    let is_inside = !path.is_empty() && path.split('/').all(|part| !["", ".", ".."].contains(&part));
    match is_inside {
        true => Ok(path),
        false => Err(Error::recipe(format!("`{}` is no path below the source", quoted(path)))),
    }
}

fn mode_of(tree: &Tree, path: &str) -> Result<u32> {
    use std::os::unix::fs::MetadataExt;
    Ok(if tree.open(path)?.metadata()?.mode() & 0o100 != 0 { 0o755 } else { 0o644 })
}
