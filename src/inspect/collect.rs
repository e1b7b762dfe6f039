//! Files on disk: of a tree all of them, on all cores, touching as few pages as can be.

use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

use super::archive;
use super::examine::{Examined, examine, is_interesting};
use super::facts::{Gap, Inspected};
use super::location::Location;
use crate::budget::Budget;
use crate::container::Form;
use crate::error::{Error, Result};
use crate::fs::{self, Content, EntryKind};
use crate::gpu::Look;
use crate::package::PackageFormat;
use crate::parallel::{side_by_side, threads};
use crate::ui::Ui;

/// The first bytes by which a file is judged.
const HEAD: usize = 64;
/// From so many bytes of packages and files to search on, progress is shown.
const LONG: u64 = 200 << 20;

/// What a path that a user gave holds, without printing it.
///
/// # Errors
/// The path does not exist or cannot be opened.
pub fn look(path: &Path, look: Look, ui: &Ui) -> Result<Inspected> {
    let data = fs_err::metadata(path).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => Error::usage(format!("{} does not exist", path.display()))
            .hint("give a file, a directory, or a package such as a wheel or a .conda file"),
        _ => Error::from(error),
    })?;
    let mut found = if data.is_dir() { tree(path, look, ui)? } else { file(path, look)? };
    found.path = path.display().to_string();
    found.is_tree = data.is_dir() || Form::of_name(&found.path).is_some();
    found.packages.sort();
    // Sorted: of one file, a package manager's words come before simpack's.
    found.packages.dedup_by(|next, kept| next.path == kept.path && next.format == PackageFormat::Simpack);
    found.files.sort_by_cached_key(|file| file.path.to_string());
    found.unexamined.sort();
    // In the order of the files, so that the same names are read each time.
    found.files.iter_mut().for_each(|file| file.images.read_names());
    Ok(found)
}

fn file(path: &Path, look: Look) -> Result<Inspected> {
    let file = open(path)?;
    if !file.metadata()?.is_file() {
        return Err(Error::usage(format!("{} is no file and no directory", path.display())));
    }
    let content = Content::map(&file)?;
    if content.bytes().is_empty() {
        let gap = Gap { path: String::new(), reason: "the file is empty".to_owned() };
        return Ok(Inspected { seen: 1, unexamined: vec![gap], ..Inspected::default() });
    }
    let name = path.to_string_lossy();
    if let Some(found) = archive::package(&name, content.bytes(), look) {
        return Ok(found);
    }
    let content = if look.kernels || look.deep { content } else { content.sparse() };
    let Examined { file, gaps } =
        examine(&Location::default(), content.bytes(), look, &Budget::of(content.bytes()), Some(&content));
    let size = content.bytes().len() as u64;
    Ok(Inspected { seen: 1, bytes: size, files: file.into_iter().collect(), unexamined: gaps, ..Inspected::default() })
}

/// Opens for reading; what is a pipe by now does not make us wait.
fn open(path: &Path) -> Result<fs_err::File> {
    let mut options = fs_err::OpenOptions::new();
    options.options_mut().custom_flags(libc::O_NONBLOCK);
    Ok(options.read(true).open(path)?)
}

fn tree(root: &Path, look: Look, ui: &Ui) -> Result<Inspected> {
    let mut work: Vec<(String, u64)> = Vec::new();
    let (entries, others) = fs::walk_all(root)?;
    for entry in entries {
        if let EntryKind::File { size, .. } = entry.kind {
            work.push((entry.path, size));
        }
    }
    let slow = |path: &str, size: u64| if look.deep || Form::of_name(path).is_some() { size } else { 0 };
    let all: u64 = work.iter().map(|(path, size)| slow(path, *size)).sum();
    let bar = (all > LONG).then(|| ui.bytes("inspect", all));
    // The largest first, so that no core is left with one at the end.
    work.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    let common = Budget::for_size(0);
    let one = |(): &mut (), (path, size): &(String, u64)| {
        let mut own = Inspected::default();
        if let Err(error) = below(root, path, *size, look, &common.share(*size), &mut own) {
            own.unexamined.push(Gap { path: path.clone(), reason: error.to_string() });
        }
        if let Some(bar) = &bar {
            bar.inc(slow(path, *size));
        }
        own
    };
    let found = side_by_side(&work, threads(), || (), one);
    if let Some(bar) = bar {
        bar.finish_and_clear();
    }
    let other = |path| Gap { path, reason: fs::NO_FILE.to_owned() };
    let mut all = Inspected { unexamined: others.into_iter().map(other).collect(), ..Inspected::default() };
    found.into_iter().for_each(|own| merge(&mut all, own));
    Ok(all)
}

fn merge(all: &mut Inspected, own: Inspected) {
    all.seen += own.seen;
    all.bytes += own.bytes;
    all.packages.extend(own.packages);
    all.files.extend(own.files);
    all.unexamined.extend(own.unexamined);
}

/// One file of a tree.
fn below(root: &Path, path: &str, size: u64, look: Look, budget: &Budget, found: &mut Inspected) -> Result<()> {
    if size == 0 {
        found.seen += 1;
        return Ok(());
    }
    let file = open(&root.join(path))?;
    if let Some(form) = Form::of_name(path) {
        let content = Content::map(&file)?;
        merge(found, archive::archive(&Location::new(path), form, content.bytes(), look, budget));
        return Ok(());
    }
    found.seen += 1;
    found.bytes += size;
    // Most files of a tree are judged by their first bytes.
    fs::read_sparsely(file.file());
    let mut head = [0; HEAD];
    let count = file.file().read_at(&mut head, 0)?;
    if !is_interesting(&head[..count], look) {
        return Ok(());
    }
    let content = Content::map(&file)?;
    let content = if look.kernels || look.deep { content } else { content.sparse() };
    let examined = examine(&Location::new(path), content.bytes(), look, budget, Some(&content));
    found.files.extend(examined.file);
    found.unexamined.extend(examined.gaps);
    Ok(())
}
