//! SONAMEs of the recipe in what a build installed: in each library, in what needs it, and the link for linkers.

use std::path::Path;

use crate::elf::edit::{Edits, NeededEdit, Source, State};
use crate::elf::is_elf;
use crate::error::{Error, Result};
use crate::fs::{self, Content, EntryKind, Tree};
use crate::recipe::Soname;

/// Most bytes of a text in which CMake names a library's SONAME.
const MOST_TEXT: u64 = 1 << 20;

/// Gives the libraries of `tree` the SONAMEs of `list`, and changes what needs them.
///
/// # Errors
/// A library has a SONAME with a version already that is another; or a file cannot be changed.
pub(in crate::engine::step) fn give_sonames(list: &[Soname], tree: &Path) -> Result<()> {
    if list.is_empty() {
        return Ok(());
    }
    let tree_files = Tree::at(tree)?;
    for entry in fs::walk(tree)? {
        let EntryKind::File { executable, .. } = entry.kind else { continue };
        let (path, mode) = (entry.path.as_str(), if executable { 0o755 } else { 0o644 });
        let soname = list.iter().find(|soname| path == format!("lib/{}", soname.library));
        let content = Content::open(&tree.join(path))?;
        if !is_elf(content.bytes()) {
            if path.ends_with(".cmake") && content.bytes().len() as u64 <= MOST_TEXT {
                in_cmake(list, &tree_files, (path, mode), content.bytes())?;
            }
            continue;
        }
        let about =
            |error: crate::elf::ElfError| Error::build(format!("{path} cannot be given a SONAME")).because(error);
        let source = Source::read(content.bytes()).map_err(about)?;
        if source.dynamic.is_none() {
            continue;
        }
        if let Some(soname) = soname {
            must_be_free(soname, &source.state)?;
        }
        let is_needed = |soname: &&Soname| source.state.needed.contains(&soname.library);
        let edits = Edits {
            soname: soname.map(ToString::to_string),
            needed: list
                .iter()
                .filter(is_needed)
                .map(|soname| NeededEdit::Replace { from: soname.library.clone(), to: soname.to_string() })
                .collect(),
            ..Edits::default()
        };
        let plan = source.plan(&edits).map_err(about)?;
        let bytes = plan.apply(content.bytes()).map_err(about)?;
        if State::read(&bytes).map_err(about)? != plan.wanted {
            return Err(Error::bug(format!("{path}: reads back differently from what was written")));
        }
        let place = soname.map_or_else(|| path.to_owned(), |soname| format!("lib/{soname}"));
        if plan.is_empty() && place == path {
            continue;
        }
        drop(source);
        drop(content);
        tree_files.remove(path)?;
        tree_files.file(&place, &bytes, mode)?;
        if let Some(soname) = soname {
            tree_files.symlink(&soname.to_string(), path)?;
        }
    }
    Ok(())
}

/// A build that gives a version by itself is not overruled: the recipe has grown old.
fn must_be_free(soname: &Soname, state: &State) -> Result<()> {
    match &state.soname {
        Some(own) if *own != soname.library && *own != soname.to_string() => {
            Err(Error::build(format!("lib/{} has the SONAME {own}, and the recipe says {soname}", soname.library))
                .hint("remove `soname` from the recipe: the build gives the library a version by itself"))
        }
        _ => Ok(()),
    }
}

/// CMake's packages repeat the SONAME of an imported library.
fn in_cmake(list: &[Soname], tree: &Tree, (path, mode): (&str, u32), bytes: &[u8]) -> Result<()> {
    let Ok(text) = std::str::from_utf8(bytes) else { return Ok(()) };
    let line = |line: &str| {
        let is_soname = line.trim_start().starts_with("IMPORTED_SONAME");
        let named = list.iter().filter(|_| is_soname);
        named.fold(line.to_owned(), |line, soname| {
            line.replace(&format!("\"{}\"", soname.library), &format!("\"{soname}\""))
        })
    };
    let changed: String = text.split_inclusive('\n').map(line).collect();
    if changed == text {
        return Ok(());
    }
    tree.remove(path)?;
    tree.file(path, changed.as_bytes(), mode)
}
