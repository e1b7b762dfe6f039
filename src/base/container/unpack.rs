//! Unpacks a container into a directory; the members of zip archives on all cores.

use std::borrow::Cow;
use std::io::{self, Cursor, Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use zip::ZipArchive;

use super::entry::inside;
use super::read::{zip_archive, zip_member};
use super::{ContainerError, Entry, Extraction, Form, Limits, Quota, Stop, read};
use crate::fs::Content;
use crate::parallel::{side_by_side, threads};

/// Unpacks the container at `path` into the directory `to`, which is empty or made; `refuse` decides what a refused member means.
///
/// # Errors
/// It cannot be read or written, is damaged or a bomb, or `refuse` fails.
pub fn unpack(
    path: &Path,
    form: Form,
    to: &Path,
    installed_modes: bool,
    refuse: &mut dyn FnMut(ContainerError) -> Result<(), Stop>,
) -> Result<(), Stop> {
    let content = Content::open(path)?;
    let quota = Limits::USUAL.quota(content.bytes().len() as u64);
    let extraction = Extraction::into(to)?;
    let add = |entry: Result<Entry<'_>, ContainerError>| {
        let mut entry = entry?;
        if installed_modes {
            entry.mode = entry.installed_mode();
        }
        extraction.add(&mut entry)
    };
    match form {
        Form::Zip => zip(&content, &quota, &add, refuse)?,
        _ => read(form, content.bytes(), &quota, &mut |entry| match add(entry) {
            Err(error @ ContainerError::Refused { .. }) => refuse(error),
            added => Ok(added?),
        })?,
    }
    extraction.finish(refuse)
}

/// Writes a member into the directory; several threads call it.
type Add<'a> = dyn Fn(Result<Entry<'_>, ContainerError>) -> Result<(), ContainerError> + Sync + 'a;

/// Adds the members of a zip archive, the largest first, so that no core is left with one at the end.
fn zip(
    content: &Content,
    quota: &Quota,
    add: &Add<'_>,
    refuse: &mut dyn FnMut(ContainerError) -> Result<(), Stop>,
) -> Result<(), Stop> {
    let bytes = content.bytes();
    let mut archive = zip_archive(Pages::of(content), bytes)?;
    let mut order: Vec<(usize, u64)> = (0..archive.len()).map(|index| (index, size(&mut archive, index))).collect();
    order.sort_by_key(|(index, size)| (std::cmp::Reverse(*size), *index));
    // Members that meet at one path replace each other in the archive's order.
    let threads = if is_disjoint(&archive) { threads() } else { 1 };
    if threads == 1 {
        order.sort_unstable();
    }
    let ended = AtomicBool::new(false);
    let one = |archive: &mut ZipArchive<Pages<'_>>, (index, _): &(usize, u64)| {
        let mut refused = Vec::new();
        if ended.load(Relaxed) {
            return (*index, refused, Ok(()));
        }
        let read = zip_member(archive, *index, bytes, quota, &mut |entry| match add(entry) {
            Err(error @ ContainerError::Refused { .. }) => {
                refused.push(error);
                Ok(())
            }
            added => Ok(added?),
        });
        ended.fetch_or(read.is_err(), Relaxed);
        (*index, refused, read)
    };
    let mut done = side_by_side(&order, threads, || archive.clone(), one);
    done.sort_by_key(|(index, ..)| *index);
    for (_, refused, read) in done {
        refused.into_iter().try_for_each(&mut *refuse)?;
        read?;
    }
    Ok(())
}

/// How many bytes a member has, as the archive says; only for the order.
fn size<R: Read + Seek>(archive: &mut ZipArchive<R>, index: usize) -> u64 {
    archive.by_index_raw(index).map_or(0, |member| member.size())
}

/// Whether no two members have one path, and none lies below a file.
fn is_disjoint<R: Read + Seek>(archive: &ZipArchive<R>) -> bool {
    // What is no text is refused, wherever it would lie.
    let names = archive.file_names().filter_map(Result::ok);
    // With the lowest byte between its parts, what lies below a path follows it at once. No path that is taken holds it.
    let sorting = |name: Cow<'_, str>| Some((inside(&name).ok()?.replace('/', "\0"), name.ends_with('/')));
    let mut paths: Vec<(String, bool)> = names.filter_map(sorting).collect();
    paths.sort_unstable();
    let meet = |(path, is_directory): &(String, bool), (next, next_is_directory): &(String, bool)| {
        let below = next.strip_prefix(path.as_str());
        match below {
            Some("") => !(*is_directory && *next_is_directory),
            Some(below) => !is_directory && below.starts_with('\0'),
            None => false,
        }
    };
    !paths.windows(2).any(|pair| meet(&pair[0], &pair[1]))
}

/// Reads the bytes of a file from its map, and gives the memory of what it has left behind back.
#[derive(Clone)]
struct Pages<'a> {
    content: &'a Content,
    cursor: Cursor<&'a [u8]>,
    /// From here to the cursor nothing was given back.
    held: u64,
}

/// So many bytes are read before memory is given back.
const HELD: u64 = 4 << 20;

impl<'a> Pages<'a> {
    fn of(content: &'a Content) -> Self {
        Self { content, cursor: Cursor::new(content.bytes()), held: 0 }
    }
}

impl Read for Pages<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.cursor.read(buffer)?;
        let at = self.cursor.position();
        if at.saturating_sub(self.held) >= HELD {
            self.content.release(&self.content.bytes()[self.held as usize..at as usize]);
            self.held = at;
        }
        Ok(count)
    }
}

impl Seek for Pages<'_> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let at = self.cursor.seek(to)?;
        self.held = at;
        Ok(at)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn archive(names: &[&str]) -> bool {
        let mut writer = zip::ZipWriter::new(Cursor::new(Vec::new()));
        for name in names {
            match name.strip_suffix('/') {
                Some(name) => writer.add_directory(name, zip::write::SimpleFileOptions::default()).unwrap(),
                None => {
                    writer.start_file(*name, zip::write::SimpleFileOptions::default()).unwrap();
                    writer.write_all(b"text").unwrap();
                }
            }
        }
        is_disjoint(&ZipArchive::new(writer.finish().unwrap()).unwrap())
    }

    #[test]
    fn members_that_meet_are_told() {
        // The work follows from the length of the names, however many parts they have.
        let deep = [1, 2, 3, 4].map(|end| format!("{}{end}", "a/".repeat(30_000)));
        assert!(archive(&deep.each_ref().map(String::as_str)));
        assert!(archive(&["a/b", "a/c", "ab", "a.b", "a-b", "a/"]));
        assert!(archive(&["a/", "./a/", "a/b"]), "two directories are one");
        assert!(!archive(&["a", "a/"]) && !archive(&["a/b/c/d", "x", "a-b", "a", "a.b"]));
        assert!(!archive(&["a/b", "a//b"]));
        assert!(!archive(&["a/b", "a/b/c"]) && !archive(&["a/b/c", "a/b"]));
    }
}
